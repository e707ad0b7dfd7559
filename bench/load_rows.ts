import { SandboxPool } from "../src/sandbox/pool.ts";
import { loadProfile } from "../src/sandbox/profile/profile.ts";
import { forMs, type LoadReport, runLoad } from "./load.ts";
import { median, quantile, ratePerSecond, summarize } from "./measure.ts";
import type { Row } from "./row.ts";
import { ownProgram, runCode } from "./run_code.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";
import { Serving } from "./serving.ts";

const CONNECTIONS = 64;
const SESSIONS = Math.max(4, navigator.hardwareConcurrency);
const ROUNDS = 3;
const ROUND_MS = 10_000;
/** Maximum of p99 divided by p50. */
const SPREAD = 20;

/**
 * Measures `/run_code` over 64 connections from this process to `paddock serve` in another one, in turn with a pool of
 * this process that runs the same programs at the same concurrency.
 */
export async function loadRows(setup: BenchSetup): Promise<Row[]> {
  const profile = await loadProfile("serve");
  await using pool = new SandboxPool({ ...poolOptions(setup), profile, size: SESSIONS, resetMode: "rewind" });
  await using serving = await Serving.startWith(
    { PADDOCK_CACHE_DIR: setup.cacheDir },
    ["--max-sessions", String(SESSIONS)],
  );
  const rounds: { served: LoadReport; pooled: number }[] = [];
  await round(serving, pool, ROUND_MS / 2); // until V8 has compiled what is used
  for (let done = 0; done < ROUNDS * setup.effort; done++) {
    rounds.push(await round(serving, pool, ROUND_MS));
  }
  return [...rowsOf(rounds), await trainerRow(serving)];
}

/** verl's default load: 8 workers, each with 64 requests at once. */
const TRAINER = { connections: 512, programs: 1_280 };

/** Counts the programs of a trainer that get no result or a wrong one. */
async function trainerRow({ url }: Serving): Promise<Row> {
  const { connections, programs } = TRAINER;
  const { errors } = await runLoad({
    url,
    connections,
    goOn: (sent) => sent < programs,
    ask: (connection, number) => runCode(connection, ownProgram(number)),
  });
  return {
    what: `/run_code by ${connections} connections: lost of ${programs} programs`,
    value: errors.length,
    unit: "errors",
    bound: 0,
  };
}

async function round(
  serving: Serving,
  pool: SandboxPool,
  ms: number,
): Promise<{ served: LoadReport; pooled: number }> {
  const served = await runLoad({
    url: serving.url,
    connections: CONNECTIONS,
    goOn: forMs(ms),
    ask: (connection, number) => runCode(connection, ownProgram(number)),
  });
  let number = 0;
  const pooled = await ratePerSecond(() => runPooled(pool, number++), { lanes: CONNECTIONS, ms });
  return { served, pooled };
}

async function runPooled(pool: SandboxPool, number: number): Promise<void> {
  const { code, stdout } = ownProgram(number);
  await using lease = await pool.acquire();
  const result = await lease.session.exec(code);
  if (result.stdout !== stdout) {
    throw new Error(`Cannot accept the result of '${code}': ${JSON.stringify(result)}`);
  }
}

function rowsOf(rounds: readonly { served: LoadReport; pooled: number }[]): Row[] {
  const times = rounds.flatMap(({ served }) => served.times);
  const errors = rounds.flatMap(({ served }) => served.errors);
  const rates = rounds.map(({ served }) => served.times.length / served.seconds);
  const ratios = rounds.map(({ pooled }, at) => (rates[at] ?? NaN) / pooled);
  const usual = median(times);
  const what = `/run_code by ${CONNECTIONS} connections`;
  return [
    {
      what: `${what}: errors of ${times.length + errors.length}`,
      value: errors.length,
      unit: "errors",
      bound: 0,
    },
    { what: `${what}: p50`, value: usual, unit: "ms" },
    {
      what: `${what}: p99, ${SPREAD} × p50 at most`,
      value: quantile(times, 0.99),
      unit: "ms",
      bound: SPREAD * usual,
    },
    { what: `${what}: throughput`, ...summarize(rates), unit: "/s" },
    { what: `${what}: against the pool without HTTP`, ...summarize(ratios), unit: "×", bound: 0.95 },
  ];
}
