import { assert, assertEquals, assertRejects } from "@std/assert";
import { exactProgram, FAMILY_NAMES } from "../../../bench/exact/programs.ts";
import { exactProfile, LEASE, runProgram } from "../../../bench/exact/sessions.ts";
import { ArgumentTypeError } from "../../../src/errors.ts";
import { SandboxPool } from "../../../src/sandbox/pool.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { value } from "../started.ts";

/** Programs with, together, all families of parts. */
const PROGRAMS = programsOfAllFamilies();
const DAY_MS = 24 * 3_600_000;

function programsOfAllFamilies(): number[] {
  const missing = new Set(FAMILY_NAMES);
  const seeds: number[] = [];
  for (let seed = 1; missing.size > 0; seed++) {
    const { families } = exactProgram(seed);
    if (families.filter((name) => missing.delete(name)).length > 0) seeds.push(seed);
  }
  return seeds;
}

Deno.test("with a virtual clock, programs have the same digests in cold processes and after rewinds", async (t) => {
  const profile = await exactProfile();
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  await using lease = await pool.acquire(LEASE);
  const session = lease.session;
  const rewound = new Map<number, string | undefined>();
  for (const seed of PROGRAMS) {
    await session.reset({ mode: "rewind", ...LEASE });
    const { status, digest, inexact, stdout, stderr } = await runProgram(session, seed);
    assertEquals({ status, inexact, stderr }, { status: "ok", inexact: undefined, stderr: "" }, stdout);
    rewound.set(seed, digest);
  }
  for (const seed of PROGRAMS.slice(0, 2)) {
    await t.step(`program ${seed} in a cold process: ${exactProgram(seed).families}`, async () => {
      await using sandbox = await Sandbox.start({ profile });
      const cold = await sandbox.openSession(LEASE);
      assertEquals((await runProgram(cold, seed)).digest, rewound.get(seed));
    });
  }
  await t.step("clocks start at 2026-01-01, and waits jump", async () => {
    await session.reset({ mode: "rewind", ...LEASE });
    const code = `import datetime, os, time
began = time.time()
time.sleep(3600)
open("f", "w").close()
str(datetime.datetime.now())[:16], round(time.time() - began), round(os.stat("f").st_mtime - began), time.process_time() < 1`;
    const result = await session.exec(code, { timeoutMs: DAY_MS });
    assertEquals(value(result), "('2026-01-01 01:00', 3600, 3600, True)");
    const { status, stdout } = await session.shell("date +%F; sleep 1800; date");
    assertEquals(
      [status, stdout],
      ["timeout", "2026-01-01\n"],
      "the profile's timeout is shorter than half an hour",
    );
    assertEquals((await session.shell("sleep 1800; date +%H:%M", { timeoutMs: DAY_MS })).stdout, "01:30\n");
  });
  await t.step("'timeoutMs' counts virtual time", async () => {
    await session.exec("import time\nbegan = time.time()");
    const sleeping = await session.exec("time.sleep(3600)", { timeoutMs: 2_000 });
    assertEquals([sleeping.status, sleeping.inexact, sleeping.stateKept], ["timeout", undefined, true]);
    assertEquals(value(await session.exec("round(time.time() - began)")), "2");
    const looping = await session.exec("while True: pass", { timeoutMs: 200 });
    assertEquals([looping.status, looping.inexact], ["timeout", undefined]);
  });
  await t.step("the state of clock and random bytes is part of a checkpoint", async () => {
    const code = "import os, random, time\nos.urandom(4).hex(), random.random(), time.time()";
    await session.exec("import os");
    const checkpoint = await session.checkpoint();
    const first = await session.exec(code);
    await session.exec("time.sleep(5); os.urandom(3)");
    await session.restore(checkpoint);
    const again = await session.exec(code);
    assertEquals([value(again), again.digest], [value(first), first.digest]);
    await session.restore(checkpoint, { seed: 8 });
    assert((await session.exec(code)).digest !== first.digest);
  });
  await t.step("a fork needs a seed", async () => {
    await assertRejects(
      () => session.fork(1),
      ArgumentTypeError,
      "'seed' must be given with a virtual clock",
    );
  });
});

Deno.test("with a virtual clock, a program that a limit of the host ends is inexact", async () => {
  const profile = await exactProfile();
  const limited = { ...profile, limits: { ...profile.limits, cpuSeconds: 1 } };
  await using sandbox = await Sandbox.start({ profile: limited });
  const session = await sandbox.openSession();
  const { status, inexact } = await session.exec("sum(range(10**12))", { timeoutMs: 1_000 });
  assertEquals([status, inexact], ["timeout", true]);
});
