import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { childrenOf, isAlive } from "../../bench/processes.ts";
import { stoppedAfterOutput } from "../sandbox/started.ts";
import { TempFolder } from "../temp_folder.ts";
import { runPaddock, startPaddock } from "./run_paddock.ts";

async function exec(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return await runPaddock(["exec", ...args]);
}

Deno.test("paddock exec reads the program from stdin and prints only its output", async () => {
  const code = 'import sys\nprint("out")\nprint("err", file=sys.stderr)\n1 + 1\nsys.exit(3)';
  assertEquals(await runPaddock(["exec", "-"], code), { code: 3, stdout: "out\n", stderr: "err\n" });
});

Deno.test("paddock exec passes everything after the program to it", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/show.py`;
    await Deno.writeTextFile(
      path,
      "import sys\nprint(sys.argv, __name__, __file__)\nsys.exit(len(sys.argv))",
    );
    const output = "['show.py', '-e', '--json', '--version'] __main__ /home/pyodide/show.py\n";
    assertEquals(await exec("--timeout-ms", "9000", path, "-e", "--json", "--version"), {
      code: 4,
      stdout: output,
      stderr: "",
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  const code = "import sys\nprint(sys.argv)\n1 / 0";
  const { stdout, stderr } = await runPaddock(["exec", "-", "-m", "x"], code);
  assertEquals(stdout, "['-', '-m', 'x']\n");
  assertStringIncludes(stderr, '  File "<stdin>", line 3, in <module>\n');
});

Deno.test("paddock exec -m runs a module", async () => {
  const formatted = await runPaddock(["exec", "-m", "json.tool", "--indent", "1"], '{"a": 1}');
  assertEquals(formatted, { code: 0, stdout: '{\n "a": 1\n}\n', stderr: "" });
  const missing = await exec("-m", "no.such");
  assertEquals([missing.code, missing.stdout], [1, ""]);
  assertMatch(missing.stderr, /^paddock exec: .*No module named 'no'/);
});

Deno.test("paddock exec -i continues with the blocks of stdin", async () => {
  const { code, stdout } = await runPaddock(["exec", "-i", "-e", "x = 5"], "x + 1\n");
  assertEquals([code, stdout], [0, "6\n"]);
  assertEquals((await exec("-i", "--json", "-e", "1")).code, 2);
});

Deno.test("paddock exec copies files into the sandbox before the program, and out of it after", async () => {
  await using folder = await TempFolder.of({ "data.csv": "1,2" });
  const at = (name: string) => `${folder.path}/${name}`;
  const program = "open('out.txt', 'w').write(open('data.csv').read() + open('in/b').read())";
  const copies = ["--file", at("data.csv"), "--file", `${at("data.csv")}=in/b`, "--get"];
  const named = [...copies, `out.txt=${at("a.txt")}`];
  assertEquals(await exec(...named, "-e", program), { code: 0, stdout: "", stderr: "" });
  assertEquals(await Deno.readTextFile(at("a.txt")), "1,21,2");
  await Deno.writeTextFile(at("p.py"), program);
  for (const source of [[at("p.py")], ["-m", "p"], ["-"]]) {
    const get = [...copies, `out.txt=${at("b.txt")}`, "--file", at("p.py")];
    assertEquals((await runPaddock(["exec", ...get, ...source], program)).code, 0);
    assertEquals(await Deno.readTextFile(at("b.txt")), "1,21,2");
    await Deno.remove(at("b.txt"));
  }
  const failed = await exec(...copies, `out.txt=${at("c.txt")}`, "-e", `${program}\nraise SystemExit(3)`);
  assertEquals([failed.code, await Deno.readTextFile(at("c.txt"))], [3, "1,21,2"]);
});

Deno.test("paddock exec --get reports what the program did not leave as a file, and writes nothing for it", async () => {
  await using folder = await TempFolder.of();
  const get = ["link", "none", "folder"].flatMap((name) => ["--get", `${name}=${folder.path}/${name}`]);
  const program = "import os\nos.symlink('/lib/python3.14/os.py', 'link')\nos.mkdir('folder')";
  const { code, stderr } = await exec(...get, "-e", program);
  assertEquals(code, 1);
  assertEquals(stderr.split("\n").map((line) => line.split(" as ")[0]), [
    "error: Cannot read 'link'",
    "error: Cannot read 'none'",
    "error: Cannot read 'folder'",
    "",
  ]);
  const lost = await exec(...get, "-e", "import os\nos._exit(7)");
  assertStringIncludes(lost.stderr, "error: Cannot read 'none' as the interpreter has ended");
  assertEquals(await Array.fromAsync(Deno.readDir(folder.path)), []);
});

Deno.test("paddock exec exits with the code of the program's status", async () => {
  const error = await exec("-e", "1/0");
  assertEquals([error.code, error.stdout], [1, ""]);
  assertStringIncludes(error.stderr, '  File "<block 1>", line 1, in <module>\n');
  assertStringIncludes(error.stderr, "ZeroDivisionError: division by zero\n");
  let limitMs = 0;
  const { result: loop } = await stoppedAfterOutput((timeoutMs) => {
    limitMs = 4 * timeoutMs; // the first program of an interpreter begins late on a busy machine
    return exec("--timeout-ms", `${limitMs}`, "-e", 'print("kept")\nwhile True: pass');
  });
  assertEquals(loop, {
    code: 124,
    stdout: "kept\n",
    stderr: [
      "Traceback (most recent call last):",
      '  File "<block 1>", line 2, in <module>',
      "    while True: pass",
      "                ^^^^",
      `TimeoutError: the block ran longer than ${limitMs} ms\n`,
    ].join("\n"),
  });
  assertEquals((await exec("--memory-mb", "64", "-e", "bytearray(100_000_000)")).code, 137);
  assertEquals((await exec("-e", "import os; os._exit(0)")).code, 134);
});

Deno.test("paddock exec --json reads the program's input from stdin and prints one result", async () => {
  const args = ["exec", "--json", "-e", 'print("a")\n2 * int(input())'];
  const { code, stdout, stderr } = await runPaddock(args, "21\n");
  assertEquals([code, stderr, stdout.indexOf("\n")], [0, "", stdout.length - 1]);
  const { durationMs, peakMemoryBytes, ...result } = JSON.parse(stdout);
  assert(durationMs > 0 && peakMemoryBytes > 0);
  assertEquals(result, {
    status: "ok",
    stdout: "a\n",
    stderr: "",
    value: "42",
    valueJson: 42,
    stateKept: true,
    truncated: false,
  });
});

Deno.test("paddock exec does not wait for stdin when the program cannot read it", async () => {
  const child = startPaddock("exec", "-e", "print(1)");
  assertEquals((await child.status).code, 0);
  await child.stdin.abort().catch(() => {}); // the reader may have closed it
  assertEquals(await new Response(child.stdout).text(), "1\n");
  await child.stderr.cancel();
});

Deno.test("paddock exec prints one line for each kind of bad input", async () => {
  const big = await Deno.makeTempFile();
  try {
    await Deno.truncate(big, 50_000_000);
    const cases: [string[], RegExp][] = [
      [["no/such.py"], /^error: Cannot read 'no\/such\.py': there is no such file\n$/],
      [[big], /^error: Cannot read '.*' as it must have at most \d+ bytes: found more\n$/],
      [["--memory-mb", "1", "-e", "1"], /^error: Cannot limit memory to 1 MiB as .*\n$/],
      [["--timeout-ms", "99999999999", "-e", "1"], /^error: Cannot exec as 'timeoutMs' must be > 0 .*\n$/],
      [["-p", "nope", "-e", "1"], /^error: Cannot find profile 'nope': .*\n$/],
    ];
    for (const [args, expected] of cases) {
      const { code, stdout, stderr } = await exec(...args);
      assertEquals([code, stdout], [2, ""]);
      assertMatch(stderr, expected);
    }
  } finally {
    await Deno.remove(big);
  }
});

Deno.test("paddock exec ends without an error when the reader closes its output", async () => {
  const child = startPaddock(
    "exec",
    "-e",
    'import time\nwhile True:\n  print("y" * 1000)\n  time.sleep(0.001)',
  );
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  await child.stdin.close();
  assertEquals((await child.status).code, 0);
  assertEquals((await new Response(child.stderr).text()).replace(/^Building .*\n/, ""), "");
});

Deno.test("paddock exec leaves no process or file when it is interrupted", async () => {
  const child = startPaddock(
    "exec",
    "-e",
    'import time\nprint("started")\nwhile True:\n  try:\n    while True: time.sleep(0.01)\n  except: pass',
  );
  const reader = child.stdout.getReader();
  await reader.read();
  const sandboxes = await childrenOf(child.pid);
  assertEquals(sandboxes.length, 1);
  child.kill("SIGINT");
  assertEquals((await child.status).code, 130);
  assertEquals(await Promise.all(sandboxes.map(isAlive)), [false]);
  await Promise.all([reader.cancel(), child.stderr.cancel(), child.stdin.abort().catch(() => {})]);
});

Deno.test("paddock exec and rollout cancel the first base image when they are interrupted", async () => {
  const tasks = decodeURIComponent(new URL("../../examples/tasks.jsonl", import.meta.url).pathname);
  for (const work of [["exec", "-e", "1"], ["rollout", "--tasks", tasks]]) {
    const cache = await Deno.makeTempDir();
    const child = startPaddock("--cache-dir", cache, ...work);
    const reader = child.stderr.getReader();
    assertStringIncludes(new TextDecoder().decode((await reader.read()).value), "Building the base image");
    child.kill("SIGINT");
    assertEquals((await child.status).code, 130);
    const left = await Array.fromAsync(Deno.readDir(cache), ({ name }) => name);
    assertEquals(left.filter((name) => !name.endsWith(".lock")), [], "it was not built to its end");
    await Promise.all([reader.cancel(), child.stdout.cancel(), child.stdin.abort().catch(() => {})]);
    await Deno.remove(cache, { recursive: true });
  }
});
