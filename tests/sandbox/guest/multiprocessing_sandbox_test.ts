import { assertEquals, assertStringIncludes } from "@std/assert";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const TIMEOUT_MS = 120_000;

/** Programs, and what CPython 3.14 on Linux prints for each. */
const PROGRAMS: Record<string, [program: string, stdout: string]> = {
  "multiprocessing.Process shares nothing with its parent": [
    String.raw`import multiprocessing as mp, os, sys
counter, items = 0, []
def work(x, q):
    global counter
    counter += x
    items.append(x)
    os.environ["A"] = str(x)
    os.chdir("/tmp")
    os.unlink = None
    sys.path.append("zzz")
    sys.modules["json"] = None
    q.put((os.getpid() != os.getppid(), mp.current_process().name, counter, items))
def fail(): raise ValueError("oops")
def leave(n): sys.exit(n)
def loop():
    while True: pass
if __name__ == "__main__":
    q = mp.Queue()
    p = mp.Process(target=work, args=(3, q))
    p.start(); print(q.get()); p.join(); print(p.exitcode, p.is_alive(), p.name, p.daemon)
    import json
    print(counter, items, os.environ.get("A"), os.getcwd() == "/tmp", os.unlink is None, "zzz" in sys.path, mp.get_start_method())
    for target, args in ((fail, ()), (leave, (7,)), (leave, ("text",))):
        p = mp.Process(target=target, args=args); p.start(); p.join(); print(p.exitcode)
    p = mp.Process(target=loop); p.start(); p.join(0.05); print(p.is_alive(), p.exitcode); p.kill(); p.join(); print(p.exitcode)
    p = mp.Process(target=loop); p.start(); p.terminate(); p.join(); print(p.exitcode)
    ctx = mp.get_context("fork")
    x, d = [1], {"a": 1}
    def local(q, x):
        global counter
        x.append(2); d["a"] = 2; counter = 5
        q.put((x, d, counter))
    q = ctx.Queue(); p = ctx.Process(target=local, args=(q, x)); p.start(); print(q.get(), x, d, counter); p.join(); print(x, d, counter, p.exitcode)
    print(mp.active_children(), mp.current_process().name)
`,
    String.raw`(True, 'Process-1', 3, [3])
0 False Process-1 False
0 [] None False False False forkserver
1
7
1
True None
-9
-15
([1, 2], {'a': 2}, 5) [1] {'a': 1} 0
[1] {'a': 1} 0 0
[] MainProcess
`,
  ],
  "multiprocessing has pools, managers and shared values": [
    String.raw`import multiprocessing as mp, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import ThreadPool
total = 0
def square(x): return x * x
def add(a, b): return a + b
def fail(x): raise KeyError(x)
def init(x):
    global total
    total = x
def get_total(_): return total
if __name__ == "__main__":
    with mp.Pool(2, initializer=init, initargs=(9,)) as pool:
        print(pool.map(square, range(5)), pool.starmap(add, [(1, 2), (3, 4)]), pool.map(get_total, range(2)), total)
        print(list(pool.imap(square, range(3))), sorted(pool.imap_unordered(square, range(3))), pool.apply(add, (1, 2)))
        r = pool.map_async(abs, [-1, -2], callback=print); r.wait(); print(r.get(), r.successful())
        try: pool.map(fail, [3])
        except KeyError as e: print("KeyError", e, type(e.__cause__).__name__)
        try: pool.apply_async(time.sleep, (60,)).get(timeout=0.05)
        except mp.TimeoutError: print("timeout")
    with ThreadPool(3) as pool: print(pool.map(len, ["a", "bc"]))
    with mp.Manager() as m:
        d, l, n, v = m.dict(), m.list(range(3)), m.Namespace(), m.Value("i", 3)
        d["a"] = [1]; l.append(5); n.x = 1; v.value += 1
        print(d, l, n.x, v.value, len(l), m.Queue().empty(), m.Event().is_set(), m.Lock().acquire(), m.Array("i", [1, 2])[1])
    with ProcessPoolExecutor(2) as ex:
        print(list(ex.map(square, range(3))), ex.submit(add, 1, 2).result(), type(ex.submit(fail, 1).exception()).__name__)
`,
    String.raw`[0, 1, 4, 9, 16] [3, 7] [9, 9] 0
[0, 1, 4] [0, 1, 4] 3
[1, 2]
[1, 2] True
KeyError 3 RemoteTraceback
timeout
[1, 2]
{'a': [1]} [0, 1, 2, 5] 1 4 4 True False True 2
[0, 1, 4] 3 KeyError
`,
  ],
  "multiprocessing has locks, queues and pipes": [
    String.raw`import multiprocessing as mp, os, queue, signal, sys, time
class Worker(mp.Process):
    def __init__(self, conn):
        super().__init__(name="w", daemon=True)
        self.conn = conn
    def run(self):
        self.conn.send([self.name, self.daemon, mp.parent_process().name])
        self.conn.send(self.conn.recv() * 2)
        self.conn.close()
def add(lock, value, array, n):
    for i in range(n):
        with lock:
            value.value += 1
        with array.get_lock():
            array[i % 2] += 1
def meet(barrier, event, q, cond, value):
    event.wait()
    q.put(barrier.wait() >= 0)
    with cond:
        value.value = 5
        cond.notify_all()
def consume(q, out):
    while True:
        item = q.get()
        q.task_done()
        if item is None: break
        out.append(item * 10)
def alarmed(q):
    def handler(n, f): raise TimeoutError("alarm")
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        while True: pass
    except TimeoutError as e: q.put(str(e))
    signal.signal(signal.SIGTERM, lambda n, f: sys.exit(12))
    q.put(1)
    time.sleep(60)
if __name__ == "__main__":
    a, b = mp.Pipe()
    w = Worker(b); w.start(); b.close()
    print(a.recv()); a.send(21); print(a.recv())
    try: a.recv()
    except EOFError: print("EOF")
    lock, v, arr = mp.Lock(), mp.Value("i", 0), mp.Array("i", 2)
    ps = [mp.Process(target=add, args=(lock, v, arr, 20)) for _ in range(2)]
    for p in ps: p.start()
    for p in ps: p.join()
    print(v.value, arr[:], [p.exitcode for p in ps])
    bar, ev, q, cond = mp.Barrier(2), mp.Event(), mp.Queue(), mp.Condition()
    with cond:
        p = mp.Process(target=meet, args=(bar, ev, q, cond, v)); p.start()
        ev.set(); bar.wait(); print(q.get(), cond.wait_for(lambda: v.value == 5, 60))
    p.join()
    m = mp.Manager(); out = m.list(); jq = mp.JoinableQueue()
    p = mp.Process(target=consume, args=(jq, out)); p.start()
    for i in (0, 1, None): jq.put(i)
    jq.join(); p.join(); print(list(out))
    p = mp.Process(target=alarmed, args=(q,)); p.start(); print(q.get(), q.get()); p.terminate(); p.join(); print(p.exitcode)
    p = mp.Process(target=signal.alarm, args=(0,)); p.start(); p.join(); print(p.exitcode)
    sem = mp.Semaphore(2); print(sem.acquire(), sem.acquire(), sem.acquire(False), sem.get_value(), sem.acquire(timeout=0.01))
    for f in (mp.RLock().release, mp.BoundedSemaphore(1).release, mp.Lock().release):
        try: f()
        except Exception as e: print(type(e).__name__, e)
    try: mp.Process(target=lambda: 1).start()
    except Exception as e: print(type(e).__name__)
    try: q.get(timeout=0.01)
    except queue.Empty: print("Empty")
    sq = mp.SimpleQueue(); sq.put(1); print(sq.get(), sq.empty())
    p = mp.get_context("spawn").Process(target=os._exit, args=(3,)); p.start(); p.join(); print(p.exitcode)
`,
    String.raw`['w', True, 'MainProcess']
42
EOF
40 [20, 20] [0, 0]
True True
[0, 10]
alarm 1
12
0
True True False 0 False
AssertionError attempt to release recursive lock not owned by thread
ValueError semaphore or lock released too many times
ValueError semaphore or lock released too many times
PicklingError
Empty
1 True
3
`,
  ],
};

for (const [name, [program, stdout]] of Object.entries(PROGRAMS)) {
  Deno.test(`${name}, as CPython does`, async () => {
    await withSession(async (session) => {
      const result = await session.exec(program, { argv: ["main.py"], timeoutMs: TIMEOUT_MS });
      assertEquals([result.status, result.stdout], ["ok", stdout], result.stderr);
    });
  });
}

/** A grader as many projects have it. The functions are in a block, which no other process could import. */
const GRADER = `
import contextlib, io, multiprocessing, os, signal, tempfile

class Late(Exception): pass

@contextlib.contextmanager
def limit(seconds):
    def stop(signum, frame): raise Late
    signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGALRM, stop)
    try: yield
    finally: signal.setitimer(signal.ITIMER_REAL, 0)

def guard():
    import builtins, faulthandler, shutil, subprocess, sys
    faulthandler.disable()
    builtins.exit = builtins.quit = None
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("kill", "system", "putenv", "remove", "rmdir", "unlink", "rename", "getcwd", "chdir"): setattr(os, name, None)
    shutil.rmtree = subprocess.Popen = None
    for name in ("ipdb", "joblib", "resource"): sys.modules[name] = None

def execute(program, seconds, result):
    with tempfile.TemporaryDirectory() as folder:
        import shutil
        kept = shutil.rmtree, os.rmdir, os.chdir, os.getcwd()
        os.chdir(folder)
        guard()
        try:
            with contextlib.redirect_stdout(io.StringIO()), limit(seconds): exec(program, {})
            result.append("passed")
        except Late: result.append("timed out")
        except BaseException as error: result.append(f"failed: {error}")
        shutil.rmtree, os.rmdir, os.chdir, home = kept
        os.chdir(home)

def check(program, seconds=20.0):
    result = multiprocessing.Manager().list()
    process = multiprocessing.Process(target=execute, args=(program, seconds, result))
    process.start()
    process.join(timeout=seconds + 1)
    if process.is_alive(): process.kill()
    if not result: result.append("timed out")
    return result[0]
`;
const INTACT =
  "os.unlink, os.getcwd() == home, exit, __import__('shutil').rmtree, 'ipdb' in __import__('sys').modules";

Deno.test("multiprocessing.Process undoes what a grader's guard disables", async () => {
  await withSession(async (session) => {
    const code = `${GRADER}
home = os.getcwd()
programs = ["1", "assert False, 'no'", "raise SystemExit(3)", "print(input)"]
verdicts = [check(programs[i % 4]) for i in range(12)]
before = [name for name in (${INTACT})]
verdicts[:4], verdicts[4:8] == verdicts[:4], verdicts[8:] == verdicts[:4], str(before)`;
    const result = await session.exec(code, { timeoutMs: TIMEOUT_MS });
    assertStringIncludes(
      value(result) ?? "",
      "(['passed', 'failed: no', 'failed: 3', 'passed'], True, True, '[<built-in function unlink>, True, Use exit()",
    );
    assertEquals("value" in result && String(result.value).endsWith("False]')"), true);
  });
});

Deno.test("multiprocessing.Process.kill() and alarms end programs that never end", async () => {
  await withSession(async (session) => {
    const code = `${GRADER}
from concurrent.futures import ThreadPoolExecutor
loops = ["while True: pass", "import time; time.sleep(60)", "while True:\\n  try:\\n    while True: pass\\n  except BaseException: pass"]
with ThreadPoolExecutor(4) as pool: verdicts = list(pool.map(lambda program: check(program, 0.3), loops))
verdicts, check("1"), multiprocessing.active_children()`;
    const result = await session.exec(code.replaceAll("\\\\n", "\\n"), { timeoutMs: TIMEOUT_MS });
    assertEquals(value(result), "(['timed out', 'timed out', 'timed out'], 'passed', [])");
  });
});
