import { assertEquals, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { hostTool, loadProfile } from "../../../mod/sandbox.ts";
import { withPython } from "../../server/with_python.ts";
import { withSession } from "../shared_session.ts";
import { traceback, value } from "../started.ts";

/** Programs with threads, and the value of each. */
const PROGRAMS: Record<string, [code: string, result: string]> = {
  "Thread and join()": [
    "import threading\nr = []\ndef f(i):\n  if i < 2: ts[i + 1].join()\n  r.append(i)\n" +
    "ts = [threading.Thread(target=f, args=(i,)) for i in range(3)]\nfor t in reversed(ts): t.start()\nfor t in ts: t.join()\nr",
    "[2, 1, 0]",
  ],
  "join() with a timeout": [
    "import threading, time\nt = threading.Thread(target=time.sleep, args=(0.1,))\nt.start()\nt.join(0.01)\n" +
    "a = t.is_alive()\nt.join()\na, t.is_alive()",
    "(True, False)",
  ],
  "a consumer that is started before its producer": [
    "import threading, queue\nq, r = queue.Queue(), []\ndef f():\n  while (x := q.get()) is not None: r.append(x)\n" +
    "t = threading.Thread(target=f)\nt.start()\nfor i in range(3): q.put(i)\nq.put(None)\nt.join()\nr",
    "[0, 1, 2]",
  ],
  "Event and Timer": [
    "import threading\ne = threading.Event()\nthreading.Timer(0.02, e.set).start()\ne.wait(5)",
    "True",
  ],
  "Barrier": [
    "import threading\nb, r = threading.Barrier(3), []\ndef f(i): r.append(b.wait())\n" +
    "ts = [threading.Thread(target=f, args=(i,)) for i in range(3)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nsorted(r)",
    "[0, 1, 2]",
  ],
  "Condition": [
    "import threading\nc, r = threading.Condition(), []\ndef f():\n  with c:\n    c.wait_for(lambda: r)\n    r.append(2)\n" +
    "t = threading.Thread(target=f)\nt.start()\nwith c: r.append(1); c.notify_all()\nt.join()\nr",
    "[1, 2]",
  ],
  "Semaphore and RLock": [
    "import threading\ns, l, n = threading.Semaphore(2), threading.RLock(), 0\ndef f():\n  global n\n  with s, l, l: n += 1\n" +
    "ts = [threading.Thread(target=f) for _ in range(20)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nn",
    "20",
  ],
  "local": [
    "import threading\nd, r = threading.local(), []\nd.x = 1\ndef f(): r.append(hasattr(d, 'x'))\n" +
    "t = threading.Thread(target=f)\nt.start()\nt.join()\nr, d.x",
    "([False], 1)",
  ],
  "excepthook": [
    "import threading\nr = []\nthreading.excepthook = lambda a: r.append((a.exc_type.__name__, a.thread.name))\n" +
    "t = threading.Thread(target=lambda: 1 / 0, name='w')\nt.start()\nt.join()\nthreading.excepthook = threading.__excepthook__\nr",
    "[('ZeroDivisionError', 'w')]",
  ],
  "identities and frames": [
    "import sys, threading\nr = []\ndef f(): r.append((threading.get_ident(), threading.current_thread().name, len(sys._current_frames())))\n" +
    "t = threading.Thread(target=f, name='w')\nt.start()\nt.join()\nr[0][0] != threading.get_ident(), r[0][1:], threading.enumerate() == [threading.main_thread()]",
    "(True, ('w', 2), True)",
  ],
  "settrace()": [
    "import threading\nr = []\nthreading.settrace(lambda frame, event, arg: r.append(event))\n" +
    "t = threading.Thread(target=lambda: 1)\nt.start()\nt.join()\nthreading.settrace(None)\nlen(r) > 0",
    "True",
  ],
  "ThreadPoolExecutor": [
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as p: r = list(p.map(lambda x: x * x, range(5)))\nr",
    "[0, 1, 4, 9, 16]",
  ],
  "asyncio.to_thread()": [
    "import asyncio, time\nasync def f(): return await asyncio.gather(asyncio.to_thread(lambda: time.sleep(0.03) or 1), asyncio.sleep(0.01, 2))\nasyncio.run(f())",
    "[1, 2]",
  ],
  "run_in_executor()": [
    "import asyncio\nawait asyncio.get_running_loop().run_in_executor(None, lambda: 7)",
    "7",
  ],
  "asyncio.run() in three threads": [
    "import asyncio, threading\nr = []\ndef f(): r.append(asyncio.run(asyncio.sleep(0.01, 4)))\n" +
    "ts = [threading.Thread(target=f) for _ in range(3)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nr",
    "[4, 4, 4]",
  ],
  "sched": [
    "import sched\ns, r = sched.scheduler(), []\ns.enter(0.01, 1, r.append, (1,))\ns.run()\nr",
    "[1]",
  ],
  "a loop without a call, which is preempted": [
    "import threading\nstop = False\ndef f():\n  while not stop: pass\nt = threading.Thread(target=f)\nt.start()\n" +
    "for _ in range(10**5): pass\nstop = True\nt.join()\n1",
    "1",
  ],
  "a context variable per thread": [
    "import contextvars, threading\nv = contextvars.ContextVar('v', default=0)\nt = threading.Thread(target=v.set, args=(5,))\nt.start()\nt.join()\nv.get()",
    "0",
  ],
  "interrupt_main()": [
    "import _thread, threading, time\nthreading.Timer(0.02, _thread.interrupt_main).start()\n" +
    "try: time.sleep(5)\nexcept KeyboardInterrupt: r = 'interrupted'\nr",
    "'interrupted'",
  ],
  "500 threads": [
    "import threading, time\nn = 0\nl = threading.Lock()\ndef f():\n  global n\n  time.sleep(0.01)\n  with l: n += 1\n" +
    "ts = [threading.Thread(target=f) for _ in range(500)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nn",
    "500",
  ],
  "deep recursion in a thread with stack_size(2**27)": [
    `import functools, json, sys, threading
sys.setrecursionlimit(10**7)
threading.stack_size(2**27)
r = []
@functools.lru_cache(None)
def f(n): return 0 if n == 0 else 1 + f(n - 1)
def g(n): return 0 if n == 0 else 1 + g(n - 1)
def run():
    r.append((f(7500), g(1_000_000), len(json.loads("[" * 10**5 + "]" * 10**5)), eval("+".join(["1"] * 5001))))
    x = []
    for _ in range(10**5): x = [x]
    class Node: pass
    head = None
    for _ in range(10**6):
        node = Node(); node.next = head; head = node
t = threading.Thread(target=run)
t.start()
t.join()
threading.stack_size(0)
r`,
    "[(7500, 1000000, 1, 5001)]",
  ],
};

Deno.test("Session.exec() runs threads:", async (t) => {
  await withSession(async (session) => {
    for (const [name, [code, result]] of Object.entries(PROGRAMS)) {
      await t.step(
        name,
        async () => assertEquals(value(await session.exec(code, { timeoutMs: 60_000 })), result),
      );
    }
  });
});

Deno.test("Session.exec() continues the threads of the block before", async () => {
  await withSession(async (session) => {
    const start =
      "import threading, time\nn = 0\ndef f():\n  global n\n  while True: n += 1; time.sleep(0.001)\n";
    value(await session.exec(`${start}threading.Thread(target=f, daemon=True).start()`));
    assertEquals(value(await session.exec("before = n\ntime.sleep(0.1)\nn > before")), "True");
  });
});

Deno.test("Session.exec() reports a deadlock at once, with the names of the threads", async () => {
  await withSession(async (session) => {
    const code = "import threading\na, b = threading.Lock(), threading.Lock()\n" +
      "def take(x, y):\n  with x:\n    e.set(); e.wait()\n    with y: pass\n" +
      "e = threading.Event()\na.acquire()\nt = threading.Thread(target=a.acquire, name='other')\nt.start()\nt.join()";
    const result = await session.exec(code);
    assertStringIncludes(
      traceback(result),
      "RuntimeError: deadlock: no thread can continue: MainThread waits for the end of other; other waits for a lock",
    );
  });
});

Deno.test("Session.exec() interrupts threads and keeps the state", async () => {
  const spin =
    "import threading, time\nkept = 1\ndef f():\n  while True: pass\nt = threading.Thread(target=f, daemon=True)\nt.start()\n";
  await withSession(async (session) => {
    for (const end of ["t.join()", "while True: pass", "time.sleep(100)", "threading.Event().wait()"]) {
      const result = await session.exec(spin + end, { timeoutMs: 500 });
      assertEquals([result.status, result.stateKept], ["timeout", true], JSON.stringify(result));
      assertEquals(value(await session.exec("kept")), "1");
    }
  });
});

Deno.test("threading.Thread.start() raises RuntimeError beyond 1,000 threads", async () => {
  const code = `import threading
e, n = threading.Event(), 0
try:
    while True: threading.Thread(target=e.wait).start(); n += 1
except RuntimeError as error: text = str(error)
e.set()
n, text`;
  await withSession(async (session) => {
    assertEquals(value(await session.exec(code, { timeoutMs: 60_000 })), `(1000, "can't start new thread")`);
    assertEquals(value(await session.exec("6 * 7", { timeoutMs: 60_000 })), "42"); // the threads end meanwhile
  });
});

Deno.test("Session.reset() by 'rewind' ends threads and leaves nothing of them", async () => {
  const start =
    "import threading, time\nfor _ in range(30): threading.Thread(target=time.sleep, args=(100,)).start()";
  await withSession(async (session, sandbox) => {
    const { pid } = sandbox;
    for (let round = 0; round < 20; round++) {
      value(await session.exec(start));
      await session.reset({ mode: "rewind" });
      const left = "import threading, _thread\nthreading.active_count(), _thread._count()";
      assertEquals(value(await session.exec(left)), "(1, 0)");
    }
    assertEquals(sandbox.pid, pid, "the process was replaced");
  });
});

Deno.test("a callback of ctypes cannot leave its stack for another thread", async () => {
  const code = `import ctypes, threading, time
kind, r = ctypes.CFUNCTYPE(ctypes.c_int), []
def wait():
    try: t.join()
    except RuntimeError as error: r.append(str(error))
    for _ in range(10**5): pass
    return 3
t = threading.Thread(target=time.sleep, args=(0.05,))
t.start()
r.append(kind(wait)())
t.join()
r`;
  await withSession(async (session) => {
    const text = "['cannot run another thread inside a callback of ctypes', 3]";
    assertEquals(value(await session.exec(code)), text);
  });
});

Deno.test("paddock.tools may be called from several threads at once", async () => {
  let running = 0;
  let most = 0;
  const wait = hostTool({
    name: "wait",
    description: "",
    parameters: z.object({ n: z.number() }),
    run: async ({ n }) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 100));
      running--;
      return n;
    },
  });
  const code = `import threading
from concurrent.futures import ThreadPoolExecutor
from paddock import tools
with ThreadPoolExecutor(4) as pool: r = list(pool.map(lambda n: tools.wait(n=n), range(4)))
r`;
  await withSession(async (session) => {
    assertEquals(value(await session.exec(code, { tools: [wait] })), "[0, 1, 2, 3]");
    assertEquals(most, 4);
  }, { profile: await loadProfile("tools") });
});

Deno.test("/run_code waits for threads that are no daemons, and ends the others", async () => {
  const code = `import threading, time
def work(): time.sleep(0.1); print("worked")
def serve():
    while True: time.sleep(0.01)
threading.Thread(target=serve, daemon=True).start()
threading.Thread(target=work).start()
print("main ended")`;
  await withPython(async ({ send }) => {
    const { body } = await send("POST", "/run_code", { code, language: "python", run_timeout: 20 });
    assertEquals(body.run_result?.stdout, "main ended\nworked\n", JSON.stringify(body));
    assertEquals(body.run_result.return_code, 0);
  });
});

Deno.test("a program of the shell has threads", async () => {
  await withSession(async (session) => {
    const code = "import threading; threading.Thread(target=lambda: print(1)).start()";
    assertEquals((await session.shell(`python -c '${code}' | cat; echo 2`)).stdout, "1\n2\n");
  }, { profile: await loadProfile("workspace") });
});

Deno.test("a thread gets the reply of a tool while the main thread computes", async () => {
  const echo = hostTool({
    name: "echo",
    description: "returns a number",
    parameters: z.strictObject({ n: z.number() }),
    run: ({ n }) => Promise.resolve(n),
  });
  const code = `import threading
from paddock import tools
replies = []
thread = threading.Thread(target=lambda: replies.append(tools.echo(n=4)))
thread.start()
while not replies: pass
replies`;
  await withSession(async (session) => {
    assertEquals(value(await session.exec(code, { tools: [echo] })), "[4]");
  }, { profile: await loadProfile("tools") });
});
