import { SandboxPool } from "../src/sandbox/pool.ts";
import { exposedCollector } from "../src/server/garbage.ts";
import { HibernationStore } from "../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../src/server/hibernation/state_directory.ts";
import { Metrics } from "../src/server/metrics.ts";
import type { LiveSession } from "../src/server/sessions/live_session.ts";
import { SessionService } from "../src/server/sessions/session_service.ts";
import { quantile, summarize, timings, treePrivateBytes } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";
import { Serving } from "./serving.ts";

const [KB, MB, GIB] = [1e3, 1e6, 1024 ** 3];
const NEVER = 3_600_000;
const { signal } = new AbortController();

/** State of a session as an agent leaves it: imports, a function, a generator, data and a file. */
const STATE = `
import json, re, random, collections
def plan(n):
    for step in range(n): yield {"step": step, "note": "look " * 4}
todo = plan(9); next(todo)
seen = {f"page{n}": collections.Counter("some words of a page".split()) for n in range(200)}
open("notes.txt", "w").write(json.dumps({name: dict(counts) for name, counts in seen.items()}))
own = `;

/** Measures how fast sessions hibernate and wake, and a server with many more sessions than interpreters. */
export async function hibernationRows(setup: BenchSetup): Promise<Row[]> {
  return [...await wakeRows(setup), ...await manySessionsRows(setup)];
}

async function wakeRows(setup: BenchSetup): Promise<Row[]> {
  const runs = 100 * setup.effort;
  const folder = await Deno.makeTempDir();
  try {
    using directory = await StateDirectory.open(`${folder}/state`);
    const inMemory = await measureWakes(setup, new HibernationStore(), runs);
    const onDisk = await measureWakes(setup, new HibernationStore({ bytes: 4_097, directory }), runs);
    return [
      { what: "exec in a session that is awake", ...summarize(inMemory.awake), unit: "ms" },
      {
        what: "exec that wakes a session from memory",
        ...summarize(inMemory.wake),
        unit: "ms",
        bound: 20,
      },
      { what: "exec that wakes a session from disk", ...summarize(onDisk.wake), unit: "ms", bound: 30 },
      { what: "hibernate, until the interpreter is free", ...summarize(inMemory.hibernate), unit: "ms" },
      { what: "the same, with the state on disk", ...summarize(onDisk.hibernate), unit: "ms" },
      { what: "a hibernating session, compressed", value: inMemory.bytes / KB, unit: "kB" },
    ];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Wakes {
  readonly awake: readonly number[];
  readonly wake: readonly number[];
  readonly hibernate: readonly number[];
  readonly bytes: number;
}

async function measureWakes(setup: BenchSetup, store: HibernationStore, runs: number): Promise<Wakes> {
  await using pool = new SandboxPool({ ...poolOptions(setup), size: 2, resetMode: "rewind" });
  await using sessions = serviceOf(pool, store, 2);
  const session = await sessions.create({ owner: "", signal });
  await session.exec(`${STATE}1`);
  await session.life.hibernate();
  const bytes = store.bytes("memory") + store.bytes("directory");
  const [awake, wake, hibernate]: [number[], number[], number[]] = [[], [], []];
  for (let run = 0; run < runs; run++) {
    wake.push(...await timings(() => session.exec("own"), { runs: 1 }));
    awake.push(...await timings(() => session.exec("own"), { runs: 1 }));
    hibernate.push(...await timings(() => session.life.hibernate(), { runs: 1 }));
  }
  return { awake, wake, hibernate, bytes };
}

function serviceOf(pool: SandboxPool, store: HibernationStore, maxSessions: number): SessionService {
  return new SessionService({
    pool,
    metrics: new Metrics(),
    maxSessions,
    hibernation: { store, afterMs: NEVER },
  });
}

const SESSIONS = 2_000;
const MANY_SESSIONS = 10_000;
/** Interpreters of the server with many sessions. */
const INTERPRETERS = 16;
const ROUND_MS = 60_000;
const OPENING_LANES = 8;

/** Holds 2,000 sessions, each of which runs a program once in a minute. */
async function manySessionsRows({ cacheDir, effort }: BenchSetup): Promise<Row[]> {
  await using serving = await Serving.startWith({ PADDOCK_CACHE_DIR: cacheDir }, [
    "--max-sessions",
    String(INTERPRETERS),
    "--hibernate-after",
    "10",
  ]);
  const empty = await treePrivateBytes(serving.child.pid);
  const ids = await openAll(serving);
  const execMs: number[] = [];
  let errors = 0;
  for (let round = 1; round <= effort; round++) {
    const startedAt = performance.now();
    await Promise.all(ids.map(async (id, number) => {
      await sleepUntil(startedAt + number * ROUND_MS / SESSIONS);
      const askedAt = performance.now();
      const result = await exec(serving, id, "own += 1\nown");
      execMs.push(performance.now() - askedAt);
      if (result.value !== String(number + round)) errors++;
    }));
  }
  const full = await treePrivateBytes(serving.child.pid);
  const extrapolated = empty + (full - empty) * MANY_SESSIONS / SESSIONS;
  const what = `${SESSIONS} sessions of ${INTERPRETERS} interpreters, an exec a minute each`;
  return [
    { what: `${what}: wrong or lost`, value: errors, unit: "errors", bound: 0 },
    { what: `${what}: exec, with its wake`, ...summarize(execMs), unit: "ms" },
    { what: `${what}: p99`, value: quantile(execMs, 0.99), unit: "ms" },
    { what: `${what}: private memory`, value: full / MB, unit: "MB", bound: 6 * GIB / MB },
    { what: "the same server without sessions", value: empty / MB, unit: "MB" },
    {
      what: `${MANY_SESSIONS} sessions, extrapolated: private memory`,
      value: extrapolated / MB,
      unit: "MB",
      bound: 24 * GIB / MB,
    },
  ];
}

async function openAll(serving: Serving): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: OPENING_LANES }, async () => {
    while (next < SESSIONS) {
      const number = next++;
      const { id } = await serving.ask("/v1/sessions", {}) as { id: string };
      await exec(serving, id, STATE + number);
      ids[number] = id;
    }
  }));
  return ids;
}

async function exec(serving: Serving, id: string, code: string): Promise<{ value?: string }> {
  return await serving.ask(`/v1/sessions/${id}/exec`, { code }) as { value?: string };
}

async function sleepUntil(time: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, time - performance.now())));
}

const collectGarbage = exposedCollector();

const HIBERNATIONS = 100_000;
/** Share of the hibernations before the memory is first measured. */
const WARMUP = 0.1;
const SETTLE_MS = 2_000;

/** Measures the growth of memory over 10^5 hibernations, half of them on disk. */
export async function hibernationGrowthRows(setup: BenchSetup): Promise<Row[]> {
  const folder = await Deno.makeTempDir();
  try {
    using directory = await StateDirectory.open(`${folder}/state`);
    const store = new HibernationStore({ bytes: 100_000, directory });
    await using pool = new SandboxPool({ ...poolOptions(setup), size: 2, resetMode: "rewind" });
    await using sessions = serviceOf(pool, store, 2);
    const opened: LiveSession[] = [];
    for (let number = 0; number < 8; number++) {
      const session = await sessions.create({ owner: "", signal });
      await session.exec(STATE + number);
      opened.push(session);
    }
    const cycle = async (count: number) => {
      for (let done = 0; done < count; done++) {
        const session = opened[done % opened.length];
        await session?.use(() => Promise.resolve()); // an exec would let its state grow by its source
        await session?.life.hibernate();
      }
    };
    await cycle(WARMUP * HIBERNATIONS);
    const before = await ownMemory();
    await cycle((1 - WARMUP) * HIBERNATIONS);
    const after = await ownMemory();
    for (const [number, session] of opened.entries()) {
      const result = await session.exec("own");
      if (result.status !== "ok" || result.value !== String(number)) {
        throw new Error("a session lost its state");
      }
    }
    return [{
      what: `growth over ${HIBERNATIONS} hibernations, host and sandboxes`,
      value: (after / before - 1) * 100,
      unit: "%",
      bound: 2,
    }];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns the private memory of this process and all below it, after its garbage is collected. */
async function ownMemory(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  collectGarbage();
  return await treePrivateBytes(Deno.pid);
}
