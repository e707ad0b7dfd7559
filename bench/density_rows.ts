import { PaddockClient } from "../src/client/paddock_client.ts";
import { loadProfile } from "../src/sandbox/profile/profile.ts";
import { summarize, treePrivateBytes } from "./measure.ts";
import { childrenOf } from "./processes.ts";
import type { Row } from "./row.ts";
import type { BenchSetup } from "./sandbox_rows.ts";
import { Serving } from "./serving.ts";

/** Number of sessions that live at the same time, and their server. */
export interface DensityOptions {
  readonly sessions: number;
  readonly sessionsPerProcess: number;
  /** Cache directory of base images. @default the command line's */
  readonly cacheDir?: string | undefined;
}

/** Result of a density measurement. */
export interface DensityReport {
  /** Number of sessions that kept their state. */
  readonly right: number;
  readonly processes: number;
  /** Memory of all processes but the server itself; `NaN` if the host does not report it. */
  readonly privateBytes: number;
  /** Duration of the second exec of each session, in milliseconds, while all others live. */
  readonly execMs: readonly number[];
  readonly openSeconds: number;
}

const SESSIONS = 500;
const PER_PROCESS = 32;
/** Concurrent requests: few, so that each waits for few other starts. */
const LANES = 8;
const MB = 1e6;
/** Expected memory of a session, so that a host with less memory is not brought down. */
const EXPECTED_BYTES = 40 * MB;
/** Memory that is left for everything else on the host. */
const SPARE_BYTES = 2_000 * MB;

/** Measures the wanted number of sessions of one server, or as many as the host has memory for. */
export async function densityRows({ cacheDir }: Pick<BenchSetup, "cacheDir">): Promise<Row[]> {
  const room = Math.floor((await availableBytes() - SPARE_BYTES) / EXPECTED_BYTES);
  const sessions = Math.max(1, Math.min(SESSIONS, room));
  const report = await runDensity({ sessions, sessionsPerProcess: PER_PROCESS, cacheDir });
  const what = `density: live sessions, ${report.processes} processes`;
  const lacking = sessions < SESSIONS ? `, the host has memory for ${sessions}` : "";
  return [
    { what: what + lacking, value: report.right, unit: "sessions", bound: SESSIONS },
    {
      what: "density: sessions that lost their state",
      value: sessions - report.right,
      unit: "errors",
      bound: 0,
    },
    {
      what: "density: private memory per session",
      value: report.privateBytes / sessions / MB,
      unit: "MB",
      bound: 50,
    },
    { what: "density: exec in one session", ...summarize(report.execMs), unit: "ms" },
    { what: "density: sessions opened per second", value: sessions / report.openSeconds, unit: "/s" },
  ];
}

/** Opens sessions by `/v1`, stores a different number in each, and reads it back once all are open. */
export async function runDensity(options: DensityOptions): Promise<DensityReport> {
  const { sessions, cacheDir } = options;
  await using profile = await denseProfile(options.sessionsPerProcess);
  await using serving = await Serving.startWith(
    { ...cacheDir !== undefined && { PADDOCK_CACHE_DIR: cacheDir } },
    ["--max-sessions", String(sessions), "--profile", profile.path],
  );
  await using client = new PaddockClient({ url: serving.url });
  const startedAt = performance.now();
  const leases = await inLanes(sessions, async (number) => {
    const lease = await client.acquire();
    await lease.session.exec(`own = ${number}`);
    return lease;
  });
  const openSeconds = (performance.now() - startedAt) / 1_000;
  const execMs: number[] = [];
  const right = await inLanes(sessions, async (number) => {
    const askedAt = performance.now();
    const result = await leases[number]?.session.exec("own * 2");
    execMs.push(performance.now() - askedAt);
    return result?.status === "ok" && result.value === String(number * 2);
  });
  const children = await childrenOf(serving.child.pid);
  const sizes = await Promise.all(children.map(treePrivateBytes));
  return {
    right: right.filter(Boolean).length,
    processes: children.length,
    privateBytes: sizes.reduce((sum, size) => sum + size, 0),
    execMs,
    openSeconds,
  };
}

/** Runs `work` for each number, a few at a time, and returns the results. */
async function inLanes<T>(count: number, work: (number: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: LANES }, async () => {
    while (next < count) {
      const number = next++;
      done[number] = await work(number);
    }
  }));
  return done;
}

/** Writes the profile of servers to a file, with more sessions per process. */
async function denseProfile(sessionsPerProcess: number): Promise<AsyncDisposable & { path: string }> {
  const { description, limits, preimports } = await loadProfile("serve");
  const directory = await Deno.makeTempDir();
  const path = `${directory}/dense.json`;
  await Deno.writeTextFile(path, JSON.stringify({ description, limits, preimports, sessionsPerProcess }));
  return { path, [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }) };
}

/** Returns the host's available memory, or infinity if the host does not report it. */
async function availableBytes(): Promise<number> {
  const text = await Deno.readTextFile("/proc/meminfo").catch(() => "");
  const kib = /^MemAvailable:\s+(\d+) kB/m.exec(text)?.[1];
  return kib === undefined ? Infinity : Number(kib) * 1024;
}
