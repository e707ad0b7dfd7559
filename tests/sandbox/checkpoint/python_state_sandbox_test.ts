import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CheckpointError, loadProfile, SandboxPool } from "../../../mod/sandbox.ts";
import type { ExecResult } from "../../../src/sandbox/contract/exec.ts";

/**
 * State that programs put a session into, how they go on, and the value. It is that of CPython without a checkpoint,
 * except for stdin and alarms, which end with an exec.
 */
const STATES: Record<string, [program: string, goesOn: string, value: string]> = {
  "generators, also asynchronous ones": [
    "def g():\n    for i in range(9): yield (yield i)\nasync def a():\n    for i in range(5): yield i\ng1, a1 = g(), a(); next(g1); await anext(a1)",
    "g1.send('s'), next(g1), await anext(a1)",
    "('s', 1, 1)",
  ],
  "iterators": [
    "import itertools, re\nc = itertools.cycle([1, 2, 3]); next(c); t, u = itertools.tee(range(5)); next(t)\nd = iter({1: 1, 2: 2}.items()); next(d); m = re.finditer('a', 'banana'); next(m); e = enumerate('xyz'); next(e)",
    "next(c), next(t), next(u), next(d), next(m).start(), next(e)",
    "(2, 1, 0, (2, 2), 3, (1, 'y'))",
  ],
  "os.environ, in Python and in C": [
    "import os, ctypes\nos.environ['X'] = '1'; del os.environ['HOME']\ngetenv = ctypes.CDLL(None).getenv; getenv.restype = ctypes.c_char_p",
    "os.environ['X'], os.environ.get('HOME'), getenv(b'X')",
    "('1', None, b'1')",
  ],
  "settings of sys": [
    "import sys\nsys.path.insert(0, '/x'); sys.argv = ['z']; sys.setrecursionlimit(321); sys.set_int_max_str_digits(0); sys.excepthook = print",
    "sys.path[0], sys.argv, sys.getrecursionlimit(), sys.get_int_max_str_digits(), sys.excepthook is print",
    "('/x', ['z'], 321, 0, True)",
  ],
  "the umask": ["import os; os.umask(0o27)", "oct(os.umask(0))", "'0o27'"],
  "warnings that are shown once": [
    "import warnings, io, contextlib\ndef warn():\n    with contextlib.redirect_stderr(io.StringIO()) as shown: warnings.warn('once')\n    return shown.getvalue() != ''\nfirst = warn()",
    "first, warn()",
    "(True, False)",
  ],
  "handlers of logging": [
    "import logging, io\ntext = io.StringIO(); log = logging.getLogger('a.b'); log.setLevel('INFO')\nfile = logging.FileHandler('log'); log.addHandler(file); log.addHandler(logging.StreamHandler(text)); log.info('one')",
    "log.info('two') or (text.getvalue(), open('log').read())",
    "('one\\ntwo\\n', 'one\\ntwo\\n')",
  ],
  "temporary files": [
    "import os, tempfile\nf = tempfile.NamedTemporaryFile('w+'); f.write('abc'); d = tempfile.TemporaryDirectory(); s = tempfile.SpooledTemporaryFile(); s.write(b'x')",
    "f.seek(0), f.read(), os.path.exists(f.name), d.cleanup() or os.path.exists(d.name), s.tell()",
    "(0, 'abc', True, False, 1)",
  ],
  "a database in memory, with a transaction, a cursor and a function": [
    "import sqlite3\ndb = sqlite3.connect(':memory:'); db.execute('create table t(x)'); db.executemany('insert into t values(?)', [(1,), (2,)]); db.commit()\ndb.execute('insert into t values(3)'); rows = db.execute('select x from t order by x'); rows.fetchone(); db.create_function('twice', 1, lambda v: 2 * v)",
    "db.in_transaction, rows.fetchone(), db.execute('select twice(21)').fetchone(), db.rollback() or db.execute('select count(*) from t').fetchone()",
    "(True, (2,), (42,), (2,))",
  ],
  "a database in a file, in a transaction": [
    "import sqlite3\ndb = sqlite3.connect('x.db'); db.execute('create table t(x)'); db.commit(); db.execute('insert into t values(1)')",
    "sqlite3.connect('x.db').execute('select * from t').fetchall(), db.commit() or sqlite3.connect('x.db').execute('select * from t').fetchall()",
    "([], [(1,)])",
  ],
  "archives that are half read or half written": [
    "import zipfile, gzip, lzma, zlib, tarfile\nwith zipfile.ZipFile('z', 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('a', 'x' * 10000)\nm = zipfile.ZipFile('z').open('a'); m.read(100)\nw = gzip.open('g', 'wb'); w.write(b'q' * 5000); t = tarfile.open('t', 'w'); t.add('z')\nc = zlib.compressobj(); head = c.compress(b'abc' * 100); l = lzma.LZMACompressor(); part = l.compress(b'k' * 99)",
    "len(m.read()), w.close() or len(gzip.open('g').read()), t.close() or tarfile.open('t').getnames(), len(zlib.decompress(head + c.flush())), len(lzma.decompress(part + l.flush()))",
    "(9900, 5000, ['z'], 300, 99)",
  ],
  "a loop of asyncio with tasks, a queue and a future": [
    "import asyncio\nq, seen = asyncio.Queue(), []\nasync def work():\n    while True:\n        seen.append(await q.get()); q.task_done()\nt = asyncio.create_task(work()); await q.put(1); await asyncio.sleep(0)\nloop = asyncio.get_running_loop(); f = loop.create_future(); s = asyncio.create_task(asyncio.sleep(0.02, 'slept'))",
    "await q.put(2) or await q.join() or f.set_result(5) or (seen, await f, t.done(), await s, asyncio.get_running_loop() is loop)",
    "([1, 2], 5, False, 'slept', True)",
  ],
  "context variables": [
    "import contextvars\nv = contextvars.ContextVar('v', default=0); token = v.set(5); c = contextvars.copy_context(); c.run(v.set, 9)",
    "v.get(), c[v], v.reset(token) or v.get()",
    "(5, 9, 0)",
  ],
  "weak references and finalizers": [
    "import weakref, gc\nclass K: pass\nk, fired = K(), []; r = weakref.ref(k); weakref.finalize(k, fired.append, 1); d = weakref.WeakValueDictionary(a=k); gc.disable()",
    "r() is k, len(d), gc.isenabled(), globals().pop('k') and None, r(), fired, len(d)",
    "(True, 1, False, None, None, [1], 0)",
  ],
  "objects of ctypes, at their addresses": [
    "import ctypes\nclass P(ctypes.Structure): _fields_ = [('x', ctypes.c_int)]\np = P(1); pointer = ctypes.pointer(p); at = ctypes.addressof(p); strlen = ctypes.CDLL(None).strlen",
    "setattr(pointer.contents, 'x', 9) or (p.x, ctypes.c_int.from_address(at).value, strlen(b'abcd'))",
    "(9, 9, 4)",
  ],
  "contexts of decimal": [
    "import decimal\ndecimal.getcontext().prec = 7; decimal.getcontext().rounding = 'ROUND_UP'",
    "decimal.Decimal(1) / 3, decimal.getcontext().flags[decimal.Inexact]",
    "(Decimal('0.3333334'), True)",
  ],
  "the locale and the zone": [
    "import locale, os, time\nlocale.setlocale(locale.LC_CTYPE, 'C.UTF-8'); os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()",
    "locale.setlocale(locale.LC_CTYPE), time.strftime('%H', time.localtime(0)), time.tzname",
    "('C.UTF-8', '09', ('JST', 'JST'))",
  ],
  "handlers of signals": [
    "import signal; hits = []; signal.signal(signal.SIGUSR1, lambda *_: hits.append(1))",
    "signal.raise_signal(signal.SIGUSR1) or hits",
    "[1]",
  ],
  "locks, thread-local data and results of threads": [
    "import threading\nlock = threading.Lock(); lock.acquire(); local = threading.local(); local.x = 1; out = []\nt = threading.Thread(target=out.append, args=(1,)); t.start(); t.join(); event = threading.Event(); event.set()",
    "lock.locked(), local.x, out, t.is_alive(), event.is_set(), threading.active_count()",
    "(True, 1, [1], False, True, 1)",
  ],
  "child processes that were killed": [
    "import subprocess, sys\nslow = [sys.executable, '-c', 'try:\\n    while True: pass\\nfinally: open(\"end\", \"w\").close()']\ntry: subprocess.run(slow, timeout=0.1)\nexcept subprocess.TimeoutExpired: pass\np = subprocess.Popen(slow); p.kill()",
    "p.wait(), subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout",
    "(-9, b'1\\n')",
  ],
  "order and hashes of sets, and interned text": [
    "import sys\ns = {'b', 'a', 'c', 'zz'}; order = list(s); i = sys.intern('hello world!')",
    "list(s) == order, list({'b', 'a', 'c', 'zz'}) == order, sys.intern('hello' + ' world!') is i",
    "(True, True, True)",
  ],
  "functions of sys.settrace, sys.monitoring and cProfile": [
    "import sys, cProfile\nseen = []; m = sys.monitoring; m.use_tool_id(1, 't'); m.register_callback(1, m.events.PY_START, lambda c, _: seen.append(c.co_name)); m.set_events(1, m.events.PY_START); p = cProfile.Profile()\ndef called(): return 1",
    "called(), 'called' in seen, m.set_events(1, 0)",
    "(1, True, None)",
  ],
  "exceptions with their traceback and source": [
    "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError as error: saved = error",
    "traceback.format_exception(saved)[1].splitlines()[-2].strip()",
    "'try: 1 / 0'",
  ],
  "half a character of a decoder, and text that was not flushed": [
    "import codecs, sys\nd = codecs.getincrementaldecoder('utf-8')(); d.decode(b'\\xc3'); f = open('f', 'w', encoding='utf-16'); f.write('x')",
    "d.decode(b'\\xa9'), f.close() or open('f', 'rb').read()",
    "('é', b'\\xff\\xfex\\x00')",
  ],
  "hashes that are half computed": [
    "import hashlib\nh = hashlib.sha256(b'ab'); m = hashlib.new('md5', b'q')",
    "h.update(b'c') or h.hexdigest() == hashlib.sha256(b'abc').hexdigest(), m.update(b'r') or m.hexdigest() == hashlib.md5(b'qr').hexdigest()",
    "(True, True)",
  ],
  "200 open files": [
    "files = [open(f'f{i}', 'w+') for i in range(200)]\nfor i, f in enumerate(files): f.write('x' * i); f.seek(i // 2)",
    "sum(len(f.read()) for f in files)",
    "10000",
  ],
  "as many open files as there can be": [
    "import os\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', os.O_RDWR))\nexcept OSError: pass",
    "len(fds) > 4000, sum(os.write(fd, b'x') for fd in fds) == len(fds), [os.close(fd) for fd in fds] and None",
    "(True, True, None)",
  ],
  "files with names that JavaScript's objects have": [
    "names = ['constructor', '__proto__', 'toString', 'a\\nb', '\\u00e9', '12', '.x', 'x' * 255]\nfor name in names: open(name, 'w').write(name)",
    "import os; (sorted(os.listdir('.')) == sorted(names), all(open(name).read() == name for name in names))",
    "(True, True)",
  ],
  "links that lead nowhere, outside, or to themselves": [
    "import os\nos.symlink('loop', 'loop'); os.symlink('/etc/passwd', 'out'); os.symlink('../../../..', 'up')",
    "os.readlink('loop'), os.readlink('out'), os.readlink('up'), os.path.exists('out')",
    "('loop', '/etc/passwd', '../../../..', False)",
  ],
  "stdin, which ends with its exec": [
    "import sys; line = input(); part = sys.stdin.read(3)",
    "line, part, sys.stdin.read()",
    "('first', 'sec', '')",
  ],
  "an alarm, which ends with its exec": [
    "import signal; hits = []; signal.signal(signal.SIGALRM, lambda *_: hits.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)",
    "__import__('time').sleep(0.05) or signal.setitimer(signal.ITIMER_REAL, 0)",
    "(0.0, 0.0)",
  ],
};

Deno.test("Python's state goes on in the session, after restore(), in a fork and in another process", async (t) => {
  const profile = await loadProfile("python");
  await using pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });
  await using others = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  const show = (result: ExecResult) => result.status === "ok" ? result.value : JSON.stringify(result);
  for (const [name, [program, goesOn, expected]] of Object.entries(STATES)) {
    await t.step(name, async () => {
      await using lease = await pool.acquire();
      const { session } = lease;
      const begun = await session.exec(program, { stdin: "first\nsecond\nthird" });
      assertEquals(begun.status, "ok", JSON.stringify(begun));
      const checkpoint = await session.checkpoint();
      const [fork] = await session.fork(1);
      const continued = [fork && show(await fork.session.exec(goesOn)), show(await session.exec(goesOn))];
      await fork?.[Symbol.asyncDispose]();
      await session.exec("import gc; waste = [bytes(999) for _ in range(9999)]; del waste; gc.collect()");
      await session.restore(checkpoint);
      continued.push(show(await session.exec(goesOn)));
      await using other = await others.acquire({ from: checkpoint });
      continued.push(show(await other.session.exec(goesOn)));
      assertEquals(continued, Array(4).fill(expected));
    });
  }
});

/** What a session may have that no checkpoint has, with a part of the reason. */
const REFUSED: Record<string, [program: string, reason: string]> = {
  "a thread": ["import threading; threading.Timer(99, print).start()", "no thread and no child process"],
  "an idle executor": [
    "from concurrent.futures import ThreadPoolExecutor; e = ThreadPoolExecutor(1); e.submit(int).result()",
    "shut executors down",
  ],
  "a child process": [
    "import subprocess; p = subprocess.Popen(['python', '-c', 'import time; time.sleep(99)'])",
    "no child process",
  ],
  "a pipe": ["import os; ends = os.pipe()", "is a pipe"],
  "a position that no file can have": [
    "import os; fd = os.open('x', os.O_CREAT | os.O_RDWR); at = os.lseek(fd, 2**53, 0)",
    "no session could restore it",
  ],
  "a callback of C": ["import ctypes; f = ctypes.CFUNCTYPE(None)(print)", "callbacks of ctypes"],
};

Deno.test("a checkpoint is refused with the reason while the session has what no checkpoint has", async (t) => {
  await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1, resetMode: "rewind" });
  for (const [name, [program, reason]] of Object.entries(REFUSED)) {
    await t.step(name, async () => {
      await using lease = await pool.acquire();
      assertEquals((await lease.session.exec(`kept = 1; ${program}`)).status, "ok");
      const { code, message } = await assertRejects(() => lease.session.checkpoint(), CheckpointError);
      assertEquals(code, "checkpoint_refused");
      assertStringIncludes(message, reason);
      const next = await lease.session.exec("kept");
      assertEquals(next.status === "ok" && next.value, "1");
    });
  }
});

const NUMPY = `
import sys, types
def seed(value): %
numpy = types.ModuleType('numpy.random'); numpy.seed = seed; sys.modules['numpy.random'] = numpy
`;

/** What a program may have replaced when its session is forked, which gives the random numbers of the copy a seed. */
const REPLACED: Record<string, string> = {
  "len": "import builtins; length = len; builtins.len = lambda value: length(value) + 1",
  "functions of json": "import json\nfor name in ('loads', '_default_decoder'): setattr(json, name, None)",
  "functions of random": "random.Random.seed = random.seed = None",
  "a tracer that prints":
    "import sys; sys.settrace(lambda frame, event, _: print(frame.f_code.co_name, event))",
  "a callback of the garbage collector that prints":
    "import gc; gc.callbacks.append(print); gc.set_threshold(1)",
  "a numpy.random that prints": NUMPY.replace("%", "print('seed' * 99_999)"),
  "a numpy.random that exits": NUMPY.replace("%", "raise SystemExit(3)"),
};

Deno.test("fork() seeds copies whatever the program has replaced, and shows none of its output", async (t) => {
  await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 2, resetMode: "rewind" });
  for (const [name, program] of Object.entries(REPLACED)) {
    await t.step(name, async () => {
      await using lease = await pool.acquire();
      await lease.session.exec(`import random\n${program}`);
      const drawn = [];
      for (const seed of [7, 7, 8]) {
        const [copy] = await lease.session.fork(1, { seed });
        assert(copy);
        const result = await copy.session.exec("import sys; sys.settrace(None); random.random()");
        drawn.push(result.status === "ok" ? result.value : JSON.stringify(result));
        assert(!result.stdout.includes("_seed") && result.stdout.length < 9_999, result.stdout);
        await copy[Symbol.asyncDispose]();
      }
      const [first, second, other] = drawn;
      assertEquals(first, "0.32383276483316237");
      assertEquals(second, first);
      assertNotEquals(other, first);
    });
  }
});
