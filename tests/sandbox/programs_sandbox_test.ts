import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ExecResult } from "../../src/sandbox/exec.ts";
import { withSession } from "./shared_session.ts";

/** Returns what a shell sees of a program. */
function seen(result: ExecResult): [stdout: string, stderr: string, code: number | string] {
  const trace = "error" in result ? result.error.traceback : "";
  const code = result.status === "exited" ? result.exitCode : result.status;
  return [result.stdout, result.stderr + trace, code];
}

/** Runs programs as `/home/pyodide/main.py`, each in a new state. */
async function run(code: string, stdin?: string): Promise<ReturnType<typeof seen>> {
  let result: ExecResult | undefined;
  await withSession(async (session) => {
    result = await session.exec(code, { argv: ["main.py"], stdin });
  });
  assert(result);
  return seen(result);
}

Deno.test("Session.exec() accepts sys.maxsize where C code expects a size", async () => {
  const [stdout, stderr] = await run(`
import bz2, collections, compression.zstd, csv, functools, gzip, io, itertools, lzma, sys
M = sys.maxsize
print(M == 2**63 - 1, list(itertools.islice("ab", M)), list(itertools.islice("ab", 0, M, 1)))
print(next(itertools.repeat(1, M)), list(collections.deque("a", maxlen=M)), "aa".replace("a", "b", M), "a b".split(" ", M))
print(functools.lru_cache(maxsize=M)(abs)(-1), csv.field_size_limit(M), io.StringIO("abc").read(M), [1, 2].index(2, 0, M))
for module in (gzip, bz2, lzma, compression.zstd):
    with module.open("file", "wb") as file: file.write(b"text")
    with module.open("file") as file: print(file.read())
class Items(collections.abc.Set):
    def __init__(self, items): self.items = items
    def __contains__(self, item): return item in self.items
    def __iter__(self): return iter(self.items)
    def __len__(self): return len(self.items)
print(Items([1, 2])._hash() == hash(frozenset([1, 2])))
for size in (M - 1, 2**63, 2**64, -M, 2**31):
    try: list(itertools.islice("ab", size))
    except ValueError as error: print(type(error).__name__)
try: [0] * M
except MemoryError: print("no memory")
`);
  assertEquals(stderr, "");
  assertEquals(
    stdout,
    `True ['a', 'b'] ['a', 'b']
1 ['a'] bb ['a', 'b']
1 131072 abc 1
${"b'text'\n".repeat(4)}True
${"ValueError\n".repeat(3)}no memory
`,
  );
});

Deno.test("random.sample() takes from ranges of any length", async () => {
  const code = `import random
items = range(5, 10**18, 3)
found = random.Random(1).sample(items, 4)
print(found, all(item in items for item in found), len(random.sample(range(10**18, 0, -7), k=3)))
print(random.Random(2).sample([1, 2, 3], counts=[1, 0, 2], k=3), random.Random(3).sample(range(9), 9))`;
  const output = `[984371072494278116, 109135824617222993, 203926510789500089, 816692542546741742] True 3
[1, 3, 3] [3, 2, 7, 4, 8, 0, 6, 5, 1]
`;
  assertEquals(await run(code), [output, "", "ok"]);
});

Deno.test("Session.exec() gives the standard streams their modes", async () => {
  const code = "import sys; print(sys.stdin.mode, sys.stdout.mode, sys.stderr.mode)";
  assertEquals(await run(code), ["r w w\n", "", "ok"]);
  assertEquals(await run(code, "input"), ["r w w\n", "", "ok"]);
});

Deno.test("Session.exec() with argv provides the program's own file", async () => {
  assertEquals(await run("import sys; print(open(sys.argv[0]).read()[:6])"), ["import\n", "", "ok"]);
});

Deno.test("Session.exec() with argv calls the program's sys.excepthook", async () => {
  const code = `import sys
def hook(kind, error, trace):
    print(kind.__name__, error, trace.tb_lineno)
    if str(error) == "worse": 1 / 0
sys.excepthook = hook
`;
  assertEquals(await run(`${code}raise ValueError("bad")`), ["ValueError bad 6\n", "", 1]);
  const [stdout, stderr, status] = await run(`${code}raise ValueError("worse")`);
  assertEquals([stdout, status], ["ValueError worse 6\n", 1]);
  assertStringIncludes(stderr, "ValueError: worse");
  assertStringIncludes(stderr, "ZeroDivisionError");
});

Deno.test("Session.exec() with argv reports an exception that the program does not handle", async () => {
  const [stdout, trace, status] = await run("import sys\nprint(sys.excepthook is sys.__excepthook__)\n1 / 0");
  assertEquals([stdout, status], ["True\n", "error"]);
  assert(trace.endsWith("ZeroDivisionError: division by zero\n"), trace);
});

Deno.test("Session.exec() with argv exits with 130 after a KeyboardInterrupt of the program", async () => {
  const [stdout, stderr, code] = await run("raise KeyboardInterrupt");
  assertEquals([stdout, code], ["", 130]);
  assertStringIncludes(stderr, 'main.py", line 1, in <module>');
  assert(stderr.endsWith("KeyboardInterrupt\n"), stderr);
});

Deno.test("Session.exec() with argv runs exit handlers and __del__ at the program's end", async () => {
  const code = `import atexit
class Item:
    def __init__(self, name): self.name = name
    def __del__(self): print("deleted", self.name, __name__)
atexit.register(print, "exit")
public, _private = Item("public"), Item("private")
cycle = Item("cycle"); cycle.cycle = cycle
print("end")
`;
  const output = "end\nexit\ndeleted public __main__\ndeleted private __main__\ndeleted cycle __main__\n";
  assertEquals(await run(code), [output, "", "ok"]);
  assertEquals((await run(`${code}raise SystemExit(3)`))[2], 3);
});

/** Programs, and their output by `python3.13 main.py`. */
const ENDINGS: readonly (readonly [code: string, stdout: string])[] = [
  ["def g():\n    try: yield\n    finally: print('end')\nx = g()\nnext(x)\nprint('main')", "main\nend\n"],
  ["def g():\n    try: yield\n    except GeneratorExit: print('end')\nx = g()\nnext(x)", "end\n"],
  [
    "class C:\n    def __enter__(self): print('in')\n    def __exit__(self, *_): print('out')\n" +
    "def g():\n    with C(): yield\nx = g()\nnext(x)",
    "in\nout\n",
  ],
  [
    "from contextlib import contextmanager\n@contextmanager\ndef c():\n    try: yield\n    finally: print('closed')\n" +
    "held = c()\nheld.__enter__()\nprint('main')",
    "main\nclosed\n",
  ],
  [
    "class S:\n    def __await__(self): yield\nasync def f():\n    try: await S()\n    finally: print('end')\n" +
    "c = f()\nc.send(None)\nprint('main')",
    "main\nend\n",
  ],
  [
    "def g(n):\n    try: yield\n    finally: print(n)\nb = g('b'); a = g('a'); _c = g('c')\nnext(a), next(b), next(_c)",
    "b\na\nc\n",
  ],
  [
    "K = [1]\ndef h(): return K\ndef g():\n    try: yield\n    finally: print(h(), K)\nx = g()\nnext(x)",
    "[1] [1]\n",
  ],
  ["K = [1]\nclass A:\n    def __del__(self): print(K)\na = A()", "[1]\n"],
  [
    "def g(n):\n    try: yield\n    finally: print('end')\nx = []\nx.append(g(x))\nnext(x[0])\nprint('main')",
    "main\nend\n",
  ],
];

Deno.test("Session.exec() with argv closes suspended generators and coroutines at the program's end", async () => {
  for (const [code, stdout] of ENDINGS) assertEquals(await run(code), [stdout, "", "ok"], code);
});

Deno.test("Session.exec() with argv exits with 1 for a code that is no integer, even if it equals 0", async () => {
  const codes = [["0.0", "0.0"], ["0j", "0j"], [
    "type('E', (), {'__eq__': lambda *_: True, '__repr__': lambda _: 'E'})()",
    "E",
  ]];
  for (const [code = "", printed] of codes) {
    assertEquals(await run(`raise SystemExit(${code})`), ["", `${printed}\n`, 1]);
  }
  for (const code of ["False", "0", "None", "256"]) {
    assertEquals(await run(`raise SystemExit(${code})`), ["", "", "ok"]);
  }
});

Deno.test("Session.exec() with argv runs programs that import their own file", async () => {
  const ways = ["import main", "from main import f", "import main as m; from main import f"];
  for (const way of ways) {
    const code = `print(__name__)\ndef f(): pass\nif __name__ == "__main__":\n    ${way}`;
    assertEquals(await run(code), ["__main__\nmain\n", "", "ok"], way);
  }
});

Deno.test("Session.exec() reports exceptions after a program has replaced built-in functions or the library's printer", async () => {
  const replacements = [
    "import builtins\nbuiltins.len = lambda _: 99",
    "import builtins\nbuiltins.print = builtins.open = builtins.input = builtins.__import__ = None",
    "import builtins\nput = setattr\nfor name in dir(builtins):\n  if name.islower() and name[0] != '_': put(builtins, name, 5)",
    "import builtins\ndel builtins.len, builtins.isinstance, builtins.str",
    "import traceback\ntraceback.TracebackException.format = None",
    "import linecache\nlinecache.getline = linecache.getlines = linecache.checkcache = None",
  ];
  for (const code of replacements) {
    const [stdout, trace, status] = await run(`${code}\n1 / 0`);
    assertEquals([stdout, status], ["", "error"]);
    assertStringIncludes(trace, "line ");
    assert(trace.endsWith("ZeroDivisionError: division by zero\n"), trace);
  }
  await withSession(async (session) => {
    await session.exec("import builtins; builtins.len = builtins.str = None");
    const error = await session.exec("f'{1}' + 2");
    assert(error.status === "error" && error.error.message.startsWith("can only concatenate str"));
    const value = await session.exec("builtins.len is None and [builtins.str, 1]");
    assertEquals(value.status === "ok" && value.value, "[None, 1]");
  });
});

Deno.test("Session.exec() runs code with a byte order mark", async () => {
  assertEquals(await run("\ufeffprint('program')"), ["program\n", "", "ok"]);
  await withSession(async (session) => {
    const result = await session.exec("\ufeff40 + 2");
    assertEquals(result.status === "ok" && result.value, "42");
  });
});

Deno.test("Session.exec() shows the line of an error of the compiler", async () => {
  await withSession(async (session) => {
    for (const [code, line] of [["x = 1\nreturn x", "return x"], ["def f():\n  nonlocal q", "nonlocal q"]]) {
      const result = await session.exec(code ?? "");
      assertStringIncludes(
        result.status === "error" ? result.error.traceback : "",
        `line 2\n    ${line}\n    ^`,
      );
    }
  });
});

Deno.test("Session.exec() keeps the session after a program that has used up its memory in small pieces", async () => {
  await withSession(async (session) => {
    for (const size of [16, 64, 500]) {
      const code = `x = None\nwhile True:\n    x = (x, bytes(${size}))`;
      const result = await session.exec(code, {
        argv: ["main.py"],
        timeoutMs: 60_000,
        memoryBytes: 120 * 2 ** 20,
      });
      const next = await session.exec("6 * 7");
      assertEquals([result.status, next.status === "ok" && next.value], ["memory", "42"]);
      await session.reset({ mode: "rewind" });
    }
  });
});

Deno.test("Session.exec() finds the time zones of the IANA database", async () => {
  const code = `
import datetime, zoneinfo
for name, hour in (("Europe/Paris", 12), ("Asia/Kolkata", 0), ("US/Pacific", 3)):
    time = datetime.datetime(2055, 7, 1, hour, tzinfo=zoneinfo.ZoneInfo(name))
    print(time.isoformat(), time.tzname(), time.dst())
print(len(zoneinfo.available_timezones()) > 590)
try: zoneinfo.ZoneInfo("No/Where")
except zoneinfo.ZoneInfoNotFoundError as error: print(error)
`;
  const output = `2055-07-01T12:00:00+02:00 CEST 1:00:00
2055-07-01T00:00:00+05:30 IST 0:00:00
2055-07-01T03:00:00-07:00 PDT 1:00:00
True
'No time zone found with key No/Where'
`;
  assertEquals(await run(code), [output, "", "ok"]);
});

Deno.test("Session.exec() provides modules that Pyodide lacks", async () => {
  const code = `
import dbm, dbm.dumb, dbm.sqlite3, getpass, grp, os, pathlib, pwd, shelve
with shelve.open("shelf") as shelf: shelf["a"] = [1, 2]
with shelve.open("shelf", "r") as shelf: print(shelf["a"], list(shelf), len(shelf))
for module in (dbm, dbm.dumb, dbm.sqlite3):
    with module.open(f"file.{module.__name__}", "n") as database:
        database["key"] = b"value"
        database[b"gone"] = "text"
        del database["gone"]
        print(database["key"], "gone" in database, database.get("gone", 1), list(database.keys()), len(database))
        try: database[1] = b""
        except TypeError as error: print(error)
print(dbm.whichdb("file.dbm"), dbm.whichdb("none"))
try: dbm.open("none", "w")
except dbm.error as error: print(type(error).__name__)
with dbm.open("file.dbm") as database:
    try: database["key"] = b""
    except dbm.error as error: print(error)
print(pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name, pathlib.Path("shelf").owner())
print(oct(os.umask(0o27)), oct(os.umask(0o22)))
`;
  const row = "b'value' False 1 [b'key'] 1\n";
  const output = `[1, 2] ['a'] 1
${row.repeat(2)}keys must be bytes or strings
${row}dbm.sqlite3 None
error
attempt to write a readonly database
pyodide pyodide pyodide
0o22 0o27
`;
  assertEquals(await run(code), [output, "", "ok"]);
});

Deno.test("Session.exec() provides functions that Emscripten lacks", async () => {
  const code = `
import hashlib, os, sys
print(hashlib.pbkdf2_hmac("sha1", b"password", b"salt", 4096).hex())
print(hashlib.pbkdf2_hmac("sha256", b"passwd", b"salt", 1, 64).hex()[:32])
print(os.geteuid() == os.getuid(), os.getegid() == os.getgid(), os.sched_getaffinity(0), len(os.getrandom(3)))
print(sys.executable)
`;
  const output = `4b007901b765489abead49d926f721d065a429c1
55ac046e56e3089fec1691c22544b605
True True {0} 3
/usr/bin/python3
`;
  assertEquals(await run(code), [output, "", "ok"]);
});

Deno.test("Session.exec() imports modules of the standard library from byte code, with their source", async () => {
  const [stdout] = await run(`import builtins
compiled = []
def record(source, name, *args, original=builtins.compile, **options):
    compiled.append(name)
    return original(source, name, *args, **options)
builtins.compile = record
import csv, inspect, tarfile, unittest.mock, urllib.request, xml.etree.ElementTree
print([name for name in compiled if name.startswith("/lib")])
print(inspect.getsource(unittest.case._id))`);
  assertEquals(stdout, "[]\ndef _id(obj):\n    return obj\n\n");
});

Deno.test("a program removes and renames the folder in which it runs, as on Linux", async () => {
  const [stdout, stderr] = await run(`
import os, tempfile
folder = os.path.realpath(tempfile.mkdtemp())
def show(call):
    try: print(call())
    except OSError as error: print(type(error).__name__, error.errno)
with tempfile.TemporaryDirectory() as inner: os.chdir(inner)
show(os.getcwd)
show(lambda: open("file", "w"))
os.makedirs(folder + "/a/b")
os.chdir(folder + "/a/b")
os.rename(folder + "/a", folder + "/c")
show(lambda: os.path.relpath(os.getcwd(), folder))
os.rename(folder + "/c/b", folder + "/d")
show(lambda: os.path.relpath(os.getcwd(), folder))
os.rmdir(folder + "/d")
os.mkdir(folder + "/d")
os.chdir("/")
show(os.getcwd)
show(lambda: os.rmdir("/"))
`);
  assertEquals(stderr, "");
  assertEquals(stdout, "FileNotFoundError 2\nFileNotFoundError 2\nc/b\nd\n/\nOSError 16\n");
});

Deno.test("a program that another one starts imports from the folders of PYTHONPATH", async () => {
  const [stdout, stderr] = await run(`
import os, subprocess, sys
os.mkdir("own")
with open("own/mine.py", "w") as file: file.write("x = 5")
os.environ["PYTHONPATH"] = "own:/missing"
code = "import mine, os, sys; print(mine.x, sys.path[:3])"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
for flags in ("-E", "-uI"):
    print(subprocess.run([sys.executable, flags, "-c", code], capture_output=True, text=True).returncode)
`);
  assertEquals(stderr, "");
  assertEquals(stdout, "5 ['', '/home/pyodide/own', '/missing']\n\n1\n1\n");
});
