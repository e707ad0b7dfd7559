import { assertEquals } from "@std/assert";
import { withPython } from "../with_python.ts";

/** Programs as models and graders write them, with their input, standard output and exit code. */
const PROGRAMS: Record<string, { code: string; stdin?: string; stdout: string; exitCode?: number }> = {
  "a thread with a deep stack": {
    code: `import sys, threading
sys.setrecursionlimit(10**7)
threading.stack_size(2**27)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
def main(): print(depth(int(input())))
thread = threading.Thread(target=main)
thread.start()
thread.join()`,
    stdin: "200000\n",
    stdout: "200000\n",
  },
  "deep recursion through a cache": {
    code: `import functools, sys
sys.setrecursionlimit(10**6)
@functools.cache
def f(n): return 0 if n == 0 else 1 + f(n - 1)
print(f(7000))`,
    stdout: "7000\n",
  },
  "an alarm with a handler": {
    code: `import signal
def expire(number, frame): raise TimeoutError(number)
signal.signal(signal.SIGALRM, expire)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    while True: pass
except TimeoutError as error: print("expired", error)`,
    stdout: "expired 14\n",
  },
  "an alarm without a handler": {
    code: `import signal, time
signal.setitimer(signal.ITIMER_REAL, 0.05)
print("armed", flush=True)
time.sleep(20)`,
    stdout: "armed\n",
    exitCode: 142,
  },
};

Deno.test("/run_code runs a program with", async (t) => {
  await withPython(async ({ send }) => {
    for (const [name, { code, stdin, stdout, exitCode = 0 }] of Object.entries(PROGRAMS)) {
      await t.step(name, async () => {
        const { body } = await send("POST", "/run_code", {
          code,
          stdin,
          language: "python",
          run_timeout: 30,
        });
        assertEquals(body.run_result?.stdout, stdout, JSON.stringify(body));
        assertEquals(body.run_result.return_code, exitCode);
      });
    }
  });
});

Deno.test("/v1 runs a block with", async (t) => {
  await withPython(async ({ send }) => {
    const { body: { id } } = await send("POST", "/v1/sessions", {});
    for (const [name, { code, stdin, stdout, exitCode = 0 }] of Object.entries(PROGRAMS)) {
      await t.step(name, async () => {
        const { body } = await send("POST", `/v1/sessions/${id}/exec`, { code, stdin, timeoutMs: 30_000 });
        assertEquals(body.stdout, stdout, JSON.stringify(body));
        assertEquals(body.exitCode ?? 0, exitCode);
        await send("POST", `/v1/sessions/${id}/reset`, { mode: "rewind" });
      });
    }
    await send("DELETE", `/v1/sessions/${id}`);
  });
});
