import { SandboxPool } from "../src/sandbox/pool.ts";
import { Sandbox } from "../src/sandbox/sandbox.ts";
import type { Session } from "../src/sandbox/session.ts";
import { median, summarize } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const KB = 1e3;
const RANDOM_MB = 30;
/** Times of operations, in milliseconds, by their names. */
type Times = Record<string, number[]>;

/** Measures checkpoints, restores and forks. Operations take turns, so that other work slows all of them. */
export async function checkpointRows(setup: BenchSetup): Promise<Row[]> {
  const times: Times = {};
  await using sandbox = await Sandbox.start(poolOptions(setup));
  const session = await sandbox.openSession();
  const storedBytes = await measureSession(session, times, 40 * setup.effort);
  await measureLargeHeap(session, times, 8 * setup.effort);
  await measureLeases(setup, times, 25 * setup.effort);
  await measureColdStarts(setup, times, 7 * setup.effort);
  const medianOf = (name: string) => median(times[name] ?? []);
  const row = (what: string, name: string, bound?: number): Row => ({
    what,
    ...summarize(times[name] ?? []),
    unit: "ms",
    ...(bound !== undefined && { bound }),
  });
  const ratio = (what: string, value: number, bound: number): Row => ({ what, value, unit: "×", bound });
  const per10Mb = (medianOf("capture of random bytes") - medianOf("capture")) / (RANDOM_MB / 10);
  return [
    row("checkpoint after x = 1, on the path of execs", "capture", 10),
    row("checkpoint after x = 1, compressed", "checkpoint"),
    { what: "checkpoint after x = 1, at rest", value: storedBytes / KB, unit: "kB", bound: 300 },
    {
      what: "checkpoint, per 10 MB of random bytes, on the path of execs",
      value: per10Mb,
      unit: "ms",
      bound: 40,
    },
    row("checkpoint of 30 MB of random bytes, compressed", "checkpoint of random bytes"),
    row("restore in place, after x = 1", "restore", 8),
    row("restore of 30 MB of random bytes", "restore of random bytes"),
    row("fork into a running process, and one exec", "fork", 60),
    row("acquire({ from }) from a warm pool, and one exec", "acquire"),
    ratio("rewind against that checkpoint's path", medianOf("rewind") / medianOf("capture"), 0.27),
    ratio("rewind against that restore", medianOf("rewind") / medianOf("restore"), 0.34),
    ratio("cold start and one exec, against a fork and one exec", medianOf("cold") / medianOf("fork"), 4.3),
  ];
}

/** Returns the size of a checkpoint after `x = 1`, in bytes. */
async function measureSession(session: Session, times: Times, runs: number): Promise<number> {
  let storedBytes = 0;
  for (let run = 0; run < runs; run++) {
    await record(times, "rewind", () => session.reset({ mode: "rewind" }));
    await session.exec("x = 1");
    await record(times, "capture", () => session.captureState({}));
    const checkpoint = await record(times, "checkpoint", () => session.checkpoint());
    await session.exec("x = 2");
    await record(times, "restore", () => session.restore(checkpoint));
    ({ storedBytes } = checkpoint);
  }
  return storedBytes;
}

async function measureLargeHeap(session: Session, times: Times, runs: number): Promise<void> {
  await session.exec(`import os\nkept = os.urandom(${RANDOM_MB * 1e6})`);
  for (let run = 0; run < runs; run++) {
    await record(times, "capture of random bytes", () => session.captureState({}));
    const checkpoint = await record(times, "checkpoint of random bytes", () => session.checkpoint());
    await record(times, "restore of random bytes", () => session.restore(checkpoint));
  }
}

async function measureLeases(setup: BenchSetup, times: Times, runs: number): Promise<void> {
  await using pool = new SandboxPool({ ...poolOptions(setup), size: 2, resetMode: "rewind" });
  await using parent = await pool.acquire();
  await (await pool.acquire())[Symbol.asyncDispose](); // waits until the second process runs
  await parent.session.exec("x = 1");
  const checkpoint = await parent.session.checkpoint();
  for (let run = 0; run < runs; run++) {
    await record(times, "fork", async () => {
      const [copy] = await parent.session.fork(1);
      await copy?.session.exec("x");
      await copy?.[Symbol.asyncDispose]();
    });
    await record(times, "acquire", async () => {
      await using lease = await pool.acquire({ from: checkpoint });
      await lease.session.exec("x");
    });
  }
}

async function measureColdStarts(setup: BenchSetup, times: Times, runs: number): Promise<void> {
  for (let run = 0; run < runs; run++) {
    await record(times, "cold", async () => {
      await using sandbox = await Sandbox.start(poolOptions(setup));
      await (await sandbox.openSession()).exec("x = 1");
    });
  }
}

/** Runs `work`, and records its time. The first run of a name only warms up. */
async function record<T>(times: Times, name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  const all = times[name];
  if (all) all.push(performance.now() - startedAt);
  else times[name] = [];
  return result;
}
