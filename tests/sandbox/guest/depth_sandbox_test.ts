import { assert, assertEquals } from "@std/assert";
import { withPython } from "../../server/with_python.ts";
import { innermostProcess } from "../../../src/sandbox/process/watchdog.ts";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const DEEP = "import sys, functools, json\nsys.setrecursionlimit(10**7)\n";

/** Programs that recurse deeply, each with an expression for its result, and that result. */
const PROGRAMS: Record<string, [code: string, expression: string, result: string]> = {
  "1,000,000 calls": ["def f(n): return 0 if n == 0 else 1 + f(n - 1)", "f(1_000_000)", "1000000"],
  "7,500 calls through lru_cache": [
    "@functools.lru_cache(None)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)",
    "f(7500)",
    "7500",
  ],
  "7,500 calls through sorted(key=)": [
    "def f(n): return 0 if n == 0 else sorted([n - 1], key=f)[0]",
    "f(7500)",
    "7499",
  ],
  "7,500 calls of __lt__": [
    "class A:\n  def __init__(self, n): self.n = n\n" +
    "  def __lt__(self, other): return True if self.n == 0 else A(self.n - 1) < other",
    "A(7500) < A(0)",
    "True",
  ],
  "7,500 calls of __call__": [
    "class A:\n  def __call__(self, n): return 0 if n == 0 else 1 + self(n - 1)",
    "A()(7500)",
    "7500",
  ],
  "7,500 calls of __repr__": [
    "class A:\n  def __init__(self, n): self.n = n\n" +
    "  def __repr__(self): return 'x' if self.n == 0 else repr(A(self.n - 1))",
    "A(7500)",
    "x",
  ],
  "1,000,000 linked nodes that are freed": [
    "class Node: pass\nhead = None\nfor _ in range(10**6):\n" +
    "  node = Node(); node.next = head; head = node\ndel head, node",
    "1",
    "1",
  ],
  "100,000 nested lists that are freed": ["x = []\nfor _ in range(10**5): x = [x]\ndel x", "1", "1"],
  "1,000,000 nested closures that are freed": [
    "f = len\nfor _ in range(10**6): f = (lambda g: lambda: g)(f)\ndel f",
    "1",
    "1",
  ],
  "JSON of 100,000 brackets": ["text = '[' * 10**5 + ']' * 10**5", "len(json.loads(text))", "1"],
  "eval() of 5,000 additions": ["text = '+'.join(['1'] * 5001)", "eval(text)", "5001"],
};

Deno.test("Session.exec() runs a program with", async (t) => {
  await withSession(async (session) => {
    for (const [name, [code, expression, result]] of Object.entries(PROGRAMS)) {
      await t.step(name, async () => {
        assertEquals(
          value(await session.exec(`${DEEP}${code}\n${expression}`, { timeoutMs: 60_000 })),
          result,
        );
      });
    }
  });
});

/** Runs `code` in a thread with a stack of 128 MiB. */
const IN_THREAD = `import threading
threading.stack_size(2**27)
def work():
  exec(code, globals())
  print(eval(expression, globals()))
thread = threading.Thread(target=work)
thread.start()
thread.join()`;

Deno.test("/run_code runs every deep program in a thread", async () => {
  await withPython(async ({ send }) => {
    for (const [name, [code, expression, result]] of Object.entries(PROGRAMS)) {
      const texts = `code = ${JSON.stringify(code)}\nexpression = ${JSON.stringify(expression)}`;
      const { body } = await send("POST", "/run_code", {
        code: `${DEEP}${texts}\n${IN_THREAD}`,
        language: "python",
        run_timeout: 60,
      });
      assertEquals(body.run_result?.stdout, `${result}\n`, `${name}: ${JSON.stringify(body).slice(0, 1000)}`);
    }
  });
});

/** Programs that recurse deeper than any stack, by name. */
const ENDLESS: Record<string, string> = {
  "calls": "def f(): return f()\nf()",
  "calls through lru_cache": "@functools.lru_cache(None)\ndef f(n): return f(n + 1)\nf(0)",
  "calls through map": "def f(n): return list(map(f, [n]))\nf(0)",
  "JSON of 10,000,000 brackets": "json.loads('[' * 10**7)",
  "a comparison of lists that contain themselves": "x, y = [], []\nx.append(x)\ny.append(y)\nx == y",
};

Deno.test("Session.exec() raises RecursionError or MemoryError and keeps the state for endless", async (t) => {
  await withSession(async (session) => {
    for (const [name, code] of Object.entries(ENDLESS)) {
      await t.step(name, async () => {
        const result = await session.exec(`kept = 1\n${DEEP}${code}`, { timeoutMs: 60_000 });
        const type = "error" in result ? result.error.type : undefined;
        assert(type === "RecursionError" || result.status === "memory", JSON.stringify(result));
        assertEquals(value(await session.exec("kept")), "1");
      });
    }
  });
});

Deno.test("sys.setrecursionlimit() sets the limit", async () => {
  const code = `import sys
sys.setrecursionlimit(LIMIT)
def depth(n):
    try: return depth(n + 1)
    except RecursionError: return n
sys.getrecursionlimit(), LIMIT - depth(0) < 100`;
  await withSession(async (session) => {
    for (const limit of ["500", "150_000"]) {
      const text = value(await session.exec(code.replaceAll("LIMIT", limit)));
      assertEquals(text, `(${Number(limit.replace("_", ""))}, True)`);
    }
  });
});

Deno.test("Session.exec() frees the stack of a deep recursion before the next exec ends", async () => {
  await withSession(async (session, sandbox) => {
    value(await session.exec("1"));
    const before = residentBytes(sandbox.pid);
    value(await session.exec(`${DEEP}f = len\nfor _ in range(10**5): f = (lambda g: lambda: g)(f)\ndel f`));
    await session.reset({ mode: "rewind" });
    value(await session.exec("1"));
    assert(residentBytes(sandbox.pid) - before < 60 * 2 ** 20);
  });
});

function residentBytes(pid = 0): number {
  const [, resident] = Deno.readTextFileSync(`/proc/${innermostProcess(pid)}/statm`).split(" ");
  return Number(resident) * 4096;
}
