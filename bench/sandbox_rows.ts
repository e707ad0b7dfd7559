import { z } from "zod";
import { hostTool } from "../src/sandbox/host_tool.ts";
import type { LayerReport } from "../src/sandbox/process/layers.ts";
import { SandboxPool } from "../src/sandbox/pool.ts";
import type { Profile } from "../src/sandbox/profile/profile.ts";
import { Sandbox } from "../src/sandbox/sandbox.ts";
import type { Session } from "../src/sandbox/session.ts";
import type { HostPython } from "./peers.ts";
import { privateBytes, ratePerSecond, ratesInTurn, summarize, timings } from "./measure.ts";
import type { Row } from "./row.ts";

/** Options of every measurement. */
export interface BenchSetup {
  readonly profile: Profile;
  readonly detected: readonly LayerReport[];
  readonly cacheDir: string;
  readonly onBuild: () => void;
  /** Factor of the number of runs; 1 is enough for figures to publish. */
  readonly effort: number;
  /** Interpreter of the peers; without one their rows are omitted. */
  readonly python?: HostPython | undefined;
  /** Path of a Python with math-verify. */
  readonly mathVerifyPython?: string | undefined;
}

/** Returns the options of the pool of a measurement. */
export function poolOptions({ profile, detected, cacheDir, onBuild }: BenchSetup) {
  return { profile, detected, cacheDir, onBuild };
}

const MB = 1e6;
const SETTLE_MS = 1_500;
/** Runs until V8 has optimized the code of a program in each of eight processes. */
const TIER_UP_MS = 8_000;

/** Measures a process with one session: starts, execs, rewinds, strings and tools. */
export async function ownProcessRows(setup: BenchSetup): Promise<Row[]> {
  const cold = await timings(() => startOnce(setup), { runs: 9 * setup.effort, warmup: 1 });
  await using sandbox = await Sandbox.start(poolOptions(setup));
  const session = await sandbox.openSession();
  const exec = await timings(() => session.exec("1+1"), { runs: 3_000 * setup.effort, warmup: 1_000 });
  const rewind = await timings(() => session.reset({ mode: "rewind" }), {
    runs: 100 * setup.effort,
    warmup: 10,
  });
  return [
    { what: "session ready, cold process, image cached", ...summarize(cold), unit: "ms", bound: 200 },
    { what: 'warm exec("1+1"), host to host', ...summarize(exec), unit: "ms", bound: 0.15 },
    { what: "rewind", ...summarize(rewind), unit: "ms", bound: 2 },
    await idleRow(setup),
    ...await stringRows(session, setup),
    await toolRow(session, setup),
  ];
}

async function idleRow(setup: BenchSetup): Promise<Row> {
  const idle: number[] = [];
  for (let run = 0; run < 5; run++) {
    await using sandbox = await Sandbox.start(poolOptions(setup));
    await sandbox.openSession();
    idle.push(await settled(sandbox));
  }
  return {
    what: "private memory, idle session, own process",
    ...summarize(idle.map((bytes) => bytes / MB)),
    unit: "MB",
    bound: 80,
  };
}

async function startOnce(setup: BenchSetup): Promise<void> {
  await using sandbox = await Sandbox.start(poolOptions(setup));
  await sandbox.openSession();
}

async function settled(sandbox: Sandbox): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return await privateBytes(sandbox.pid ?? 0) ?? NaN;
}

async function stringRows(session: Session, setup: BenchSetup): Promise<Row[]> {
  const text = "x".repeat(1_000_000);
  const runs = 20 * setup.effort;
  const inward = await timings(() => session.exec("import sys; len(sys.stdin.read())", { stdin: text }), {
    runs,
    warmup: 3,
  });
  const outward = await timings(() => session.exec("print('x' * 1_000_000)"), { runs, warmup: 3 });
  return [
    { what: "1 MB string in, by stdin", ...summarize(inward), unit: "ms", bound: 3 },
    { what: "1 MB string out, by print", ...summarize(outward), unit: "ms", bound: 3 },
  ];
}

async function toolRow(session: Session, setup: BenchSetup): Promise<Row> {
  const add = hostTool({
    name: "add",
    description: "Adds two numbers",
    parameters: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => a + b,
  });
  const calls = 200;
  const code = `from paddock import tools\nfor _ in range(${calls}): tools.add(a=1, b=2)`;
  const runs = await timings(() => session.exec(code, { tools: [add] }), {
    runs: 10 * setup.effort,
    warmup: 2,
  });
  return {
    what: "host tool round trip from Python",
    ...summarize(runs.map((ms) => ms / calls)),
    unit: "ms",
    bound: 0.06,
  };
}

/** Measures the cost of a further session in a shared process. */
export async function sharedProcessRows(setup: BenchSetup): Promise<Row[]> {
  const count = 4;
  const profile = { ...setup.profile, sessionsPerProcess: count + 1 };
  await using sandbox = await Sandbox.start({ ...poolOptions(setup), profile });
  await sandbox.openSession();
  const before = await settled(sandbox);
  const times = await timings(() => sandbox.openSession(), { runs: count });
  const after = await settled(sandbox);
  const each = (after - before) / count / MB;
  return [
    { what: "further session in a running process", ...summarize(times), unit: "ms", bound: 80 },
    { what: "private memory, further session, shared process", value: each, unit: "MB", bound: 30 },
  ];
}

/** Measures a pool: the cost of a lease, and the speed-up by more sessions. */
export async function poolRows(setup: BenchSetup): Promise<Row[]> {
  await using pool = new SandboxPool({ ...poolOptions(setup), size: 8, resetMode: "rewind" });
  const leases = await Promise.all(Array.from({ length: 8 }, () => pool.acquire()));
  const code = "sum(i * i for i in range(100_000))";
  const rate = (lanes: number, ms = 400) =>
    ratePerSecond((lane) => leases[lane]?.session.exec(code) ?? Promise.resolve(), { lanes, ms });
  await rate(8, TIER_UP_MS);
  const { ratio } = await ratesInTurn(() => rate(8), () => rate(1), 9 * setup.effort);
  for (const lease of leases) await lease[Symbol.asyncDispose]();
  const acquire: number[] = [];
  for (let run = 0; run < 50 * setup.effort; run++) {
    const startedAt = performance.now();
    const lease = await pool.acquire();
    acquire.push(performance.now() - startedAt);
    await lease[Symbol.asyncDispose]();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return [
    { what: "acquire from a warm pool", ...summarize(acquire), unit: "ms", bound: 1 },
    { what: "execs of about 10 ms per second, 8 sessions against one", value: ratio, unit: "×", bound: 1.8 },
  ];
}

/** Measures the growth of a process over 2,000 execs and 200 resets, after the first quarter of them. */
export async function growthRow(setup: BenchSetup): Promise<Row> {
  await using sandbox = await Sandbox.start(poolOptions(setup));
  const session = await sandbox.openSession();
  const round = async () => {
    for (let exec = 0; exec < 10; exec++) await session.exec("x = [i for i in range(1000)]\nprint(len(x))");
    await session.reset({ mode: "rewind" });
  };
  for (let done = 0; done < 50; done++) await round();
  const before = await settled(sandbox);
  for (let done = 0; done < 150; done++) await round();
  const after = await settled(sandbox);
  return {
    what: "growth over 2,000 execs and 200 rewinds",
    value: (after / before - 1) * 100,
    unit: "%",
    bound: 5,
  };
}
