import { assertEquals, assertStringIncludes } from "@std/assert";
import { withPython } from "../../server/with_python.ts";
import { withSession } from "../shared_session.ts";
import { traceback, value } from "../started.ts";
import processGrader from "../../data/process_grader.py" with { type: "text" };
import grader from "../../data/stdin_grader.py" with { type: "text" };

/** Programs that print the double of their input, or fail to, with their time limit and verdict. */
const CANDIDATES: Record<string, [code: string, seconds: number, verdict: string]> = {
  "input()": ["print(int(input()) * 2)", 20, "right"],
  "stdin.read()": ["import sys\nprint(int(sys.stdin.read()) * 2)", 20, "right"],
  "stdin.readline()": ["import sys\ninput = sys.stdin.readline\nprint(int(input()) * 2)", 20, "right"],
  "open(0)": ["print(int(open(0).read()) * 2)", 20, "right"],
  "a thread": [
    "import sys, threading\nsys.setrecursionlimit(10**7)\ndef f(n): return n and 1 + f(n - 1)\n" +
    "t = threading.Thread(target=lambda: print(f(50000) // 50000 * 6))\nt.start()\nt.join()",
    20,
    "right",
  ],
  "deep recursion": [
    "import functools\n@functools.cache\ndef f(n): return n and 1 + f(n - 1)\nprint(f(900) // 150)",
    20,
    "right",
  ],
  "exit()": ["print(6)\nexit(1)", 20, "right"],
  "a wrong answer": ["print(7)", 20, "wrong"],
  "an exception": ["1 / 0", 20, "ZeroDivisionError('division by zero')"],
  "an endless loop": ["while True: pass", 0.1, "expired"],
  "sleep()": ["import time\ntime.sleep(30)", 0.1, "expired"],
  "a removed function": [
    "import os\nos.system('true')",
    20,
    `TypeError("'NoneType' object is not callable")`,
  ],
  "a removed module": [
    "import resource",
    20,
    "ModuleNotFoundError('import of resource halted; None in sys.modules')",
  ],
};

/** Time limit of a call: `unittest.mock` is large, and a busy machine slow. */
const timeoutMs = 60_000;
const IMPORT = "import grader";
const gradeCall = (code: string, seconds: number) =>
  `grader.grade(${JSON.stringify(code)}, "3\\n", "6", ${seconds})`;
/** What a session needs after a grader has removed functions of its modules. */
const INTACT =
  "import os, shutil, subprocess, sys\nNone in (os.getcwd, os.unlink, shutil.rmtree, subprocess.Popen) or 'resource' in sys.modules";

Deno.test("a grader that removes functions and sets alarms grades in a session", async (t) => {
  await withSession(async (session) => {
    value(await session.exec(IMPORT, { files: { "grader.py": grader }, timeoutMs }));
    for (const [name, [code, seconds, verdict]] of Object.entries(CANDIDATES)) {
      await t.step(name, async () => {
        const result = await session.exec(`print(${gradeCall(code, seconds)})`, { timeoutMs });
        assertEquals(result.stdout, `${verdict}\n`, JSON.stringify(result));
      });
    }
    await t.step("and the session goes on", async () => {
      const options = { stdin: "in", files: { "new/file": "text" }, fetchFiles: ["new/file"] };
      const result = await session.exec("print(input(), open('new/file').read())", options);
      assertEquals([result.status, result.stdout], ["ok", "in text\n"]);
      assertEquals(new TextDecoder().decode(result.files?.["new/file"]), "text");
      const failed = await session.exec("def f(): 1 / 0\nf()", { argv: ["main.py"] });
      assertStringIncludes(traceback(failed), "ZeroDivisionError: division by zero");
    });
    await t.step("and a rewind restores the functions", async () => {
      await session.reset({ mode: "rewind" });
      assertEquals(value(await session.exec(INTACT)), "False");
    });
  });
});

Deno.test("a grader grades over /v1 and /run_code", async () => {
  const [code, seconds] = ["print(int(input()) * 2)", 20];
  await withPython(async ({ send }) => {
    const { body: { id } } = await send("POST", "/v1/sessions", {});
    const files = { "grader.py": btoa(grader) };
    const path = `/v1/sessions/${id}/exec`;
    const { body } = await send("POST", path, {
      code: `${IMPORT}\n${gradeCall(code, seconds)}`,
      files,
      timeoutMs,
    });
    assertEquals(body.value, "'right'", JSON.stringify(body));
    assertEquals((await send("POST", path, { code: "1 + 1" })).body.value, "2");
    const listing = await send("GET", `/v1/sessions/${id}/files`);
    assertEquals(listing.body.files?.[0]?.path, "grader.py", JSON.stringify(listing.body));
    await send("DELETE", `/v1/sessions/${id}`);
    const program = `${IMPORT}\nprint(${gradeCall("while True: pass", 0.1)})`;
    for (let round = 0; round < 3; round++) {
      const { body } = await send("POST", "/run_code", {
        code: program,
        files,
        language: "python",
        run_timeout: timeoutMs / 1000,
      });
      assertEquals(body.run_result?.stdout, "expired\n", JSON.stringify(body));
    }
  });
});

Deno.test("a grader with processes grades in a program whose own code starts none", async () => {
  const code = `import grader, os
if __name__ == "__main__":
    for code in ("assert 1 + 1 == 2", "assert 1 == 2, 'no'", "exit(1)", "import os; os.unlink('x')"):
        print(grader.check(code, 20))
    print(grader.check("while True: pass", 0.1), os.getcwd(), os.unlink is not None)`;
  await withSession(async (session) => {
    const options = { argv: ["main.py"] as const, files: { "grader.py": processGrader }, timeoutMs };
    const result = await session.exec(code, options);
    const failed = "failed: 'NoneType' object is not callable";
    assertEquals(
      result.stdout,
      `passed\nfailed: no\nfailed: 1\n${failed}\nexpired /home/pyodide True\n`,
      JSON.stringify(result),
    );
  });
});
