import { assertEquals } from "@std/assert";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const SETUP = `import ctypes, queue, signal, sys, threading, time
class Stop(Exception): pass
def run(call):
  thread = threading.Thread(target=call, name="T")
  thread.start()
  thread.join()
got = []
def note(number, frame): got.append(threading.current_thread().name)
def fail(*_): raise Stop
def outcome(call):
  try: return call()
  except BaseException as error: return type(error).__name__
def wait_for_stop():
  try:
    while True: time.sleep(0.001)
  except Stop: got.append(threading.current_thread().name)
`;

/** Expressions after `SETUP`, with the values of CPython on Linux. */
const VALUES: readonly (readonly [name: string, code: string, value: string])[] = [
  [
    "the handler of a signal runs in the main thread",
    "signal.signal(signal.SIGUSR1, note)\nrun(lambda: signal.raise_signal(signal.SIGUSR1))\ngot",
    "['MainThread']",
  ],
  [
    "signal.signal() raises outside of the main thread",
    "run(lambda: got.append(outcome(lambda: signal.signal(signal.SIGUSR1, note))))\ngot",
    "['ValueError']",
  ],
  [
    "signal.signal() returns the previous handler",
    "[signal.signal(signal.SIGUSR2, each) in (each, note, 0) for each in (note, signal.SIG_DFL)], " +
    "signal.getsignal(signal.SIGINT) is signal.default_int_handler",
    "([True, True], True)",
  ],
  [
    "signal.pause() waits for a signal",
    "signal.signal(signal.SIGALRM, note)\nsignal.setitimer(0, 0.02)\nsignal.pause()\ngot",
    "['MainThread']",
  ],
  [
    "an alarm ends a wait for a lock that no thread releases",
    "signal.signal(signal.SIGALRM, fail)\nlock = threading.Lock()\nlock.acquire()\nsignal.setitimer(0, 0.02)\n" +
    "outcome(lock.acquire)",
    "'Stop'",
  ],
  [
    "signal.pthread_kill() sends a signal to a thread of the program",
    "signal.signal(signal.SIGUSR1, note)\nsignal.pthread_kill(threading.get_ident(), signal.SIGUSR1)\ngot",
    "['MainThread']",
  ],
  [
    "PyThreadState_SetAsyncExc() raises in the named thread",
    `t = threading.Thread(target=wait_for_stop, name="T")
t.start()
n = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(t.ident), ctypes.py_object(Stop))
t.join()
n, got`,
    "(1, ['T'])",
  ],
  [
    "sys._current_exceptions() and _current_frames() have an entry for each thread",
    `t = threading.Thread(target=wait_for_stop)
t.start()
time.sleep(0.002)
r = [sorted(each) == sorted({threading.get_ident(), t.ident}) for each in (sys._current_exceptions(), sys._current_frames())]
r.append(sys._current_frames()[t.ident].f_code.co_name)
ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(t.ident), ctypes.py_object(Stop))
t.join()
r`,
    "[True, True, 'wait_for_stop']",
  ],
  [
    "threading.get_native_id() begins at the id of the process",
    "import os\nrun(lambda: got.append(threading.current_thread().native_id - os.getpid() > 0))\n" +
    "threading.get_native_id() == os.getpid(), got",
    "(True, [True])",
  ],
  [
    "queue.SimpleQueue passes items between threads",
    `q = queue.SimpleQueue()
t = threading.Thread(target=lambda: [got.append(q.get()) for _ in range(3)])
t.start()
for n in range(3): q.put(n)
t.join()
got, q.empty(), q.qsize(), outcome(q.get_nowait), outcome(lambda: q.get(timeout=0.001)),\\
outcome(lambda: q.get(timeout=-1)), outcome(lambda: q.get(False, -1))`,
    "([0, 1, 2], True, 0, 'Empty', 'Empty', 'ValueError', 'Empty')",
  ],
  [
    "select.select() and poll() wait, and let other threads run",
    `import os, select, selectors
t = threading.Thread(target=lambda: (time.sleep(0.01), got.append("ran")))
t.start()
r = [select.select([], [], [], 0.05), list(got), select.poll().poll(1), selectors.DefaultSelector().select(0.001)]
r`,
    "[([], [], []), ['ran'], [], []]",
  ],
  [
    "an alarm ends select.select()",
    "import select\nsignal.signal(signal.SIGALRM, fail)\nsignal.setitimer(0, 0.02)\n" +
    "outcome(lambda: select.select([], [], [], 10)), outcome(lambda: select.select([], [], [], -1))",
    "('Stop', 'ValueError')",
  ],
  [
    "a trace function that raises ends the thread only",
    `def fail_always(*_): raise Stop
hook, sys.unraisablehook = sys.unraisablehook, lambda args: got.append("unraisable")
for set_function in (sys.settrace, sys.setprofile):
  threading.excepthook = lambda args: got.append(args.exc_type.__name__)
  run(lambda: set_function(fail_always))
  got.append("joined")
sys.unraisablehook = hook
[each for each in got if each == "joined"]`,
    "['joined', 'joined']",
  ],
  [
    "the standard streams have CPython's names",
    "sys.stdin.name, sys.stdout.name, sys.stderr.name",
    "('<stdin>', '<stdout>', '<stderr>')",
  ],
  [
    "lock.acquire() rejects NaN",
    "outcome(lambda: threading.Lock().acquire(timeout=float('nan')))",
    "'ValueError'",
  ],
];

Deno.test("signals and threads behave as on Linux", async (t) => {
  await withSession(async (session) => {
    for (const [name, code, expected] of VALUES) {
      await t.step(name, async () => assertEquals(value(await session.exec(SETUP + code)), expected));
    }
  });
});
