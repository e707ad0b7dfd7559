import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type BranchingSession, type ExecResult, loadProfile, SandboxPool } from "../../../mod/sandbox.ts";
import { TempFolder } from "../../temp_folder.ts";
import { startWithPackage } from "../profile/native_package.ts";
import { baseLibrary, extensionModule, userLibrary } from "../profile/side_modules.ts";
import { withSession } from "../shared_session.ts";

const PRELUDE = `
import array, collections, contextlib, dataclasses, decimal, functools, hashlib, importlib, io, itertools, os, random, re, sqlite3, sys, weakref, zlib
random.seed(11)
items, table, made, names, calls = [1, 2, 3], {}, collections.deque([0]), set(), []
def count():
    total = 0
    while True:
        total += (yield total) or 1
counter = count(); next(counter)
@dataclasses.dataclass
class Node:
    value: int
    link: object = None
    def __hash__(self): return self.value
head = Node(0)
watched = weakref.WeakValueDictionary()
@functools.lru_cache(maxsize=4)
def square(n): calls.append(n); return n * n
lines = (line.upper() for line in itertools.cycle(['a', 'b', 'c']))
words = re.finditer(r'\\w', 'abcdefghij' * 50)
digest, packer, buffer = hashlib.sha256(), zlib.compressobj(), io.BytesIO()
base = sqlite3.connect(':memory:'); base.execute('create table t (n int)')
log = open('log', 'a+')
class Failure(Exception): pass
failures = []
def fail(depth): raise Failure(depth) if depth == 0 else Failure(depth) from failures[-1] if failures else Failure('first')
`;

/** Statements of programs. They use the names of the prelude only, so that each works after each. */
const STATEMENTS: readonly fc.Arbitrary<string>[] = [
  fc.integer({ min: -99, max: 99 }).map((n) => `items.append(${n})`),
  fc.string({ maxLength: 9 }).map((text) => `table[${JSON.stringify(text)}] = len(items)`),
  fc.string({ maxLength: 3 }).map((text) => `names.add(${JSON.stringify(text)}); names.discard('a')`),
  fc.nat(5).map((n) => `counter.send(${n})`),
  fc.nat(9).map((n) => `head = Node(${n}, head); watched[${n % 3}] = head`),
  fc.nat(6).map((n) => `square(${n})`),
  fc.constant("items.append(len(next(lines))); table[next(words)[0]] = 1"),
  fc.string({ maxLength: 30 }).map((text) => `digest.update(${JSON.stringify(text)}.encode())`),
  fc.nat(2000).map((n) => `buffer.write(packer.compress(bytes(range(256)) * ${n}))`),
  fc.nat(99).map((n) =>
    `base.execute('insert into t values (?)', (${n},)).rowcount; ${n % 3 ? "base.commit()" : ""}`
  ),
  fc.nat(3).map((n) => `try: fail(${n})\nexcept Failure as error: failures.append(error)`),
  fc.nat(3).map((n) => `os.makedirs('d${n}/e', exist_ok=True)`),
  fc.tuple(fc.nat(4), fc.string({ maxLength: 20 })).map(([n, text]) =>
    `open('f${n}', 'a').write(${JSON.stringify(text)}.encode().hex())`
  ),
  fc.nat(4).map((n) => `os.path.exists('f${n}') and os.remove('f${n}')`),
  fc.tuple(fc.nat(4), fc.nat(4)).map(([a, b]) => `os.path.exists('f${a}') and os.rename('f${a}', 'f${b}')`),
  fc.nat(3).map((n) => `os.path.lexists('l${n}') or os.symlink('f${n}', 'l${n}')`),
  fc.nat(4).map((n) =>
    `os.path.exists('f${n}') and (os.utime('f${n}', (${n}, ${n})), os.chmod('f${n}', 0o64${n}))`
  ),
  fc.string({ maxLength: 9 }).map((text) => `log.write(${JSON.stringify(text)}.encode().hex() + '\\n')`),
  fc.constant("log.flush()"),
  fc.nat(30).map((n) => `log.flush() or log.seek(${n})`),
  fc.nat(9).map((n) =>
    // without it, Python does not find a file that is written in the millisecond in which it listed the folder
    `open('own${n}.py', 'w').write('n = [${n}]'); importlib.invalidate_caches(); sys.modules.get('own${n}') or __import__('own${n}').n.append(1)`
  ),
  fc.constantFrom("colorsys", "fractions", "statistics", "textwrap", "difflib", "graphlib").map((name) =>
    `import ${name}`
  ),
  fc.nat(2).map((n) => `items.extend(itertools.islice(itertools.count(${n}), 2000))`),
  fc.constant("del items[5:]"),
  fc.nat(9).map((n) => `decimal.getcontext().prec = ${n + 3}; made.append(decimal.Decimal(1) / 7)`),
  fc.constant("print(len(items), sorted(table)[:3], file=sys.stderr if len(items) % 2 else sys.stdout)"),
];

/** Statements whose effect a fork changes. */
const RANDOM: readonly fc.Arbitrary<string>[] = [
  fc.constant("made.append(random.random())"),
  fc.constant("random.shuffle(items); made.append(random.getstate()[1][-1])"),
];

function programOf(statements: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.array(fc.oneof(...statements), { minLength: 1, maxLength: 14 }).map((lines) => lines.join("\n"));
}

/** Everything of a session that a program can see and that does not differ from run to run. */
const OBSERVE = `
def links(node):
    while node: yield node.value; node = node.link
def chain(error): return [repr(error), chain(error.__cause__)] if error else None
def files():
    for folder, folders, names in os.walk('.'):
        if '__pycache__' in folder: continue
        for name in folders + names:
            path = os.path.join(folder, name); s = os.lstat(path)
            data = open(path).read() if name in names and os.path.isfile(path) else ''
            yield path, oct(s.st_mode), s.st_ino, s.st_size, data, s.st_mtime if s.st_mtime < 9 else None
(items, table, list(made), list(names), calls, square.cache_info(), next(counter), list(links(head)), sorted(watched), next(lines),
 next(words).start(), digest.hexdigest(), buffer.tell(), zlib.crc32(buffer.getvalue()), list(base.execute('select n from t')),
 base.in_transaction, [chain(error) for error in failures[-3:]], log.tell(), id(items), id(log), hash('x'),
 sorted(m for m in sys.modules if m.startswith('own')), decimal.getcontext().prec, list(files()))
`;

async function play(session: BranchingSession, code: string): Promise<unknown> {
  const ran = await session.exec(code);
  const seen = await session.exec(OBSERVE);
  assertEquals(seen.status, "ok", `the state can be observed: ${JSON.stringify(seen)}`);
  return [ran, seen].map((result: ExecResult) => ({ ...result, durationMs: 0 }));
}

Deno.test("a random program goes on from a checkpoint as it would have gone on without", async () => {
  const profile = await loadProfile("python");
  const program = programOf([...STATEMENTS, ...RANDOM]);
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await withSession(async (session) => {
    await fc.assert(
      fc.asyncProperty(program, program, async (before, after) => {
        await session.reset({ mode: "rewind" });
        await session.exec(PRELUDE + before);
        const checkpoint = await session.checkpoint();
        const expected = await play(session, after);
        await session.restore(checkpoint);
        assertEquals(await play(session, after), expected, "after restore()");
        await using lease = await pool.acquire({ from: checkpoint });
        assertEquals(await play(lease.session, after), expected, "in another process");
      }),
      { numRuns: 25 },
    );
  });
});

Deno.test("random programs in forks, at the same time, go on as one after the other", async () => {
  const profile = await loadProfile("python");
  const program = programOf(STATEMENTS);
  await using pool = new SandboxPool({ profile, size: 3, resetMode: "rewind" });
  await fc.assert(
    fc.asyncProperty(program, program, program, async (before, one, other) => {
      await using parent = await pool.acquire();
      const { session } = parent;
      await session.exec(PRELUDE + before);
      const checkpoint = await session.checkpoint();
      const forks = await session.fork(2);
      const [first, second] = await Promise.all(
        forks.map((fork, index) => play(fork.session, [one, other][index] ?? "")),
      );
      for (const fork of forks) await fork[Symbol.asyncDispose]();
      for (const [code, seen] of [[one, first], [other, second]] as const) {
        await session.restore(checkpoint);
        assertEquals(seen, await play(session, code));
      }
    }),
    { numRuns: 12 },
  );
});

/** Statements with a package of the image, and with libraries that a program loads. */
const NATIVE: readonly fc.Arbitrary<string>[] = [
  fc.nat(9).map((n) => `items.append(native.base.count(${n}))`),
  fc.constant("user = user or ctypes.CDLL(native.PATH + '/libuser.so'); items.append(user.read())"),
  fc.nat(9).map((n) =>
    `user = user or ctypes.CDLL(native.PATH + '/libuser.so'); items.append(user.add_by_address(${n}))`
  ),
  fc.constant("import native.fast; items.append(native.fast.answer())"),
  fc.nat(9).map((n) => `items.append(numpy.random.draw() + ${n})`),
];

/** A package with one library in the image and two others, and one that has the interface of numpy's generator. */
const FILES = {
  "native/__init__.py":
    "import ctypes, os\nPATH = os.path.dirname(__file__)\nbase = ctypes.CDLL(PATH + '/libbase.so')",
  "native/fast.cpython-314-wasm32-emscripten.so": extensionModule(),
  "native/libbase.so": baseLibrary(),
  "native/libuser.so": userLibrary(),
  "numpy/__init__.py": "from numpy import random",
  "numpy/random.py":
    "import os\nstate = 1\ndef seed(value):\n    global state\n    state = int.from_bytes(os.urandom(8)) if value is None else value\ndef draw():\n    global state\n    state = state * 6364136223846793005 % 2 ** 64 + 1\n    return state",
};

Deno.test("a random program with packages of the image goes on from a checkpoint as it would have gone on without", async () => {
  await using folder = await TempFolder.of();
  await using sandbox = await startWithPackage(folder.path, {
    preimports: ["native", "numpy"],
    files: FILES,
  });
  await using session = await sandbox.openSession();
  const prelude = `${PRELUDE}import ctypes, native, numpy\nuser = None\n`;
  const program = programOf([...NATIVE, ...NATIVE, ...STATEMENTS, ...RANDOM]);
  await using other = await sandbox.openSession();
  await fc.assert(
    fc.asyncProperty(program, program, async (before, after) => {
      await session.reset({ mode: "rewind" });
      await session.exec(prelude + before);
      const checkpoint = await session.checkpoint();
      const expected = await play(session, after);
      await session.restore(checkpoint);
      assertEquals(await play(session, after), expected, "after restore()");
      await other.restore(checkpoint);
      assertEquals(await play(other, after), expected, "in another interpreter");
    }),
    { numRuns: 10 },
  );
});

Deno.test("fork() seeds numpy's generator anew, and restore() continues it", async () => {
  await using folder = await TempFolder.of();
  await using sandbox = await startWithPackage(folder.path, {
    preimports: ["native", "numpy"],
    files: FILES,
  });
  await using session = await sandbox.openSession();
  const draw = async (from: BranchingSession) => {
    const result = await from.exec("numpy.random.draw()");
    return result.status === "ok" ? result.value : result.status;
  };
  await session.exec("import numpy\nnumpy.random.seed(3)");
  const checkpoint = await session.checkpoint();
  const expected = await draw(session);
  await session.restore(checkpoint);
  assertEquals(await draw(session), expected);
  await session.restore(checkpoint);
  const drawn: unknown[] = [expected];
  for (const seed of [undefined, undefined, 7, 7, 8]) {
    const [fork] = await session.fork(1, { seed });
    drawn.push(fork && await draw(fork.session));
    await fork?.[Symbol.asyncDispose]();
  }
  assertEquals(drawn[3], drawn[4]);
  assertEquals(new Set(drawn).size, 5);
});
