import { join } from "node:path";
import { type Waiter, WaitList } from "../../../async/wait_list.ts";
import type { ExecResult } from "../../../sandbox/contract/exec.ts";
import type { PythonSession, SessionLease, SessionPool } from "../../../sandbox/contract/pool.ts";
import { parseProfile, type Profile } from "../../../sandbox/profile/profile.ts";
import settings from "./profile.jsonc" with { type: "text" };
import source from "./verify.py" with { type: "text" };
import { wheelFolder, WHEELS } from "./wheels.ts";

const MODULE = "paddock_math_verify";

/** Returns the profile in which math-verify is imported and warm. The profile takes the wheels from a cache folder. */
export function mathVerifyProfile(cacheDir?: string): Profile {
  const profile = parseProfile(settings, { source: "math-verify" });
  const folder = wheelFolder(cacheDir);
  const packages = WHEELS.map(({ name, file, sha256 }) => (
    { name, kind: "wheel", path: join(folder, file), sha256 } as const
  ));
  return { ...profile, packages, preload: { module: MODULE, source } };
}

/** Two texts to compare, in the form that `math_verify.parse` reads. */
export interface AnswerPair {
  readonly gold: string;
  readonly answer: string;
}

/** Result of a comparison, or the reason why there is none. */
export type Verdict = { readonly isEqual: boolean } | { readonly unjudged: string };

/** Options of {@linkcode MathVerifier}. */
export interface MathVerifierOptions {
  /** Sessions of {@linkcode mathVerifyProfile}. A session must be reset after a lease. */
  readonly pool: SessionPool;
  /** Maximum number of leases at the same time. */
  readonly size: number;
  /** Time limit of a pair, in milliseconds. */
  readonly timeoutMs: number;
}

/** Pairs that are sent to a session at once. */
const MAX_BATCH = 64;
/** Time after which a session returns the verdicts of a batch so far, in milliseconds. */
const BATCH_MS = 5_000;
/** Time for which a session may fail to keep the limit of a pair, in milliseconds. */
const SLACK_MS = 1_000;
/** Pairs after which a session is reset, so that what a pair leaves behind is bounded. */
const MAX_PAIRS_OF_LEASE = 512;

interface WaitingPair {
  readonly pair: AnswerPair;
  /** True for the last pair of a session that ended. The pair then runs in a fresh session. */
  isRetry: boolean;
}

type Waiting = Waiter<Verdict, WaitingPair>;

interface HeldLease {
  readonly lease: SessionLease;
  /** Number of pairs that the session has compared. */
  pairs: number;
  /** True if a pair has exceeded a limit there. */
  isSpoiled: boolean;
}

/**
 * Compares answers with math-verify, in batches over leases. A pair that exceeds a limit has no verdict, and the
 * session is reset. The other pairs of the batch are not affected.
 */
export class MathVerifier implements AsyncDisposable {
  readonly #options: MathVerifierOptions;
  readonly #queue = new WaitList<Verdict, WaitingPair>();
  readonly #idle: HeldLease[] = [];
  readonly #runs = new Set<Promise<void>>();
  readonly #disposal = new AbortController();
  #active = 0;

  constructor(options: MathVerifierOptions) {
    this.#options = options;
  }

  /** Compares two texts. A pair that waits at the abort of its signal is not compared. */
  async compare(pair: AnswerPair, signal?: AbortSignal): Promise<Verdict> {
    this.#disposal.signal.throwIfAborted();
    const { promise } = this.#queue.add({ pair, isRetry: false }, signal);
    this.#start();
    return await promise;
  }

  /** Releases the leases. Pairs that have no verdict are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    const error = new Error("Cannot compare answers as the verifier is disposed");
    this.#disposal.abort(error);
    this.#queue.rejectAll(error);
    await Promise.all(this.#runs);
    await Promise.all(this.#idle.splice(0).map(({ lease }) => lease[Symbol.asyncDispose]()));
  }

  #start(): void {
    if (this.#active >= this.#options.size || this.#disposal.signal.aborted) return;
    this.#active++;
    const run = this.#run();
    this.#runs.add(run);
    run.finally(() => this.#runs.delete(run));
  }

  /** Compares pairs in session after session until none wait. */
  async #run(): Promise<void> {
    let held = this.#idle.pop();
    let batch: Waiting[] = [];
    try {
      while (this.#queue.size > 0) {
        if (held && !this.#canTake(held)) {
          await held.lease[Symbol.asyncDispose]();
          held = undefined;
        }
        held ??= await this.#acquire();
        batch = this.#takeBatch();
        if (batch.length > 0) await this.#compareBatch(held, batch);
      }
      if (held) this.#idle.push(held);
    } catch (error) {
      for (const { reject } of batch) reject(error);
      this.#queue.rejectAll(error);
      await held?.lease[Symbol.asyncDispose]();
    } finally {
      this.#active--;
      if (this.#queue.size > 0) this.#start();
    }
  }

  async #acquire(): Promise<HeldLease> {
    const lease = await this.#options.pool.acquire({ signal: this.#disposal.signal });
    return { lease, pairs: 0, isSpoiled: false };
  }

  #canTake({ pairs, isSpoiled }: HeldLease): boolean {
    const isFresh = pairs === 0;
    return !isSpoiled && pairs < MAX_PAIRS_OF_LEASE &&
      (isFresh || this.#queue.first?.request.isRetry !== true);
  }

  /** Takes pairs of the queue, but leaves some for the other leases. A retry comes alone. */
  #takeBatch(): Waiting[] {
    const share = Math.ceil(this.#queue.size / this.#options.size);
    return this.#queue.take(this.#queue.first?.request.isRetry === true ? 1 : Math.min(share, MAX_BATCH));
  }

  /** Compares a batch as far as the session gets, and puts the rest back. */
  async #compareBatch(held: HeldLease, batch: readonly Waiting[]): Promise<void> {
    const result = await this.#exec(held.lease.session, batch.map(({ request }) => request.pair));
    const verdicts = readVerdicts(result.stdout).slice(0, batch.length);
    verdicts.forEach((verdict, at) => batch[at]?.resolve(verdict));
    const rest = batch.slice(verdicts.length);
    const wasFresh = held.pairs + verdicts.length === 0;
    held.pairs += batch.length;
    if (result.status === "ok" && verdicts.length > 0) {
      this.#queue.putBack(rest);
    } else {
      held.isSpoiled = true;
      this.#endPair(rest, result, { wasFresh });
    }
  }

  /**
   * Ends the pair that stopped a session. If earlier pairs may be the reason of the stop, the pair gets a fresh session.
   */
  #endPair(rest: readonly Waiting[], result: ExecResult, { wasFresh }: { wasFresh: boolean }): void {
    const [stopped, ...others] = rest;
    const isLate = result.status === "timeout" || isRowLimit(result);
    this.#queue.putBack(others);
    if (stopped === undefined) return;
    if (isLate || wasFresh) {
      stopped.resolve({ unjudged: isLate ? this.#deadlineReason() : reasonOf(result) });
    } else {
      stopped.request.isRetry = true;
      this.#queue.putBack([stopped]);
    }
  }

  #deadlineReason(): string {
    return `deadline exceeded: the comparison took more than ${this.#options.timeoutMs} ms`;
  }

  async #exec(session: PythonSession, pairs: readonly AnswerPair[]): Promise<ExecResult> {
    const { timeoutMs } = this.#options;
    return await session.exec(
      `__import__("${MODULE}").judge(${timeoutMs / 1_000}, ${BATCH_MS / 1_000})`,
      {
        stdin: JSON.stringify(pairs.map(({ gold, answer }) => [gold, answer])),
        timeoutMs: BATCH_MS + timeoutMs + SLACK_MS,
        signal: this.#disposal.signal,
      },
    );
  }
}

const VERDICTS: ReadonlyMap<string, Verdict> = new Map([
  ["equal", { isEqual: true }],
  ["different", { isEqual: false }],
  ["gold", { unjudged: "math-verify cannot parse the task's answer" }],
]);

/** Reads the lines of `verify.py`, up to the first line that is none of the script's words. */
function readVerdicts(stdout: string): Verdict[] {
  const verdicts = stdout.split("\n").slice(0, -1).map((line) => VERDICTS.get(line));
  const end = verdicts.indexOf(undefined);
  return verdicts.slice(0, end < 0 ? undefined : end).filter((verdict) => verdict !== undefined);
}

function isRowLimit(result: ExecResult): boolean {
  return result.status === "error" && result.error.type === "RowLimit";
}

function reasonOf({ status }: ExecResult): string {
  return status === "memory"
    ? "memory exceeded: the comparison needed more than its sandbox has"
    : `the comparison ended as '${status}'`;
}
