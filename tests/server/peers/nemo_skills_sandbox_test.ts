import { assertEquals, assertStringIncludes } from "@std/assert";
import { loadProfile, SandboxPool } from "../../../mod.ts";
import { type Served, served } from "../served.ts";
import { withPython } from "../with_python.ts";

function execute({ send }: Served, body: object, id?: string): ReturnType<Served["send"]> {
  return send("POST", "/execute", body, id === undefined ? {} : { "x-session-id": id });
}

Deno.test("/execute keeps the session of X-Session-ID, as NeMo-Skills does", async () => {
  await withPython(async (server) => {
    const run = async (generated_code: string, more: object = {}) =>
      (await execute(server, { generated_code, language: "ipython", timeout: 10, ...more }, "one")).body;
    assertEquals(await run("x = 20; print('hi')"), {
      process_status: "completed",
      stdout: "hi\n",
      stderr: "",
      new_session_created: true,
    });
    assertEquals(await run("x + 1"), {
      process_status: "completed",
      stdout: "21\n",
      stderr: "",
      new_session_created: false,
    });
    const raised = await run("1 / 0");
    assertEquals([raised.process_status, raised.stderr], ["error", ""]);
    assertEquals(
      raised.stdout,
      "Traceback (most recent call last):\n    1 / 0\nZeroDivisionError: division by zero\n",
    );
    const { stdout: slip } = await run("a = 2\n b = 3");
    assertEquals(slip, "    b = 3\n    ^\nIndentationError: unexpected indent\n");
    assertEquals((await run("\n    y = 1\n    if y:\n        print(y)\n    ")).stdout, "1\n");
    const verbose = await run("1 / 0", { traceback_verbosity: "Context" });
    assertStringIncludes(verbose.stdout, "line 1, in <module>");
    assertEquals((await run("print('\\n\\n a \\n\\n')")).stdout, " a\n");
    assertEquals(
      (await run("1 / 0", { traceback_verbosity: "Minimal" })).stdout,
      "ZeroDivisionError: division by zero\n",
    );
    assertEquals((await run("print('abc')", { max_output_characters: 2 })).stdout, "ab<output cut>");
    const late = await run("while True: pass", { timeout: 0.3 });
    assertEquals([late.process_status, late.stderr, late.new_session_created], [
      "timeout",
      "Execution timed out after 0.3 seconds\n",
      false,
    ]);
    const crashed = await run("import os; os._exit(1)");
    assertEquals([crashed.process_status, crashed.new_session_created], ["error", true]);
    const after = await run("x");
    assertEquals([after.process_status, after.new_session_created], ["error", true]);
    const { body } = await server.send("GET", "/sessions");
    assertEquals([Object.keys(body.sessions), body.backend], [["one"], "ipython"]);
    assertEquals((await server.send("DELETE", "/sessions/one")).body, {
      message: "IPython session one deleted successfully",
    });
    const missing = await server.send("DELETE", "/sessions/one");
    assertEquals([missing.status, missing.body], [404, { error: "IPython session one not found" }]);
    assertEquals((await run("x")).new_session_created, true);
  });
});

Deno.test("/execute ends the longest idle session when no slot is free", async () => {
  await withPython(async (server) => {
    const run = async (id: string, generated_code: string) => {
      const { body } = await execute(server, { generated_code, timeout: 10 }, id);
      return [body.process_status, body.stdout, body.new_session_created];
    };
    assertEquals(await run("one", "x = 1"), ["completed", "", true]);
    assertEquals(await run("two", "x = 2"), ["completed", "", true]);
    assertEquals(await run("one", "x"), ["completed", "1\n", false]);
    assertEquals(await run("three", "x = 3"), ["completed", "", true]);
    assertEquals(await run("one", "x"), ["completed", "1\n", false]);
    assertEquals((await run("two", "x"))[2], true);
    const names = Array.from({ length: 8 }, (_, at) => `many ${at}`);
    const many = await Promise.all(names.map((name) => run(name, `print('${name}')`)));
    assertEquals(many, names.map((name) => ["completed", `${name}\n`, true]));
    const { body } = await server.send("POST", "/run_code", { code: "print(1)" });
    assertEquals(body.run_result.stdout, "1\n");
  });
});

Deno.test("/execute runs python in a new interpreter and refuses other languages", async () => {
  await withPython(async (server) => {
    const python = { generated_code: "print(input())", std_input: "hi", language: "python", timeout: 5 };
    assertEquals((await execute(server, python)).body, {
      process_status: "completed",
      stdout: "hi\n",
      stderr: "",
    });
    const { body: raised } = await execute(server, { ...python, generated_code: "print(1)\n1 / 0" });
    assertEquals([raised.process_status, raised.stdout, raised.stderr], [
      "completed",
      "1\n",
      `Traceback (most recent call last):\n  File "<string>", line 2, in <module>\n` +
      "ZeroDivisionError: division by zero\n",
    ]);
    const { body: slip } = await execute(server, { ...python, generated_code: "a = 2\n b = 3" });
    assertEquals(
      slip.stderr,
      `  File "<string>", line 2\n    b = 3\nIndentationError: unexpected indent\n`,
    );
    const late = { ...python, generated_code: "print(1)\nwhile 1: 0", timeout: 0.3 };
    assertEquals((await execute(server, late)).body, {
      process_status: "timeout",
      stdout: "",
      stderr: "Execution timed out after 0.3 seconds\n",
    });
    for (const language of ["shell", "lean4"]) {
      const { body } = await execute(server, { generated_code: "ls", language, timeout: 5 });
      assertEquals([body.process_status, body.stdout], ["error", ""]);
    }
    const nameless = await execute(server, { generated_code: "1", timeout: 5 });
    assertEquals([nameless.status, nameless.body], [400, {
      error: "X-Session-ID header required for ipython sessions",
    }]);
    assertEquals((await execute(server, { generated_code: 1 }, "one")).status, 400);
    assertEquals((await server.send("GET", "/health")).body.status, "healthy");
  });
});

Deno.test("/execute and /run_code run shell commands if the profile has a shell", async () => {
  const profile = await loadProfile("workspace");
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await using server = served({ pool, maxSessions: 1 });
  const { body } = await execute(server, {
    generated_code: "echo hi; echo no >&2",
    language: "shell",
    timeout: 20,
  });
  assertEquals(body, { process_status: "completed", stdout: "hi\n", stderr: "no\n" });
  const failed = await execute(server, { generated_code: "exit 3", language: "shell", timeout: 20 });
  assertEquals(failed.body.process_status, "error");
  const { body: run } = await server.send("POST", "/run_code", {
    code: "cat; exit 2",
    language: "bash",
    stdin: "in",
  });
  assertEquals([run.status, run.run_result.stdout, run.run_result.return_code], ["Failed", "in", 2]);
});
