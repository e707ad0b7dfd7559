import { assertEquals, assertStringIncludes } from "@std/assert";
import { withPython } from "../with_python.ts";

Deno.test("/api/v2/execute responds as Piston does", async () => {
  await withPython(async ({ send }) => {
    const [runtime] = (await send("GET", "/api/v2/runtimes")).body;
    const { language, version } = runtime;
    const run = async (content: string, more: object = {}) => {
      // Piston's default of 3 s is too short for a busy machine
      const body = { language, version, files: [{ content }], run_timeout: 30_000, ...more };
      return (await send("POST", "/api/v2/execute", body)).body;
    };
    const { run: ran, ...rest } = await run("import sys\nprint('a')\nprint('b', file=sys.stderr)");
    assertEquals(rest, { language: "python", version });
    assertEquals(ran, {
      stdout: "a\n",
      stderr: "b\n",
      output: "a\nb\n",
      code: 0,
      signal: null,
      message: null,
      status: null,
      cpu_time: null,
      memory: null,
      wall_time: ran.wall_time,
    });
    const platform = "import platform; print(platform.python_version())";
    assertEquals((await run(platform, { version: "*" })).run.stdout, `${version}\n`);
    const files = [
      { name: "other.py", content: btoa("x = 7"), encoding: "base64" },
      {
        name: "main.py",
        content: "import sys, other; print(sys.argv, other.x, input(), open('file2.code').read())",
      },
      { content: "6e6f6e65", encoding: "hex" },
    ];
    assertEquals(
      (await run("", { files, args: ["it's"], stdin: "hi" })).run.stdout,
      `['main.py', "it's"] 7 hi none\n`,
    );
    const raised = (await run("1 / 0")).run;
    assertEquals([raised.code, raised.signal, raised.status], [1, null, "RE"]);
    assertEquals(raised.message, "Exited with error status 1");
    assertStringIncludes(raised.output, "ZeroDivisionError");
    const late = (await run("while True: pass", { run_timeout: 300 })).run;
    assertEquals([late.code, late.signal, late.status], [null, "SIGKILL", "TO"]);
    assertEquals((await run("import sys; sys.exit(200)")).run.code, 200);
  }, { maxSessions: 1 });
});

Deno.test("/api/v2/execute reports invalid requests as Piston does", async () => {
  await withPython(async ({ send }) => {
    const failure = async (body: unknown) => {
      const { status, body: response } = await send("POST", "/api/v2/execute", body);
      return [status, response.message];
    };
    const files = [{ content: "1" }];
    assertEquals(await failure("{"), [400, "language is required as a string"]);
    assertEquals(await failure({ language: "python" }), [400, "version is required as a string"]);
    assertEquals(await failure({ language: "python", version: "3.x" }), [
      400,
      "files is required as an array",
    ]);
    const python = { language: "python", version: "3" };
    assertEquals(await failure({ ...python, files: [...files, { name: "a" }] }), [
      400,
      "files[1].content is required as a string",
    ]);
    assertEquals(await failure({ ...python, files: [] }), [
      400,
      "files must include at least one utf8 encoded file",
    ]);
    const bound = async (more: object) => (await failure({ ...python, files, ...more }))[1];
    assertEquals(await bound({ run_timeout: "1" }), "If specified, run_timeout must be a number");
    assertEquals(
      await bound({ run_timeout: 1e9 }),
      "run_timeout cannot exceed the configured limit of 3600000",
    );
    assertEquals(await bound({ compile_cpu_time: -1 }), "compile_cpu_time must be non-negative");
    const plain = await send("POST", "/api/v2/execute", "language=python", { "content-type": "text/plain" });
    assertEquals([plain.status, plain.body], [415, {
      message: "requests must be of type application/json",
    }]);
    assertEquals(await failure({ language: "c", version: "10", files }), [400, "c-10 runtime is unknown"]);
    assertEquals(await failure({ language: "python", version: "2.7", files }), [
      400,
      "python-2.7 runtime is unknown",
    ]);
    assertEquals(
      await failure({ language: "py", version: "3", files: [...files, { name: "../x", content: "" }] }),
      [400, "files: '../x' is not a valid file name"],
    );
  }, { maxSessions: 1 });
});
