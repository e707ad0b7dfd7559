import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SandboxError } from "../../../../src/errors.ts";
import { extractFencedCode, isSameOutput } from "../../../../src/server/peers/sandbox_fusion/submit.ts";
import { toWaitMs } from "../../../../src/server/peers/sandbox_fusion/routes.ts";
import { Budgets } from "../../../../src/server/admission/budget.ts";
import { ServerError } from "../../../../src/server/http/http_errors.ts";
import { ok } from "../../../fake_pool.ts";
import { served } from "../../served.ts";
import { withPython } from "../../with_python.ts";
import { stoppedAfterOutput } from "../../../sandbox/started.ts";

const nothing = { compile_result: null, executor_pod_name: null, files: {} };

Deno.test("/run_code responds as SandboxFusion does", async () => {
  await withPython(async ({ send }) => {
    const run = async (body: object) => (await send("POST", "/run_code", body)).body;
    const { run_result, ...fine } = await run({
      code: "print(input())",
      stdin: "hi",
      language: "python",
      compile_timeout: 10,
      run_timeout: 10,
      memory_limit_MB: -1,
      files: {},
      fetch_files: [],
      more: 1,
    });
    assertEquals(fine, { status: "Success", message: "", ...nothing });
    const { execution_time, ...result } = run_result;
    assertEquals(result, { status: "Finished", return_code: 0, stdout: "hi\n", stderr: "" });
    assertEquals(execution_time > 0 && execution_time < 60, true);

    const raised = await run({ code: "print(1)\n1 / 0" });
    assertEquals([raised.status, raised.message], ["Failed", ""]);
    assertEquals([raised.run_result.return_code, raised.run_result.stdout], [1, "1\n"]);
    assertStringIncludes(raised.run_result.stderr, "Traceback (most recent call last):");
    assertStringIncludes(raised.run_result.stderr, "ZeroDivisionError: division by zero\n");

    const exited = await run({ code: "import sys; sys.exit(3)" });
    assertEquals([exited.status, exited.run_result.return_code], ["Failed", 3]);
    const eof = await run({ code: "input()", stdin: null });
    assertStringIncludes(eof.run_result.stderr, "EOFError");
    const endless = "print('part', flush=True)\nwhile True: pass";
    const { result: late } = await stoppedAfterOutput(async (timeoutMs) => {
      const { status, run_result } = await run({ code: endless, run_timeout: timeoutMs / 1000 });
      return { ...run_result, runStatus: status };
    });
    const { execution_time: _, runStatus, ...lateResult } = late;
    assertEquals(runStatus, "Failed");
    assertEquals(lateResult, {
      status: "TimeLimitExceeded",
      return_code: null,
      stdout: "part\n",
      stderr: "",
    });
    const large = await run({ code: "print('x' * 5_000_000)" });
    assertEquals(large.run_result.stdout.length, 5_000_001);
  }, { maxSessions: 1 });
});

Deno.test("/run_code limits the memory of a program to 'memory_limit_MB'", async () => {
  await withPython(async ({ send }) => {
    const code = "held = bytearray(100 << 20)\nprint(len(held))";
    const run = async (memory_limit_MB?: number) =>
      (await send("POST", "/run_code", { code, memory_limit_MB })).body;
    const limited = await run(96);
    assertEquals([limited.status, limited.run_result.status], ["Failed", "Finished"]);
    assertEquals(limited.run_result.return_code, 1);
    assertStringIncludes(limited.run_result.stderr, "MemoryError");
    for (const limit of [undefined, -1, 1024]) {
      assertEquals((await run(limit)).run_result.stdout, "104857600\n");
    }
  });
});

Deno.test("/run_code writes files only under the working directory and reads them from any path", async () => {
  await withPython(async ({ send }) => {
    const run = async (body: object) => (await send("POST", "/run_code", body)).body;
    const both = await run({
      code: "open('out.txt', 'w').write(open('in/a.txt').read().upper())",
      files: { "in/a.txt": btoa("hi"), "skipped": null, "IGNORE_THIS_FILE": btoa("x") },
      fetch_files: ["out.txt", "/home/pyodide/out.txt", "none", "skipped", "/etc/passwd", "../x"],
    });
    assertEquals(both.status, "Success");
    assertEquals(both.files, { "out.txt": btoa("HI"), "/home/pyodide/out.txt": btoa("HI") });
    const outside = await run({
      code: "open('/mnt/data/b', 'w').write('b'); open('../c', 'w').write('c'); import os; os.chdir('/')",
      fetch_files: ["/mnt/data/b", "../c", "/mnt/data", "/etc/passwd"],
    });
    assertEquals(outside.files, { "/mnt/data/b": btoa("b"), "../c": btoa("c") });
    const many = await send("POST", "/run_code", {
      code: "open('a', 'wb').write(bytes(6_000_000))",
      fetch_files: Array.from({ length: 40 }, (_, index) => `${"./".repeat(index)}a`),
    });
    assertEquals([many.body.status, many.body.message, many.body.files], [
      "SandboxError",
      "The fetched files must have at most 67108864 bytes together",
      {},
    ]);
    for (const path of ["/etc/passwd", "../../x"]) {
      assertEquals(await run({ code: "1", files: { [path]: btoa("x") } }), {
        status: "SandboxError",
        run_result: null,
        ...nothing,
        message: `Cannot write '${path}' as it must be inside the working directory`,
      });
    }
    assertEquals(await run({ code: "int main() {}", language: "cpp" }), {
      status: "SandboxError",
      run_result: null,
      ...nothing,
      message: "language 'cpp' is not available here: it must be python, pytest or bash",
    });
  }, { maxSessions: 1 });
});

const TESTS = `import pytest
from unittest import TestCase

def test_plain(): assert True

class TestMany:
    def setup_method(self): self.one = 1
    @pytest.mark.parametrize("a, b", [(1, 1), (2, 2)])
    def test_rows(self, a, b): assert a == b * self.one

class Old(TestCase):
    def test_old(self): self.assertEqual(0.1 + 0.2, pytest.approx(0.3))

@pytest.mark.skip
def test_skipped(): assert False

def test_raises():
    with pytest.raises(ZeroDivisionError, match="zero"): 1 / 0
`;

Deno.test("/run_code runs tests as pytest does and returns its exit codes", async () => {
  await withPython(async ({ send }) => {
    const run = async (code: string, files: object = {}) => {
      const { body } = await send("POST", "/run_code", { code, language: "pytest", files, run_timeout: 60 });
      const { return_code, stdout } = body.run_result;
      return [body.status, return_code, /^===== (.*) in \d+\.\d+s =====$/m.exec(stdout)?.[1]];
    };
    assertEquals(await run(TESTS), ["Success", 0, "5 passed, 1 skipped"]);
    const helper = { "helper.py": btoa("one = 2") };
    const failing =
      "from helper import one\ndef test_one(): assert one == 1\ndef test_two(): assert one == 2";
    assertEquals(await run(failing, helper), ["Failed", 1, "1 failed, 1 passed"]);
    assertEquals(await run("x = 1"), ["Failed", 5, "no tests ran"]);
    assertEquals((await run("raise SystemExit(0)")).slice(0, 2), ["Failed", 2]);
    assertEquals(await run("def test_out(): raise SystemExit(0)"), ["Failed", 1, "1 failed"]);
    assertEquals(await run("def test_none(nothing): pass"), ["Failed", 1, "1 failed"]);
    assertEquals((await run("import os\ndef test_end(): os._exit(0)"))[0], "Failed");
  }, { maxSessions: 1 });
});

Deno.test("/run_code runs exit handlers and reports cut output", async () => {
  await withPython(async ({ send }) => {
    const run = async (code: string) => (await send("POST", "/run_code", { code })).body.run_result;
    const { stdout, return_code } = await run(
      "import atexit, io, sys\nout = sys.stdout = io.StringIO()\n" +
        "atexit.register(lambda: sys.__stdout__.write(out.getvalue()))\nprint(42)\nsys.exit(3)",
    );
    assertEquals([stdout, return_code], ["42\n", 3]);
    assertEquals((await run("print(1)")).stderr, "");
    const flood = await run("print('x' * 20_000_000)");
    assertEquals(flood.stdout.length, 16_777_216);
    assertStringIncludes(flood.stderr, "Output is cut");
  }, { maxSessions: 1 });
});

const SCRIPT = `"""A script."""
from __future__ import annotations
import os, sys
if __name__ == "__main__":
    print(__doc__, sys.argv, os.path.basename(__file__), len(open(__file__).read()) > 100)
    print(sys.path[0] == os.path.dirname(__file__))
    open("out.txt", "w").write("closed")
    left = open("left.txt", "w")
    left.write("never closed")
class Loud:
    def __repr__(self): raise ValueError("no repr")
Loud()
`;

Deno.test("/run_code runs a program as a file", async () => {
  await withPython(async ({ send }) => {
    const run = async (code: string, more: object = {}) => {
      const { body } = await send("POST", "/run_code", { code, ...more });
      const { stdout, stderr, return_code } = body.run_result;
      return { status: body.status, stdout, stderr, return_code, files: body.files };
    };
    assertEquals(await run(SCRIPT, { fetch_files: ["left.txt", "out.txt"] }), {
      status: "Success",
      stderr: "",
      return_code: 0,
      stdout: "A script. ['main.py'] main.py True\nTrue\n",
      files: { "left.txt": btoa("never closed"), "out.txt": btoa("closed") },
    });
    const raised = await run("import warnings\nwarnings.warn('old')\n1 / 0");
    assertEquals(
      raised.stderr.split("\n").filter((line: string) => line.includes("main.py")),
      [
        "/home/pyodide/main.py:2: UserWarning: old",
        '  File "/home/pyodide/main.py", line 3, in <module>',
      ],
    );
    const ends = [
      "import os\nprint(1)\nos._exit(3)",
      "import os\nprint(1)\nos._exit(0)",
      "exit()",
      "exit(4)",
    ];
    const codes = [];
    for (const code of [...ends, "import sys; sys.exit('no')"]) codes.push((await run(code)).return_code);
    assertEquals(codes, [3, 0, 0, 4, 1]);
    assertStringIncludes((await run("import asyncio\nawait asyncio.sleep(0)")).stderr, "outside function");
    assertEquals((await run("import os; print(os.listdir('.'))")).stdout, "[]\n");
  }, { maxSessions: 1 });
});

Deno.test("/run_jupyter continues after a cell that raises and returns the last value of each cell", async () => {
  await withPython(async ({ send }) => {
    const run = async (body: object) => (await send("POST", "/run_jupyter", body)).body;
    const { status, driver, cells } = await run({ cells: ["x = 2", "1 / 0", "print('hi'); x + 1"] });
    assertEquals([status, driver.status, driver.return_code], ["Success", "Finished", 0]);
    assertEquals(cells[0], { stdout: "", stderr: "", display: [], error: [] });
    assertEquals([cells[1].error[0].ename, cells[1].error[0].evalue], [
      "ZeroDivisionError",
      "division by zero",
    ]);
    assertEquals(cells[1].error[0].traceback.at(-1), "ZeroDivisionError: division by zero");
    assertEquals(cells[2], { stdout: "hi\n", stderr: "", display: [{ "text/plain": "3" }], error: [] });
    const endless = ["1", "print('on', flush=True)\nwhile True: pass", "2"];
    const { result: late } = await stoppedAfterOutput(async (timeoutMs) => {
      const body = await run({ cells: endless, total_timeout: timeoutMs / 1000 });
      return { ...body, stdout: body.cells[1]?.stdout ?? "" };
    });
    assertEquals([late.status, late.driver.status, late.cells.length], ["Failed", "TimeLimitExceeded", 2]);
    assertEquals((await run({ cells: [], kernel: "bash" })).status, "SandboxError");
  }, { maxSessions: 1 });
});

Deno.test("SandboxFusion's routes report invalid bodies and retry times", async () => {
  await using server = served({ maxSessions: 1, queue: 0 });
  assertEquals((await server.send("GET", "/v1/ping")).body, "pong");
  const wrong = await server.send("POST", "/run_code", { language: "python" });
  assertEquals(wrong.status, 422);
  assertEquals(wrong.body.detail, [{ type: "missing", loc: ["body", "code"], msg: "Field required" }]);
  const types = { code: 1, files: { a: 2 }, run_timeout: null, language: "brainfuck", fetch_files: {} };
  const { body: { detail } } = await server.send("POST", "/run_code", types);
  // deno-lint-ignore no-explicit-any
  assertEquals(detail.map(({ type, loc, msg }: any) => [type, loc.slice(1).join("."), msg.slice(0, 32)]), [
    ["string_type", "code", "Input should be a valid string"],
    ["literal_error", "language", "Input should be 'python', 'cpp',"],
    ["float_type", "run_timeout", "Input should be a valid number"],
    ["string_type", "files.a", "Input should be a valid string"],
    ["list_type", "fetch_files", "Input should be a valid list"],
  ]);
  assertEquals((await server.send("POST", "/run_code", "{")).body, {
    detail: [{ type: "json_invalid", loc: ["body"], msg: "JSON decode error" }],
  });
});

Deno.test("/run_code loses no program when 200 requests share 2 sessions", async () => {
  await using server = served({ maxSessions: 2, queue: 0, python: (code) => ok(`${code}\n`) });
  const outputs = await Promise.all(Array.from({ length: 200 }, async (_, number) => {
    const { status, body } = await server.send("POST", "/run_code", { code: `${number}` });
    return [status, body.run_result?.stdout];
  }));
  assertEquals(outputs, outputs.map((_, number) => [200, `${number}\n`]));
});

Deno.test("/run_code responds with 504 when a limit of the server is reached", async () => {
  const full = new ServerError("busy", "too many", { retryAfter: 1 });
  await using server = served({ pool: { acquire: () => Promise.reject(full) } });
  const { status, headers, body } = await server.send("POST", "/run_code", { code: "1" });
  assertEquals([status, headers.get("retry-after"), body.detail], [504, "1", "too many"]);
});

Deno.test("/run_code responds with 504 and other systems in their form when the server has no memory for a request", async () => {
  const budgets = new Budgets({ bytes: 2000 });
  await using server = served({ budgets });
  using _all = budgets.waiting.take("", 1000);
  const { status, headers, body } = await server.send("POST", "/run_code", { code: "1" });
  assertEquals([status, headers.get("retry-after")], [504, "1"]);
  assertMatch(body.detail, /more bytes of waiting data/);
  const piston = await server.send("POST", "/api/v2/execute", {});
  assertEquals([piston.status, Object.keys(piston.body)], [429, ["message"]]);
  assertEquals((await server.send("POST", "/v1/sessions", {})).body.error.type, "busy");
});

Deno.test("toWaitMs() ends before verl gives up, which is 10 s after a request's own timeouts", () => {
  assertEquals(toWaitMs(10 + 10), 28_000);
});

Deno.test("/run_code reports a failed sandbox in its status without host details", async () => {
  const failed = new SandboxError("Cannot start '/home/me/secret'");
  await using server = served({ pool: { acquire: () => Promise.reject(failed) } });
  assertEquals((await server.send("POST", "/run_code", { code: "1" })).body, {
    status: "SandboxError",
    message: "The sandbox failed",
    run_result: null,
    ...nothing,
  });
  assertEquals((await server.send("POST", "/run_jupyter", { cells: ["1"] })).body, {
    status: "SandboxError",
    message: "The sandbox failed",
    driver: null,
    cells: [],
    executor_pod_name: null,
    files: {},
  });
});

Deno.test("/submit runs the tests of a request, as SandboxFusion's online judge does", async () => {
  await withPython(async ({ send, pool }) => {
    const completion = "Sum it:\n```python\nprint(sum(map(int, input().split())) / 2)\n```\nDone.";
    const tests = [["1 2", "1.5\n"], ["2 2", "2.000001"], ["1 1", "9"], ["4 4", "4"]].map((
      [stdin, stdout],
    ) => ({ input: { stdin }, output: { stdout } }));
    const config = { dataset_type: "CommonOJDataset", language: "python" };
    const submit = (test: unknown, more: object = {}) =>
      send("POST", "/submit", {
        dataset: "own",
        id: 7,
        completion,
        config: { ...config, provided_data: { id: 7, test }, ...more },
      });
    const { body } = await submit(tests);
    assertEquals([body.id, body.accepted, body.tests.length], [7, false, 3]);
    assertEquals(body.tests.map(({ passed }: { passed: boolean }) => passed), [true, true, false]);
    assertEquals(body.tests[0].exec_info.run_result.stdout, "1.5\n");
    assertEquals(body.tests[2].test_info, tests[2]);
    assertEquals(body.extracted_code, "print(sum(map(int, input().split())) / 2)");
    const all = await submit(JSON.stringify(tests), { extra: { run_all_cases: true } });
    assertEquals(all.body.tests.length, 4);
    assertEquals((await submit(tests.slice(0, 2))).body.accepted, true);
    const refused = async (more: object) => {
      const { status, body } = await submit(tests, more);
      return [status, body.detail];
    };
    assertEquals(await refused({ dataset_type: null }), [400, "no eval class found for dataset own"]);
    assertEquals(await refused({ dataset_type: "X" }), [400, "eval class X not found"]);
    assertEquals(await refused({ language: null }), [
      400,
      "config.language field must exist for CommonOJDataset, got None",
    ]);
    assertEquals(await refused({ language: "cpp" }), [400, "language 'cpp' is not available here"]);
    assertEquals(await refused({ provided_data: [] }), [
      400,
      "request.config.provided_data should be a dict with str -> str | int",
    ]);
    assertEquals((await refused({ provided_data: { test: "no JSON" } }))[0], 400);
    assertEquals((await refused({ custom_extract_logic: "import os" }))[0], 400);
    assertEquals((await send("GET", "/list_datasets")).body, []);
    assertEquals(pool.alive, 0);
  }, { maxSessions: 1 });
});

Deno.test("isSameOutput() ignores case, outer blanks and small numeric differences", () => {
  assertEquals(isSameOutput("Yes \n 1.0000001\n\n", "yes\n1"), true);
  assertEquals([isSameOutput("1.001", "1"), isSameOutput("1\n2", "1"), isSameOutput("nan", "1")], [
    false,
    false,
    false,
  ]);
  assertEquals([isSameOutput("", "\n"), isSameOutput("0", "0.0"), isSameOutput("0x10", "16")], [
    true,
    true,
    false,
  ]);
});

Deno.test("extractFencedCode() returns the first closed block of the language, else another block", () => {
  assertEquals(extractFencedCode("```sh\nls\n```\n```py\n1\n```\n```python\n2\n```", "python"), "1");
  assertEquals(extractFencedCode("```\na\n\n  ```\n```python\nb", "python"), "a\n");
  assertEquals(extractFencedCode("so ```python\nb\nc", "python"), "b\nc");
  assertEquals(extractFencedCode("no code", "python"), "");
});
