import { assertEquals } from "@std/assert";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const SETUP = `import asyncio, signal, threading, time
class Due(Exception): pass
def raise_due(number, frame): raise Due(number)
signal.signal(signal.SIGALRM, raise_due)
r = None
`;

/** Waits that an alarm ends. */
const WAITS: Record<string, string> = {
  "a loop": "while True: pass",
  "sleep()": "time.sleep(10)",
  "Event.wait()": "threading.Event().wait(10)",
  "asyncio.sleep()": "asyncio.run(asyncio.sleep(10))",
  "join() of a thread that computes": "t = threading.Thread(target=spin)\n  t.start()\n  t.join()",
};

Deno.test("signal.setitimer() interrupts", async (t) => {
  await withSession(async (session) => {
    for (const [name, wait] of Object.entries(WAITS)) {
      await t.step(name, async () => {
        const code = `${SETUP}stop = False\ndef spin():\n  while not stop: pass
signal.setitimer(signal.ITIMER_REAL, 0.05)\ntry:\n  ${wait}\nexcept Due: r = "due"\nstop = True\nr`;
        assertEquals(value(await session.exec(code)), "'due'");
      });
    }
  });
});

Deno.test("signal.alarm() and getitimer() return the time that is left", async () => {
  await withSession(async (session) => {
    const code = "signal.alarm(5), signal.alarm(0), signal.alarm(0), signal.getitimer(signal.ITIMER_REAL)";
    assertEquals(value(await session.exec(SETUP + code)), "(0, 5, 0, (0.0, 0.0))");
  });
});

Deno.test("signal.setitimer() repeats with an interval", async () => {
  const code = `import signal
n = 0
def count(*_):
    global n
    n += 1
signal.signal(signal.SIGALRM, count)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while n < 5: pass
signal.setitimer(signal.ITIMER_REAL, 0)
n, signal.getsignal(signal.SIGALRM) is count`;
  await withSession(async (session) => assertEquals(value(await session.exec(code)), "(5, True)"));
});

Deno.test("SIGTERM without a handler exits with code 143 and keeps the interpreter", async () => {
  await withSession(async (session) => {
    const calls = [
      "os.kill(os.getpid(), signal.SIGTERM)",
      "signal.raise_signal(signal.SIGTERM)",
      "threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGTERM)).start()\ntime.sleep(60)",
    ];
    for (const call of calls) {
      const result = await session.exec(`import os, signal, threading, time\n${call}`);
      assertEquals([result.status, "exitCode" in result && result.exitCode], ["exited", 143], call);
    }
    const handled = "signal.signal(15, lambda *_: print('handled'))\nos.kill(os.getpid(), 15)";
    assertEquals((await session.exec(handled)).stdout, "handled\n");
  });
});

Deno.test("SIGALRM without a handler exits with code 142", async () => {
  await withSession(async (session) => {
    const result = await session.exec("import signal, time\nsignal.setitimer(0, 0.02)\ntime.sleep(10)");
    assertEquals([result.status, "exitCode" in result && result.exitCode], ["exited", 142]);
  });
});

Deno.test("an alarm does not reach the next block, nor the state after a rewind", async () => {
  await withSession(async (session) => {
    const arm = `${SETUP}signal.setitimer(signal.ITIMER_REAL, 0.05)`;
    await session.exec(arm);
    assertEquals(value(await session.exec("time.sleep(0.2)\n1")), "1");
    await session.exec(arm);
    await session.reset({ mode: "rewind" });
    const code = "import signal, time\ntime.sleep(0.2)\nsignal.getsignal(signal.SIGALRM) == signal.SIG_DFL";
    assertEquals(value(await session.exec(code)), "True");
  });
});
