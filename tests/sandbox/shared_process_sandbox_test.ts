import { assert, assertEquals } from "@std/assert";
import { parseProfile, type Profile, Sandbox, SandboxPool, type Session } from "../../mod/sandbox.ts";
import { isAlive } from "../../bench/processes.ts";
import { stoppedAfterOutput, value } from "./started.ts";

const SWALLOWS =
  "print(1, flush=True)\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass";

function dense(limits: Partial<Profile["limits"]> = {}): Profile {
  const text = JSON.stringify({ sessionsPerProcess: 3, limits: { graceMs: 200, ...limits } });
  return parseProfile(text, { source: "dense" });
}

async function withSessions(
  test: (sessions: { a: Session; b: Session }, sandbox: Sandbox) => Promise<void>,
  profile = dense(),
): Promise<void> {
  await using sandbox = await Sandbox.start({ profile });
  const [a, b] = await Promise.all([sandbox.openSession(), sandbox.openSession()]);
  await test({ a, b }, sandbox);
}

function pidOf({ pid }: Sandbox): number {
  if (pid === undefined) throw new Error("no process runs");
  return pid;
}

Deno.test("Session.exec() kills a shared process if its program cannot be stopped", async () => {
  await withSessions(async ({ a, b }, sandbox) => {
    await a.exec("kept = 1");
    const pid = pidOf(sandbox);
    const { result: stuck } = await stoppedAfterOutput((timeoutMs) => b.exec(SWALLOWS, { timeoutMs }));
    assertEquals([stuck.status, stuck.stateKept], ["timeout", false]);
    const next = await a.exec("'kept' in globals()");
    assertEquals([value(next), next.restarted], ["False", true]);
    assert(!await isAlive(pid), "the process of the stuck program is still there");
    assertEquals(value(await b.exec("1 + 1")), "2");
  });
});

Deno.test("a session of a shared process does not affect other sessions", async (t) => {
  await withSessions(async ({ a, b }, sandbox) => {
    await a.exec("kept = 1");
    const pid = pidOf(sandbox);
    await t.step("when it crashes", async () => {
      assertEquals((await b.exec("import os; os._exit(3)")).status, "crashed");
      assertEquals(value(await b.exec("2")), "2");
      assertEquals([value(await a.exec("kept")), pidOf(sandbox)], ["1", pid]);
    });
    await t.step("when it is reset, which ends its thread", async () => {
      const before = await countThreads(pid);
      for (let round = 0; round < 12; round++) await b.reset({ mode: "fresh" });
      assert(await countThreads(pid) <= before + 2, "threads of sessions that were reset are still there");
      assertEquals(value(await b.exec("'kept' in globals()")), "False");
      const next = await a.exec("kept");
      assertEquals([value(next), next.restarted, pidOf(sandbox)], ["1", undefined, pid]);
    });
  });
});

async function countThreads(pid: number): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  return (await Array.fromAsync(Deno.readDir(`/proc/${pid}/task`))).length;
}

Deno.test("SandboxPool with shared processes leases fresh sessions repeatedly", async () => {
  await using pool = new SandboxPool({ profile: dense(), size: 3 });
  const statuses = await Promise.all(Array.from({ length: 24 }, async () => {
    await using lease = await pool.acquire();
    return (await lease.session.exec("assert 'x' not in globals(); x = 1")).status;
  }));
  assertEquals(statuses, Array(24).fill("ok"));
});

Deno.test(
  "Session.exec() in a shared process is not charged for its neighbour's CPU time",
  { ignore: Deno.build.os !== "linux" },
  async () => {
    await withSessions(async ({ a, b }) => {
      const rest = a.exec("import time; time.sleep(2.5)");
      for (let round = 0; round < 2; round++) {
        await b.exec("import time\nend = time.process_time() + 0.7\nwhile time.process_time() < end: pass");
      }
      assertEquals((await rest).status, "ok");
      const hungry = await b.exec("while True: pass", { timeoutMs: 20_000 });
      assert(hungry.status === "timeout" && hungry.error.type === "CpuTimeLimit", hungry.status);
    }, dense({ cpuSeconds: 1 }));
  },
);
