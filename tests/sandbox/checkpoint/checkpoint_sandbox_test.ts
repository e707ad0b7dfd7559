import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import { CheckpointError, hostTool, loadProfile, readCheckpoint, SandboxPool } from "../../../mod/sandbox.ts";
import type { BranchingSession } from "../../../src/sandbox/contract/pool.ts";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

async function run(session: BranchingSession, code: string): Promise<string | undefined> {
  return value(await session.exec(code));
}

/** Programs that put a session into a state, and expressions that continue from it, with their value. */
const CONTINUED: Record<string, [program: string, expression: string, value: string]> = {
  "a half-consumed generator": [
    "def g():\n    yield from range(9)\nit = g(); next(it); next(it)",
    "next(it)",
    "2",
  ],
  "objects, their identity and hashes": [
    "class C: pass\nc = C(); c.self = c; n, h = id(c), hash('abc')",
    "c.self is c and id(c) == n and hash('abc') == h",
    "True",
  ],
  "a coroutine that waits": [
    "import asyncio\nq = asyncio.Queue()\nasync def f(): return await q.get() + 1\nt = asyncio.ensure_future(f()); await asyncio.sleep(0)",
    "await q.put(1) or await t",
    "2",
  ],
  "random numbers": [
    "import random\nrandom.seed(1); random.random(); saved = random.getstate(); r = random.Random(2)",
    "random.getstate() == saved, round(r.random(), 6)",
    "(True, 0.956034)",
  ],
  "files with their times, modes and inodes": [
    "import os\nos.makedirs('a/b'); open('a/b/f', 'w').write('x'); os.chmod('a/b/f', 0o640); os.utime('a/b/f', (1, 2)); i = os.stat('a/b/f').st_ino",
    "(s := os.stat('a/b/f')) and (oct(s.st_mode), s.st_mtime, s.st_atime, s.st_ino == i, open('a/b/f').read())",
    "('0o100640', 2.0, 1.0, True, 'x')",
  ],
  "the order of a folder": [
    "import os\nfor n in 'zmab': open(n, 'w').close()\nos.remove('m'); open('m', 'w').close()",
    "os.listdir('.')",
    "['z', 'a', 'b', 'm']",
  ],
  "symbolic links, and the working directory": [
    "import os\nos.mkdir('d'); open('d/f', 'w').write('x'); os.symlink('d/f', 'l'); os.chdir('d')",
    "os.getcwd(), os.readlink('../l'), open('../l').read()",
    "('/home/pyodide/d', 'd/f', 'x')",
  ],
  "removed folders of the start": [
    "import os\nos.rmdir('/tmp')",
    "os.path.exists('/tmp')",
    "False",
  ],
  "an open file, and a second descriptor of it": [
    "import os\nf = open('f', 'w+'); f.write('hello'); f.flush(); f.seek(2); d = os.dup(f.fileno())",
    "os.read(d, 2), os.lseek(f.fileno(), 0, 1)",
    "(b'll', 4)",
  ],
  "unwritten text of an open file": [
    "f = open('f', 'w'); f.write('late')",
    "f.flush() or open('f').read()",
    "'late'",
  ],
  "a removed file that is open": [
    "import os\nf = open('/tmp/f', 'w+'); f.write('x'); f.flush(); os.remove('/tmp/f')",
    "f.seek(0), f.read(), os.path.exists('/tmp/f'), os.fstat(f.fileno()).st_size",
    "(0, 'x', False, 1)",
  ],
  "a folder that is being listed": [
    "import os\nfor n in 'abc': open(n, 'w').close()\ns = os.scandir('.'); first = next(s).name",
    "[first] + [e.name for e in s]",
    "['a', 'b', 'c']",
  ],
  "descriptors of devices and of the library": [
    "import os\nn = os.open('/dev/null', os.O_RDWR); l = open('/lib/python314.zip', 'rb'); l.read(3)",
    "os.write(n, b'x'), os.read(n, 1), l.tell()",
    "(1, b'', 3)",
  ],
  "a redirected stdout": [
    "import os\nkeep = os.dup(1); f = os.open('out', os.O_CREAT | os.O_RDWR); os.dup2(f, 1); print('in the file')",
    "os.dup2(keep, 1) and open('out').read()",
    "'in the file\\n'",
  ],
  "local time": [
    "import os, time\nos.environ['TZ'] = 'Europe/Berlin'; time.tzset()",
    "time.localtime(0).tm_hour, time.tzname",
    "(1, ('CET', 'CEST'))",
  ],
  "a clock that does not go back": [
    "import time\nt, p = time.monotonic(), time.process_time()",
    "time.monotonic() >= t and time.process_time() >= p",
    "True",
  ],
  "modules of a file of the session": [
    "open('mine.py', 'w').write('n = [1]')\nimport mine; mine.n.append(2)",
    "__import__('mine').n",
    "[1, 2]",
  ],
  "a heap that is larger than the image": [
    "big = bytearray(60 << 20); big[-1] = 7",
    "big[-1], sum(big[:9])",
    "(7, 0)",
  ],
  "threads that have ended": [
    "import threading\nt = threading.Thread(target=list); t.start(); t.join()",
    "(lambda s: (t2 := threading.Thread(target=s.append, args=(1,))).start() or t2.join() or s)([])",
    "[1]",
  ],
};

Deno.test("checkpoint() keeps what a program goes on with, in the same interpreter and in another one", async (t) => {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await withSession(async (session) => {
    for (const [name, [program, expression, expected]] of Object.entries(CONTINUED)) {
      await t.step(name, async () => {
        await session.reset({ mode: "rewind" });
        await run(session, program);
        const checkpoint = await session.checkpoint();
        assertEquals(await run(session, expression), expected, "in the session itself");
        await session.restore(checkpoint);
        assertEquals(await run(session, expression), expected, "after restore()");
        await using lease = await pool.acquire({ from: await readCheckpoint(await checkpoint.toBytes()) });
        assertEquals(await run(lease.session, expression), expected, "in another process");
      });
    }
  });
});

Deno.test("checkpoint() keeps the variables, functions and directory of the shell", async () => {
  const profile = await loadProfile("workspace");
  await using pool = new SandboxPool({ profile, size: 1 });
  await withSession(async (session) => {
    await session.shell(
      'mkdir d; cd d; export A=1; B=(x y); f() { echo "$A ${B[1]} $1"; }; set -o pipefail; false',
    );
    const checkpoint = await session.checkpoint();
    const command = "echo $?; f z; pwd; A=2";
    const expected = "1\n1 y z\n/home/pyodide/d\n";
    assertEquals((await session.shell(command)).stdout, expected);
    await session.restore(checkpoint);
    assertEquals((await session.shell(command)).stdout, expected);
    await using lease = await pool.acquire({ from: checkpoint });
    assertEquals((await lease.session.shell(command)).stdout, expected);
  }, { profile });
});

/** Prints what a session has, and last what differs between two starts. */
const LOOK = `
import json, os, random
print(json.dumps([
    [name for name in ("x", "f", "t") if name in globals()], os.getcwd(), os.environ.get("X"),
    os.listdir("/proc/self/fd"), open("/home/pyodide/d/kept").read(), oct(os.stat("/home/pyodide/d/kept").st_mode),
    os.path.exists("/tmp"), open("/proc/sys/kernel/random/boot_id").read(), random.random(),
]))`;
const USE = `
import os, threading, time
os.mkdir("d"); os.chdir("d"); os.rmdir("/tmp"); os.environ["X"] = "python"
f = open("kept", "w"); f.write("x"); f.flush(); os.chmod("kept", 0o640)
x = bytearray(20_000_000)
t = threading.Thread(target=time.sleep, args=(60,), daemon=True); t.start()`;

Deno.test("checkpoint({ memory: false }) keeps the files alone, whatever runs in the session", async () => {
  const profile = await loadProfile("workspace");
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await withSession(async (session) => {
    const look = async (at: BranchingSession) => JSON.parse((await at.exec(LOOK)).stdout);
    await session.shell("A=1; export X=shell");
    await run(session, USE);
    const used = await look(session);
    const checkpoint = await session.checkpoint({ memory: false });
    assert(checkpoint.storedBytes < 20_000, `${checkpoint.storedBytes}`);
    assertEquals(used.slice(0, 3), [["x", "f", "t"], "/home/pyodide/d", "python"], "the session goes on");
    await session.restore(checkpoint);
    await using lease = await pool.acquire({ from: await readCheckpoint(await checkpoint.toBytes()) });
    const [own, other] = [await look(session), await look(lease.session)];
    const descriptors = ["0", "1", "2", "3", "4"]; // the last one is that of the listing
    for (const state of [own, other]) {
      assertEquals(state.slice(0, 7), [[], "/home/pyodide", null, descriptors, "x", "0o100640", false]);
      assertNotEquals(state[7], used[7]);
    }
    assertNotEquals(own[7], other[7]);
    assertNotEquals(own[8], other[8]);
    assertEquals((await session.shell("pwd; echo $A$X")).stdout, "/home/pyodide\n\n");
  }, { profile });
});

Deno.test("a checkpoint with memory keeps the id of the start, and a reset renews it", async () => {
  const read = "open('/proc/sys/kernel/random/boot_id').read()";
  await withSession(async (session) => {
    const first = await run(session, read);
    assert(/^'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\n'$/.test(first ?? ""), first);
    await session.restore(await session.checkpoint());
    assertEquals(await run(session, read), first);
    await session.reset({ mode: "rewind", seed: 1 });
    const seeded = await run(session, read);
    assertNotEquals(seeded, first);
    await session.reset({ mode: "rewind", seed: 1 });
    assertEquals(await run(session, read), seeded);
  });
});

/** Programs after which no checkpoint can be made. */
const REFUSED: Record<string, string> = {
  "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
  "a pipe": "import os\nr, w = os.pipe()",
  "a function that C can call": "import ctypes\nf = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)",
};

Deno.test("checkpoint() is refused while a session has what no checkpoint has, and the session goes on", async (t) => {
  await withSession(async (session) => {
    for (const [name, program] of Object.entries(REFUSED)) {
      await t.step(name, async () => {
        await session.reset({ mode: "rewind" });
        await run(session, `${program}\nx = 1`);
        const { code } = await assertRejects(() => session.checkpoint(), CheckpointError);
        assertEquals(code, "checkpoint_refused");
        assertEquals(await run(session, "x"), "1");
      });
    }
  });
});

Deno.test("restore() runs nothing again, and takes back what was done since", async () => {
  let calls = 0;
  const count = hostTool({
    name: "count",
    description: "Counts",
    parameters: z.object({}),
    run: () => ++calls,
  });
  await withSession(async (session) => {
    const exec = async (code: string) => value(await session.exec(code, { tools: [count] }));
    await exec("from paddock import tools\nn = [tools.count()]");
    const checkpoint = await session.checkpoint();
    assertEquals(checkpoint.tools, ["count"]);
    await exec("n.append(2); open('new', 'w').write('x')");
    for (let round = 0; round < 3; round++) {
      await session.restore(checkpoint);
      assertEquals(await exec("n, __import__('os').listdir('.')"), "([1], [])");
    }
    assertEquals(calls, 1);
    assertEquals(await exec("tools.count()"), "2");
  }, { profile: await loadProfile("tools") });
});

const ENTROPY = "import os, random, secrets, uuid\n(os.urandom(8), secrets.token_hex(8), str(uuid.uuid4()))";

Deno.test("restored sessions and forks have new bytes of the operating system", async () => {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 3 });
  await using parent = await pool.acquire({ seed: 1 });
  await run(parent.session, "import os, random, secrets, uuid\nrandom.seed(3)");
  const checkpoint = await parent.session.checkpoint();
  const seen = new Set([await run(parent.session, ENTROPY)]);
  await parent.session.restore(checkpoint);
  seen.add(await run(parent.session, ENTROPY));
  const forks = await parent.session.fork(2);
  for (const { session } of forks) seen.add(await run(session, ENTROPY));
  assertEquals(seen.size, 4);
  for (const fork of forks) await fork[Symbol.asyncDispose]();
});

Deno.test("fork() gives each copy random numbers of its own, or those of a seed", async () => {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 3 });
  await using parent = await pool.acquire();
  await run(parent.session, "import random\nrandom.seed(3)");
  const draw = async (options: { seed?: number }) => {
    const forks = await parent.session.fork(2, options);
    const drawn = await Promise.all(forks.map(({ session }) => run(session, "random.random()")));
    for (const fork of forks) await fork[Symbol.asyncDispose]();
    return drawn;
  };
  const [first, second] = await draw({});
  assertNotEquals(first, second);
  const seeded = await draw({ seed: 7 });
  assertNotEquals(seeded[0], seeded[1]);
  assertEquals(await draw({ seed: 7 }), seeded);
  assertEquals(await run(parent.session, "random.random()"), "0.23796462709189137"); // the parent goes on
});

Deno.test("forks do not see each other", async () => {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 3 });
  await using parent = await pool.acquire();
  await run(
    parent.session,
    "import os\nshared = []; open('f', 'w').write('0'); fd = os.open('f', os.O_RDWR)",
  );
  const forks = await parent.session.fork(2);
  const sessions = [parent.session, ...forks.map(({ session }) => session)];
  await Promise.all(sessions.map((session, index) =>
    run(
      session,
      `shared.append(${index}); os.write(fd, b'${index}'); open('/tmp/${index}', 'w').close(); os.environ['N'] = '${index}'`,
    )
  ));
  for (const [index, session] of sessions.entries()) {
    const seen = await run(session, "shared, open('f').read(), os.listdir('/tmp'), os.environ['N']");
    assertEquals(seen, `([${index}], '${index}', ['${index}'], '${index}')`);
  }
  await assertRejects(() => parent.session.fork(3), RangeError);
  for (const fork of forks) await fork[Symbol.asyncDispose]();
});

Deno.test("a checkpoint is restored only for its owner and in its profile", async () => {
  const [python, tools] = [await loadProfile("python"), await loadProfile("tools")];
  await using pool = new SandboxPool({ profile: python, size: 1 });
  await using others = new SandboxPool({ profile: tools, size: 1 });
  await withSession(async (session) => {
    const checkpoint = await session.checkpoint({ owner: "alice" });
    const codeOf = async (work: () => Promise<unknown>) => (await assertRejects(work, CheckpointError)).code;
    assertEquals(
      await codeOf(() => pool.acquire({ from: checkpoint, owner: "bob" })),
      "checkpoint_other_owner",
    );
    assertEquals(await codeOf(() => session.restore(checkpoint)), "checkpoint_other_owner");
    assertEquals(
      await codeOf(() => others.acquire({ from: checkpoint, owner: "alice" })),
      "checkpoint_other_profile",
    );
    await using lease = await pool.acquire({ from: checkpoint, owner: "alice" });
    assertEquals(await run(lease.session, "1"), "1");
  });
});

Deno.test("a checkpoint has nothing of the host, and is small", async () => {
  const name = "PADDOCK_TEST_SECRET";
  Deno.env.set(name, "canary-of-the-host-7391");
  try {
    await withSession(async (session) => {
      await run(session, "x = 1");
      const { bytes } = await session.captureState({});
      const text = new TextDecoder("latin1").decode(bytes);
      for (
        const secret of ["canary-of-the-host-7391", Deno.execPath(), Deno.cwd(), `${Deno.env.get("HOME")}/`]
      ) {
        assert(!text.includes(secret), secret);
      }
      const { storedBytes } = await session.checkpoint();
      assert(storedBytes < 300_000, `${storedBytes}`);
    });
  } finally {
    Deno.env.delete(name);
  }
});

Deno.test("an interpreter whose heap is too large for a rewind is replaced by restore()", async () => {
  await withSession(async (session) => {
    await run(session, "x = 1");
    const checkpoint = await session.checkpoint();
    await run(session, "big = bytearray(150 << 20)");
    await session.restore(checkpoint);
    assertEquals(await run(session, "x, 'big' in globals()"), "(1, False)");
  });
});

const LIBRARY = `
import ctypes
c = ctypes.CDLL(None)
def look(): return [c.emscripten_stack_get_base(), c.emscripten_stack_get_end(), c.getTempRet0(), hasattr(c, "_hiwire_set")]
`;

Deno.test("what ctypes can change outside the heap is as at the start after a rewind and a restore", async () => {
  await withSession(async (session) => {
    const expected = await run(session, `${LIBRARY}look()`);
    const checkpoint = await session.checkpoint();
    assert(expected?.endsWith("False]"), "a program finds no function that changes a table of references");
    const change = `c.emscripten_stack_set_limits(4096, 0); c.setTempRet0(7)\nlook()`;
    assertNotEquals(await run(session, change), expected);
    await session.restore(checkpoint);
    assertEquals(await run(session, "look()"), expected);
    await run(session, change);
    await session.reset({ mode: "rewind" });
    assertEquals(await run(session, `${LIBRARY}look()`), expected);
  });
});
