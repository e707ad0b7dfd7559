import type { CheckpointMemoryOptions } from "../../../src/sandbox/checkpoint/state_memory.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type BranchingSession,
  type Checkpoint,
  type ExecResult,
  loadProfile,
  Sandbox,
  type SandboxAcquireOptions,
  SandboxPool,
} from "../../../mod/sandbox.ts";
import { ArgumentRangeError, SandboxError } from "../../../src/errors.ts";
import { WorkerSandbox } from "../../../src/sandbox/in_worker/worker_sandbox.ts";
import { limited, value } from "../started.ts";

const linux = Deno.build.os === "linux";
const profile = await limited("python", { graceMs: 200 });

/** A state that only a checkpoint can keep: running code again would not give it. */
const STATE = `
import os, uuid
def numbers(): yield from range(100)
it = numbers(); next(it); next(it)
secret, size = uuid.uuid4().hex, id(it)
open('kept', 'w').write(secret)
`;
const IS_KEPT = "next(it), id(it) == size, open('kept').read() == secret";

/** Programs that lose their interpreter, with the status of their results. */
const LOSSES: Record<string, [code: string, status: ExecResult["status"], timeoutMs?: number]> = {
  "ends the interpreter": ["lost = 1; import os; os._exit(3)", "crashed"],
  "cannot be stopped at its timeout": [
    "lost = 1\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass",
    "timeout",
    200,
  ],
};

Deno.test("a session with checkpointEvery returns to its last checkpoint when its program", async (t) => {
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await using lease = await pool.acquire({ checkpointEvery: "exec" });
  const { session } = lease;
  value(await session.exec(STATE));
  let expected = 2;
  for (const [name, [code, status, timeoutMs]] of Object.entries(LOSSES)) {
    await t.step(name, async () => {
      const result = await session.exec(code, { timeoutMs });
      assertEquals([result.status, result.stateKept, result.restarted], [status, true, undefined]);
      assertEquals(result.restoredFrom?.lostCalls, 0);
      const next = await session.exec(`${IS_KEPT}, 'lost' in globals()`);
      assertEquals(value(next), `(${expected++}, True, True, False)`);
      assertEquals(next.restoredFrom, undefined, "is reported once");
    });
  }
});

Deno.test("a session with checkpointEvery returns to its start if nothing has run before", async () => {
  await using sandbox = await Sandbox.start({ profile });
  await using session = await sandbox.openSession({ checkpointEvery: "exec", seed: 5 });
  const result = await session.exec("import os; os._exit(0)");
  assertEquals([result.stateKept, result.restoredFrom?.lostCalls], [true, 0]);
});

Deno.test({
  name: "a session with checkpointEvery survives a kill -9 of its process, also between two execs",
  ignore: !linux,
  fn: async (t) => {
    await using sandbox = await Sandbox.start({ profile });
    await using session = await sandbox.openSession({ checkpointEvery: "exec" });
    value(await session.exec(STATE));
    await t.step("while a program runs", async () => {
      const running = session.exec("lost = 1\nprint('runs', flush=True)\nwhile True: pass", {
        onOutput: () => kill(sandbox),
      });
      const result = await running;
      assertEquals([result.status, result.stateKept], ["crashed", true]);
      assertEquals(result.restoredFrom?.lostCalls, 0);
      assertEquals(value(await session.exec(`${IS_KEPT}, 'lost' in globals()`)), "(2, True, True, False)");
    });
    await t.step("between two execs", async () => {
      await session.writeFile("late", "x");
      await killAndWait(sandbox);
      const next = await session.exec(`${IS_KEPT}, open('late').read()`);
      assertEquals(value(next), "(3, True, True, 'x')");
      assertEquals([next.restoredFrom?.lostCalls, next.restarted], [0, undefined]);
    });
    await t.step("and reports what it has lost if a checkpoint was refused", async () => {
      value(
        await session.exec(
          "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,)).start()",
        ),
      );
      value(await session.exec("more = 1"));
      await killAndWait(sandbox);
      const next = await session.exec(`${IS_KEPT}, 'more' in globals()`);
      assertEquals(value(next), "(4, True, True, False)");
      assertEquals(next.restoredFrom?.lostCalls, 2);
    });
    await t.step("and begins again after a reset", async () => {
      await session.reset();
      await killAndWait(sandbox);
      const next = await session.exec("'it' in globals()");
      assertEquals([value(next), next.restoredFrom?.lostCalls], ["False", 0]);
    });
  },
});

Deno.test("a session with checkpointEvery keeps its state when a program runs out of memory", async () => {
  const small = await limited("python", { memoryBytes: 96 * 1024 * 1024 });
  await using sandbox = await Sandbox.start({ profile: small });
  await using session = await sandbox.openSession({ checkpointEvery: "exec" });
  value(await session.exec(STATE));
  const bomb = await session.exec("b = []\nwhile True: b.append(bytearray(1 << 20))");
  assertEquals([bomb.status, bomb.stateKept], ["memory", true]);
  value(await session.exec("b = None"));
  const lost = await session.exec("import os; os._exit(137)");
  assertEquals([lost.stateKept, lost.restoredFrom?.lostCalls], [true, 0]);
  assertEquals(value(await session.exec(IS_KEPT)), "(2, True, True)");
});

Deno.test({
  name: "checkpointEvery takes a checkpoint after so many seconds, also without a further call",
  ignore: !linux,
  fn: async () => {
    await using sandbox = await Sandbox.start({ profile });
    await using session = await sandbox.openSession({ checkpointEvery: 0.2 });
    value(await session.exec("x = 1"));
    for (let attempt = 1;; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await killAndWait(sandbox);
      const next = await session.exec("x = globals().get('x', 0) + 1; x");
      assertEquals(next.restarted, undefined);
      if (next.restoredFrom?.lostCalls === 0) return assert(Number(value(next)) > 1);
      assert(attempt < 50, "a checkpoint is taken between an exec and a kill");
    }
  },
});

Deno.test("a lease with checkpointEvery continues a checkpoint, and leaves nothing to the next lease", async () => {
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  const first = await pool.acquire();
  value(await first.session.exec(STATE));
  const checkpoint = await first.session.checkpoint();
  await first[Symbol.asyncDispose]();
  const second = await pool.acquire({ from: checkpoint, checkpointEvery: 3600 });
  const result = await second.session.exec("import os; os._exit(1)");
  assertEquals([result.stateKept, result.restoredFrom?.lostCalls], [true, 0]);
  assertEquals(value(await second.session.exec(IS_KEPT)), "(2, True, True)");
  await second[Symbol.asyncDispose]();
  await using third = await pool.acquire();
  const lost = await third.session.exec("import os; os._exit(1)");
  assertEquals([lost.stateKept, lost.restoredFrom], [false, undefined]);
  assertEquals((await third.session.exec("'it' in globals()")).restarted, true);
});

Deno.test("checkpoints of checkpointEvery take no more memory than they may", async () => {
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  let held = 0;
  const room = (mostBytes: number): SandboxAcquireOptions & CheckpointMemoryOptions => ({
    checkpointEvery: "exec",
    checkpointMemory: {
      get availableBytes() {
        return mostBytes;
      },
      resize(bytes) {
        if (bytes > mostBytes) throw new RangeError("no room");
        held = bytes;
      },
    },
  });
  const exceed = async (session: BranchingSession) => {
    value(await session.exec("x = 1"));
    value(await session.exec("import random; big = random.randbytes(20 << 20)"));
    return await session.exec("import os; os._exit(1)");
  };
  {
    await using lease = await pool.acquire(room(5 << 20));
    const result = await exceed(lease.session);
    assertEquals([result.stateKept, result.restoredFrom?.lostCalls], [true, 1]);
    assertEquals(value(await lease.session.exec("x, 'big' in globals()")), "(1, False)");
    assert(held > 0 && held < 5 << 20, String(held));
  }
  {
    await using lease = await pool.acquire(room(1));
    const checkpoint = await lease.session.checkpoint();
    await lease.session.restore(checkpoint);
    const lost = await lease.session.exec("import os; os._exit(1)");
    assertEquals([lost.stateKept, lost.restoredFrom], [false, undefined], "there was no room for it");
    assertEquals((await lease.session.exec("1")).restarted, true);
  }
  assertEquals(held, 0);
});

Deno.test("a recovery with a store gives it each checkpoint before the result, and keeps the earlier one if that fails", async () => {
  await using pool = new SandboxPool({ profile, size: 2 });
  await using lease = await pool.acquire();
  const { recovery, session } = lease;
  const stored: { checkpoint: Checkpoint; calls: number }[] = [];
  let isFull = false;
  recovery?.setRecovery({
    every: "exec",
    owner: "me",
    store: (checkpoint, { calls }) => {
      if (isFull) return Promise.reject(new SandboxError("the store is full"));
      stored.push({ checkpoint, calls });
      return Promise.resolve();
    },
  });
  for (let at = 1; at <= 2; at++) {
    value(await session.exec(`x = ${at}`));
    assertEquals(stored.map(({ calls }) => calls).at(-1), at);
  }
  isFull = true;
  value(await session.exec("x = 3"));
  isFull = false;
  const result = await session.exec("import os; os._exit(0)");
  assertEquals([result.stateKept, result.restoredFrom?.lostCalls], [true, 1]);
  assertEquals(value(await session.exec("x")), "2");
  await recovery?.takeCheckpoint();
  assertEquals(stored.map(({ calls }) => calls), [1, 2, 4], "nothing has happened since the last one");
  await using other = await pool.acquire({ from: stored[0]?.checkpoint, owner: "me" });
  assertEquals(value(await other.session.exec("x")), "1");
});

Deno.test("a session of a worker with checkpointEvery returns to its last checkpoint", async () => {
  await using workers = new WorkerSandbox({ profile, maxWorkers: 2 });
  await using lease = await workers.acquire({ checkpointEvery: "exec" });
  value(await lease.session.exec(STATE));
  const result = await lease.session.exec("import os; os._exit(1)");
  assertEquals([result.stateKept, result.restoredFrom?.lostCalls], [true, 0]);
  assertEquals(value(await lease.session.exec(IS_KEPT)), "(2, True, True)");
});

Deno.test("acquire() refuses an invalid checkpointEvery before it leases a session", async () => {
  await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
  for (const checkpointEvery of [0, -1, NaN, 1e9, "block" as "exec"]) {
    await assertRejects(
      () => pool.acquire({ checkpointEvery }),
      ArgumentRangeError,
      "'checkpointEvery' must be",
    );
  }
});

function kill(sandbox: Sandbox): void {
  if (sandbox.pid !== undefined) Deno.kill(sandbox.pid, "SIGKILL");
}

/** Kills the process of a sandbox, and waits until the sandbox knows. */
async function killAndWait(sandbox: Sandbox): Promise<void> {
  kill(sandbox);
  while (sandbox.pid !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
}
