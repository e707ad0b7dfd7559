import { Serving } from "../serving.ts";
import {
  type Attack,
  growth,
  type Measured,
  SERVER_BOUNDS,
  type ServerCase,
  type TwinLoad,
  waitsTooLong,
} from "./case.ts";
import { WATCH_KINDS } from "./honest_requests.ts";
import { HonestTenant, longestWaits } from "./honest_tenant.ts";
import { MemoryWatch } from "./memory_watch.ts";
import { pauseMs, repeat, Tally, Tenant } from "./tenant.ts";

/** Options of {@linkcode measureServerCase}. */
export interface SuiteOptions {
  /** Root of the tree whose command line is tested. */
  readonly root: string;
  /** Time of one case, in milliseconds. */
  readonly caseMs: number;
  /**
   * Memory of all processes above which the tested one is killed, in bytes. It counts the sandboxes, too, and beside it
   * a case may take its `permittedPeakBytes`.
   */
  readonly killBytes: number;
}

/** A server with two tenants. */
export interface Target extends AsyncDisposable {
  readonly hostile: Tenant;
  readonly honest: Tenant;
  readonly others: readonly Tenant[];
  readonly memory: MemoryWatch;
}

const QUIET_MS = 2_000;
const CHECK_MS = 10_000;
const RETURN_MS = 10_000;
const TOKENS = { hostile: "hostile-".padEnd(32, "h"), honest: "honest-".padEnd(32, "t") };

/** Starts a server with two tokens and, unless the case has its own, the shipped defaults. */
export async function startTarget(
  { root, killBytes }: SuiteOptions,
  { descriptors, args = [], furtherTokens = 0, permittedPeakBytes = 0 }: Partial<ServerCase> = {},
): Promise<Target> {
  const others = Array.from({ length: furtherTokens }, (_, at) => `other-${at}-`.padEnd(32, "o"));
  const env = { PADDOCK_TOKEN: [TOKENS.hostile, TOKENS.honest, ...others].join() };
  const serving = await Serving.startWith(env, args, {
    cli: `${root}/src/cli.ts`,
    descriptors,
    isDetached: true,
  });
  const memory = new MemoryWatch(serving.child.pid, { killBytes: killBytes + permittedPeakBytes });
  return {
    hostile: new Tenant(serving.url, TOKENS.hostile),
    honest: new Tenant(serving.url, TOKENS.honest),
    others: others.map((token) => new Tenant(serving.url, token)),
    memory,
    async [Symbol.asyncDispose]() {
      memory[Symbol.dispose]();
      await serving.end("SIGKILL").catch(() => {}); // it has ended already
    },
  };
}

/** Attacks a new server, and compares with an honest load if the other tenant waits too long. */
export async function measureServerCase(attack: ServerCase, options: SuiteOptions): Promise<Measured> {
  const measured = await measureWaits(attack, options);
  const longest = worstWait(measured.waits, measured.quiet);
  const result = { ...measured, ...longest };
  if (!waitsTooLong(result, SERVER_BOUNDS)) return result;
  const load = HONEST_LOADS[attack.twin ?? "requests"];
  const twin = await measureWaits({ ...attack, prepare: () => {}, play: load }, options);
  return { ...result, twinMs: twin.waits.get(longest.waited) ?? 0 };
}

type Waits = ReturnType<typeof longestWaits>;

/** Plays a case against a new server, and measures memory and the longest wait of each kind of request. */
async function measureWaits(
  attack: ServerCase,
  options: SuiteOptions,
): Promise<Omit<Measured, "waitMs" | "quietMs" | "waited"> & { waits: Waits; quiet: Waits }> {
  attack.prepare?.();
  await using target = await startTarget(options, attack);
  using honest = await HonestTenant.start(target.honest, attack.watch ?? WATCH_KINDS);
  await pauseMs(QUIET_MS / 2, AbortSignal.timeout(QUIET_MS)); // first requests warm the server up
  await honest.report();
  await pauseMs(QUIET_MS, AbortSignal.timeout(2 * QUIET_MS));
  const quiet = longestWaits(await honest.report());
  const idle = await target.memory.restart();
  const [tally, breaches] = [new Tally(), new Set<string>()];
  const ended = new AbortController();
  const signal = AbortSignal.any([
    ended.signal,
    AbortSignal.timeout(Math.max(options.caseMs, attack.minMs ?? 0)),
  ]);
  const context: Attack = {
    hostile: target.hostile,
    honest: target.honest,
    others: target.others,
    openFiles: () => target.memory.openFiles(),
    honestSession: honest.session,
    tally,
    signal,
    breach: (text) => breaches.add(text),
  };
  await attack.play(context).catch((error) => {
    if (!signal.aborted) tally.add(`stopped: ${error}`.slice(0, 100));
  });
  await pauseMs(QUIET_MS / 2, signal); // a wait may begin with the last request
  ended.abort();
  const lost = target.memory.wasKilled ? [] : await honest.lostState(AbortSignal.timeout(CHECK_MS));
  const report = await honest.report(); // a server that was blocked has answered by now, or never will
  await releaseSessions(target.hostile, AbortSignal.timeout(CHECK_MS));
  const kept = growth(await returnedMemory(target.memory, idle.host), idle);
  const peak = growth(target.memory.peak, idle);
  [...report.wrong, ...lost].forEach((text) => breaches.add(text));
  if (target.memory.wasKilled) breaches.add("killed above the limit of memory");
  return {
    hostBytes: Math.max(0, peak.host - (attack.permittedPeakBytes ?? 0)),
    treeBytes: peak.tree,
    keptBytes: Math.max(0, kept.host - (attack.permittedBytes ?? 0)),
    outcome: `${tally}${report.retries > 0 ? `; honest requests refused: ${report.retries}` : ""}`,
    breaches: [...breaches].slice(0, 3),
    waits: longestWaits(report),
    quiet,
  };
}

/** Ends the sessions and envs of a tenant, which would keep their memory. */
export async function releaseSessions(hostile: Tenant, signal: AbortSignal): Promise<void> {
  for (const kind of ["sessions", "envs"]) {
    const list = await hostile.json(`/v1/${kind}`, {}, { method: "GET", signal }).catch(() => ({}));
    // deno-lint-ignore no-explicit-any -- the response of a list
    const ids: string[] = (list[kind] ?? []).map(({ id }: any) => id);
    await Promise.all(
      ids.map((id) => hostile.post(`/v1/${kind}/${id}`, "", { method: "DELETE", signal }).catch(() => {}) // it has ended already
      ),
    );
  }
}

/** Waits until the memory is near its idle value, and returns it. */
async function returnedMemory(memory: MemoryWatch, idleBytes: number) {
  const deadline = AbortSignal.timeout(RETURN_MS);
  for (;;) {
    const now = await memory.now();
    if (now.host - idleBytes <= SERVER_BOUNDS.keptBytes || deadline.aborted || memory.wasKilled) return now;
    await pauseMs(500, deadline);
  }
}

/** Returns the kind of request that waited longest beyond its quiet wait. */
function worstWait(waits: Waits, quiet: Waits) {
  const sorted = [...waits]
    .map(([waited, waitMs]) => ({ waited, waitMs, quietMs: quiet.get(waited) ?? 0 }))
    .sort((a, b) => b.waitMs - b.quietMs - (a.waitMs - a.quietMs));
  return sorted[0] ?? { waited: "health" as const, waitMs: 0, quietMs: 0 };
}

const LANES = 4;
const BODY_CHARACTERS = 20_000_000;

/** Loads of honest requests, by kind. */
const HONEST_LOADS: Readonly<Record<TwinLoad, (attack: Attack) => Promise<void>>> = {
  async requests({ hostile, ...run }) {
    const body = { grader: "math", task: { answer: "4" }, messages: [{ role: "assistant", content: "4" }] };
    await repeat(LANES, run, async () => (await hostile.post("/v1/grade", body, run)).status);
  },
  async bodies({ hostile, ...run }) {
    const body = JSON.stringify({ code: "1", stdin: "a".repeat(BODY_CHARACTERS) });
    await repeat(LANES, run, async () => (await hostile.post("/run_code", body, run)).status);
  },
  async programs({ hostile, ...run }) {
    const body = { code: "print(sum(range(3_000_000)))", language: "python" };
    await repeat(LANES, run, async () => (await hostile.post("/run_code", body, run)).status);
  },
};
