import { assertEquals } from "@std/assert";
import { value } from "../../../sandbox/started.ts";
import { shellTest } from "./command_shell.ts";

/** Code in which nothing is wrong. */
const SOUND = [
  "def f(): return later\nlater = 1",
  "class A:\n    x = 1\n    y = [x for x in [x]]\n    def m(self) -> 'Gone': return __class__",
  "[y := 1, y]; print([z for z in range(3) if (last := z)], last)",
  "def f[T: int](a: T, *b, c=1, **d) -> T: return (a, b, c, d)\nclass B[U]:\n    def g(self, u: U): ...",
  "type Pair[T] = tuple[T, T]",
  "try:\n    unicode\nexcept NameError:\n    unicode = str",
  "def f():\n    global g\n    g = 1\nprint(g)",
  "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x += 1\n    return g",
  "import a.b, c as d\nfrom e import f as g\nprint(a, d, g)",
  "from os.path import *\nprint(join)",
  "match 1:\n    case [a, *b] | {'k': a, **b}: print(a, b)",
  "with open('x') as (a, b), open('y'): print(a, b)",
  "for i, (j, *k) in []: print(i, j, k)\nelse: print(i)",
  "lambda a, *b, c=1, **d: (a, b, c, d)",
  "async def f():\n    async for x in y(): await x\n    return [z async for z in y()]\ndef y(): ...",
  "print(__file__, __name__, WindowsError, __debug__)",
  "x: int\nprint(x)",
  "exec('y = 1')\nprint(y)",
  "globals()['y'] = 1\nprint(y)",
  "__all__ = ['f']\n__all__ += ['g']\ndef f(): ...\ndef g(): ...",
  "'\\d'  # no more than a warning",
  "if 1:\n\tx = 1\n",
  "# -*- coding: latin-1 -*-\nx = 1",
  "try:\n    pass\nexcept* ValueError as e:\n    print(e)",
  "f(\n  1,\n)\ndef f(x): ...",
];

/** Code with one finding, and where it is. */
const FAULTY = [
  ["print(x)", "1:7 F821"],
  ["def f():\n    return [a for a in range(3)], a", "2:35 F821"],
  ["class A:\n    x = 1\n    def m(self): return x", "3:25 F821"],
  ["class A:\n    x = 1\n    y = [x for _ in [1] if x]", "3:10 F821", "3:28 F821"],
  ["def f(a=b): ...", "1:9 F821"],
  ["@deco\ndef f(): ...", "1:2 F821"],
  ["def f(a: Missing) -> Gone: ...", "1:10 F821", "1:22 F821"],
  ["x += 1", "1:1 F821"],
  ["try:\n    unicode\nexcept ValueError: ...", "2:5 F821"],
  ["f'{missing:{width}}'", "1:4 F821", "1:13 F821"],
  ["def f():\n    x = 1\nprint(x)", "3:7 F821"],
  ["__all__ = ['f', 'g']\ndef f(): ...", "1:17 F822"],
  ["def f(a, a): ...", "1:10 F831"],
  ["if 1:\n  x = 1", "2:3 E111"],
  ["if 1:\nx = 1", "2:1 E112"],
  ["x = 1\n    y = 1", "2:4 E113"],
  ["x = 'a", "1:5 E999"],
  ["await f()", "1:1 E999"],
  ["x = 1\x00", "1:1 E999"],
] as const;

// First, as V8 needs more stack for the same depth once it has optimized the interpreter.
shellTest("the lint survives code that is nested deeply", async ({ session }) => {
  const code = `import paddock_commands as p
[[fault.code for fault in p.find_faults(text.encode(), "a.py")]
  for text in ("(" * 5000, "x = " + "-" * 5000 + "1", "x = 1" + " + 1" * 20000, "[" * 90 + "]" * 90)]`;
  assertEquals(value(await session.exec(code)), "[['E999'], [], [], []]");
});

shellTest("the lint finds the same errors as flake8 for its codes", async ({ session }) => {
  const code = `import paddock_commands, json
print(json.dumps([[f"{f.line}:{f.column} {f.code}" for f in paddock_commands.find_faults(code.encode(), "a.py")]
  for code in json.loads(input())]))`;
  const find = async (snippets: readonly string[]) => {
    const { stdout } = await session.exec(code, { stdin: JSON.stringify(snippets) });
    return JSON.parse(stdout) as string[][];
  };
  const sound = await find(SOUND);
  assertEquals(SOUND.filter((_, index) => sound[index]?.length !== 0), []);
  const faulty = await find(FAULTY.map(([snippet]) => snippet));
  assertEquals(faulty, FAULTY.map(([, ...findings]) => [...findings]));
});

shellTest("the lint has no false positives in Python's standard library", async ({ session }) => {
  const code = `import collections, paddock_commands, zipfile, sys
counts, files, lines = collections.Counter(), 0, 0
with zipfile.ZipFile(next(path for path in sys.path if path.endswith(".zip"))) as library:
    for name in library.namelist():
        if name.endswith(".py"):
            data = library.read(name)
            files, lines = files + 1, lines + data.count(b"\\n")
            counts.update(fault.code for fault in paddock_commands.find_faults(data, name))
files > 500, lines > 200_000, dict(counts)`;
  const result = await session.exec(code, { timeoutMs: 600_000 });
  assertEquals(value(result), "(True, True, {'E111': 1})");
});

shellTest("flake8 prints findings in its usual format", async ({ write, run }) => {
  await write("a.py", "print(x)\n");
  const { stdout, status } = await run("flake8 --isolated --select=F821 a.py gone.py");
  assertEquals(stdout.split("\n")[0], "a.py:1:7: F821 undefined name 'x'");
  assertEquals(stdout.split("\n")[1]?.startsWith("gone.py:0:1: E902 FileNotFoundError"), true);
  assertEquals(status, "exited");
});
