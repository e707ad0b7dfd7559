import { assert, assertEquals } from "@std/assert";
import {
  type ExecOptions,
  loadProfile,
  type ResetOptions,
  Sandbox,
  type Session,
} from "../../../mod/sandbox.ts";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const RANDOM_VALUES =
  "import os, random, secrets, uuid\n(random.random(), secrets.token_hex(8), str(uuid.uuid4()), os.urandom(8), random.SystemRandom().random(), hash('a'))";

/** Code that changes the interpreter, and an expression that is `True` if the change is undone. */
const CHANGES: Record<string, [string, string]> = {
  "names": ["x = 1", "'x' not in globals()"],
  "generators": ["def g():\n    while True: yield\nit = g(); next(it)", "'it' not in globals()"],
  "replaced modules": [
    "import json, sys\njson.dumps = None\nsys.modules['math'] = None",
    "__import__('json').dumps([1]) == '[1]' and __import__('math').pi > 3",
  ],
  "imported modules": ["import colorsys", "'colorsys' not in __import__('sys').modules"],
  "builtins": ["import builtins\nbuiltins.print = builtins.sum = None", "sum([1, 2]) == 3"],
  "classes of the library": [
    "import datetime, fractions\nfractions.Fraction.__add__ = None",
    "__import__('fractions').Fraction(1) + 1 == 2",
  ],
  "files and folders": [
    "import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('x')\nopen('/tmp/t', 'w').write('x')\nos.symlink('a', 'l')",
    "(lambda os: (os.listdir('.'), os.listdir('/tmp')) == ([], []))(__import__('os'))",
  ],
  "the working directory": [
    "import os\nos.mkdir('d'); os.chdir('d')",
    "__import__('os').getcwd() == '/home/pyodide'",
  ],
  "a removed home": [
    "import os\nos.chdir('/')\nos.rmdir('/home/pyodide')\nos.rmdir('/tmp')",
    "(lambda os: os.path.isdir('/home/pyodide') and os.path.isdir('/tmp'))(__import__('os'))",
  ],
  "a temporary folder that became a file": [
    "import os\nos.rmdir('/tmp')\nopen('/tmp', 'w').write('x')",
    "__import__('os').path.isdir('/tmp')",
  ],
  "locked folders": [
    "import os\nos.mkdir('d')\nos.chmod('d', 0)\nos.chmod('/home/pyodide', 0o500)",
    "__import__('os').listdir('.') == [] and open('w', 'w').write('x') == 1",
  ],
  "removed devices": [
    "import os\nos.remove('/dev/null')\nos.rename('/dev/urandom', '/dev/null')",
    "open('/dev/null').read() == '' and len(open('/dev/urandom', 'rb').read(4)) == 4",
  ],
  "swapped devices": [
    "import os\nos.rename('/dev/null', '/tmp/n')\nos.rename('/dev/urandom', '/dev/null')\nos.rename('/tmp/n', '/dev/urandom')",
    "open('/dev/null').read() == '' and len(open('/dev/urandom', 'rb').read(4)) == 4",
  ],
  "modes of the library": [
    "import os\ntry: os.chmod('/lib', 0)\nexcept OSError: pass",
    "oct(__import__('os').stat('/lib').st_mode) == '0o40555'",
  ],
  "the environment": [
    "import os\nos.environ['SECRET'] = 'x'\ndel os.environ['HOME']",
    "'SECRET' not in __import__('os').environ and 'HOME' in __import__('os').environ",
  ],
  "the path of modules": [
    "import sys\nsys.path[:] = ['/tmp']\nsys.meta_path.clear()",
    "__import__('colorsys').__name__ == 'colorsys'",
  ],
  "streams": [
    "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
    "print('', end='') is None and __import__('sys').stdout is not None",
  ],
  "open files": [
    "import os\nkeep = [open(f'f{i}', 'w') for i in range(20)]",
    "__import__('os').open('x', 0o102) == 4",
  ],
  "closed descriptors": [
    "import os\nfor fd in range(5):\n    try: os.close(fd)\n    except OSError: pass",
    "__import__('os').write(1, b'') == 0",
  ],
  "limits of recursion": [
    "import sys\nsys.setrecursionlimit(50_000)",
    "__import__('sys').getrecursionlimit() < 5000",
  ],
  "signal handlers": [
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "callable(__import__('signal').getsignal(__import__('signal').SIGINT))",
  ],
  "memory": ["big = bytearray(100 * 2**20)", "len(bytearray(150 * 2**20)) > 0"],
  "an asyncio loop": [
    "import asyncio\nawait asyncio.sleep(0)\nasyncio.get_event_loop_policy = None",
    "await __import__('asyncio').sleep(0, True)",
  ],
  "names of pipes": [
    "import os\nfor _ in range(20):\n    for fd in os.pipe(): os.close(fd)",
    "(lambda os, fds: [os.readlink(f'/proc/self/fd/{fd}') for fd in fds])(__import__('os'), __import__('os').pipe()) == ['pipe[0]', 'pipe[1]']",
  ],
  "numbers of blocks": ["1", "__import__('sys')._getframe().f_code.co_filename == '<block 1>'"],
};

Deno.test("Session.reset() by 'rewind' undoes all changes", async (t) => {
  await withSession(async (session) => {
    for (const [name, [change, check]] of Object.entries(CHANGES)) {
      await t.step({
        name,
        sanitizeOps: false, // some changes need another process; the outer test checks for leaks
        sanitizeResources: false,
        fn: async () => {
          value(await session.exec(change));
          await session.reset({ mode: "rewind" });
          assertEquals(value(await session.exec(check)), "True");
          await session.reset({ mode: "rewind" });
        },
      });
    }
  });
});

Deno.test("Session.reset() by 'fresh' undoes all changes", async (t) => {
  await withSession(async (session) => {
    const changes = Object.entries(CHANGES).slice(0, 3);
    for (const [, [change]] of changes) value(await session.exec(change));
    await session.reset({ mode: "fresh" });
    for (const [name, [, check]] of changes) {
      await t.step(name, async () => assertEquals(value(await session.exec(check)), "True"));
    }
  });
});

/** Code that lists what a program can observe: files with times and inodes, and table slots. */
const SURROUNDINGS = `
import ctypes, os
def tree(path):
    for name in sorted(os.listdir(path)):
        inner = f"{path}/{name}"
        if inner.startswith(("//lib", "//proc")): continue
        info = os.lstat(inner)
        yield inner, info.st_mode, info.st_ino, info.st_atime, info.st_mtime, info.st_ctime
        if os.path.isdir(inner): yield from tree(inner)
kind = ctypes.CFUNCTYPE(ctypes.c_int)
functions = [kind(lambda: 1) for _ in range(3)]
ends = os.pipe()
(list(tree("/")), [ctypes.cast(each, ctypes.c_void_p).value for each in functions], ends, os.fstat(ends[0]).st_ino)`;

/** Code that changes what {@linkcode SURROUNDINGS} lists. */
const MESS = `
import ctypes, os, signal
kind = ctypes.CFUNCTYPE(ctypes.c_int)
functions = [kind(lambda: 1) for _ in range(50)]
for path in ("/", "/tmp", "/home", "/dev/null"): os.utime(path, (1, 2))
os.makedirs("/tmp/a/b")
os.chdir("/tmp/a/b")
opened = [os.open("/dev/null", 0) for _ in range(20)] + [*os.pipe()]
for path in ("/tmp/a", "/tmp", "/"): os.chmod(path, 0)`;

Deno.test("Session.reset() by 'rewind' leaves no trace that a program can observe", async () => {
  await withSession(async (session, sandbox) => {
    const { pid } = sandbox;
    const before = value(await session.exec(SURROUNDINGS));
    for (const code of ["1", MESS, SURROUNDINGS]) {
      await session.reset({ mode: "rewind" });
      value(await session.exec(code + "\n0"));
      await session.reset({ mode: "rewind" });
      assertEquals(value(await session.exec(SURROUNDINGS)), before);
    }
    assertEquals(sandbox.pid, pid, "the process was replaced");
  });
});

Deno.test("Session.reset() by 'rewind' keeps working a hundred times", async () => {
  await withSession(async (session) => {
    for (let i = 0; i < 100; i++) {
      await session.exec(
        "x = [object() for _ in range(10_000)]\ndef g():\n    yield from x\nit = g(); next(it)",
      );
      await session.reset({ mode: "rewind" });
    }
    assertEquals(value(await session.exec("'x' in globals()")), "False");
  });
});

Deno.test("Session.reset() by 'rewind' removes deep folders and many files without a new process", async () => {
  const trees = [
    "import os\nfor i in range(150): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').close()",
    "import os\nfor i in range(50): os.mkdir(f'd{i}'); [open(f'd{i}/{j}', 'w').close() for j in range(20)]",
  ];
  await withSession(async (session, sandbox) => {
    const { pid } = sandbox;
    for (const tree of trees) {
      value(await session.exec(tree));
      await session.reset({ mode: "rewind" });
      assertEquals(
        value(await session.exec("import os\nos.getcwd(), os.listdir('.')")),
        "('/home/pyodide', [])",
      );
      assertEquals(
        value(await session.exec("os.path.exists('d'), os.path.exists('d0/0')")),
        "(False, False)",
      );
    }
    assertEquals(sandbox.pid, pid);
  });
});

Deno.test("Session.reset() by 'rewind' after a crash starts a fresh interpreter and leaves 'restarted' unset", async () => {
  await withSession(async (session) => {
    assertEquals((await session.exec("import os\nos.abort()")).status, "crashed");
    await session.reset({ mode: "rewind" });
    const result = await session.exec("1");
    assertEquals([value(result), result.restarted], ["1", undefined]);
  });
});

Deno.test("Sessions with one seed produce the same random values, and others differ", async () => {
  const profile = await loadProfile("python");
  await using sandbox = await Sandbox.start({ profile });
  const second = await sandbox.openSession({ seed: 7 });
  await withSession((first) => compareRandomValues(first, second), { seed: 7 });
});

/** Expects equal random values of two interpreters with the seed 7, and of their resets with it, and no others. */
async function compareRandomValues(first: Session, second: Session): Promise<void> {
  const randomValues = async (session: Session) => value(await session.exec(RANDOM_VALUES));
  const reset = async (session: Session, options: ResetOptions) => {
    await session.reset(options);
    return await randomValues(session);
  };
  const seeded = await randomValues(first);
  assertEquals(await randomValues(second), seeded);
  assert(await randomValues(first) !== seeded, "the random values repeat");
  assertEquals(await reset(first, { mode: "rewind", seed: 7 }), seeded);
  assert(await reset(first, { mode: "rewind", seed: 8 }) !== seeded);
  assertEquals(await reset(second, { mode: "fresh", seed: 7 }), seeded);
  const unseeded = [
    await reset(first, { mode: "rewind" }),
    await reset(first, { mode: "rewind" }),
    await reset(second, { mode: "fresh" }),
    await reset(second, { mode: "rewind" }),
  ];
  assertEquals(new Set([...unseeded, seeded]).size, 5);
  const parts = unseeded.map((text) => (text ?? "").slice(1, -1).split(", "));
  for (let at = 0; at < 5; at++) {
    assertEquals(new Set(parts.map((part) => part[at])).size, 4, `part ${at} repeats`);
  }
  assertEquals(new Set(parts.map((part) => part[5])).size, 1, "the hash seed is the image's");
}

Deno.test("Session keeps its seed after a crash", async () => {
  await withSession(async (session) => {
    const before = value(await session.exec(RANDOM_VALUES));
    await session.exec("os.abort()");
    const after = await session.exec(RANDOM_VALUES);
    assertEquals([value(after), after.restarted], [before, true]);
  }, { seed: 3 });
});

Deno.test("Session.exec() with then: 'rewind' resets the session after the result", async (t) => {
  await withSession(async (session) => {
    const isReset = async () =>
      value(
        await session.exec(
          "import os, threading\n('x' in globals(), os.listdir('.'), threading.active_count())",
        ),
      );
    const steps: Record<string, [string, string, ExecOptions?]> = {
      "of a program that ends": ["x = 1; open('f', 'w').write('a')", "ok"],
      "of a program that fails": ["x = 1; 1 / 0", "error"],
      "of a program that exits": ["x = 1; raise SystemExit(3)", "exited"],
      "of a program that is interrupted": ["x = 1\nwhile True: pass", "timeout", { timeoutMs: 100 }],
      "of a program whose threads run on": [
        "import threading\nx = threading.Event()\nthreading.Thread(target=x.wait).start()",
        "ok",
      ],
      "of a program that has used too much memory to rewind": ["x = bytearray(180_000_000); del x", "ok"],
      "of a program that ends its interpreter": ["x = 1; import os; os._exit(3)", "crashed"],
    };
    for (const [name, [code, status, options]] of Object.entries(steps)) {
      await t.step(name, async () => {
        assertEquals((await session.exec(code, { ...options, then: "rewind" })).status, status);
        assertEquals(await isReset(), "(False, [], 1)");
      });
    }
    await t.step("after it has read files", async () => {
      const result = await session.exec("open('f', 'w').write('a')", { then: "rewind", fetchFiles: ["f"] });
      assertEquals(result.files?.f, new TextEncoder().encode("a"));
      assertEquals(await isReset(), "(False, [], 1)");
    });
    await t.step("with randomness that differs", async () => {
      const draw = async () => value(await session.exec("__import__('random').random()", { then: "rewind" }));
      assert(await draw() !== await draw());
    });
  });
});

Deno.test("Session.exec() with then: 'rewind' and reset() rewind once", async () => {
  await withSession(async (session) => {
    await session.exec("x = 1", { then: "rewind" });
    await session.reset({ mode: "rewind" });
    assertEquals(value(await session.exec("'x' in globals()")), "False");
    await session.exec("x = 1", { then: "rewind" });
    await session.reset({ mode: "rewind", seed: 7 });
    const first = value(await session.exec("__import__('random').random()"));
    await session.reset({ mode: "rewind", seed: 7 });
    assertEquals(value(await session.exec("__import__('random').random()")), first);
  });
});
