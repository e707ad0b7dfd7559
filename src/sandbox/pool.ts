import { checkOptionNames } from "./contract/known_options.ts";
import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { Semaphore } from "../async/semaphore.ts";
import { WaitList } from "../async/wait_list.ts";
import { ArgumentRangeError, ArgumentTypeError } from "../errors.ts";
import {
  type CheckpointOrigin,
  checkpointOrigin,
  type CheckpointScope,
  openCheckpoint,
  readCheckpoint,
} from "./checkpoint/checkpoint.ts";
import { CheckpointCompressor } from "./checkpoint/compression.ts";
import { forkSession, requireForkSeed } from "./checkpoint/fork.ts";
import { checkpointMemoryOf, statesOf } from "./checkpoint/state_memory.ts";
import type { Checkpoint, CheckpointOptions, ForkOptions } from "./contract/checkpoint.ts";
import type {
  BranchingLease,
  BranchingPool,
  SandboxAcquireOptions,
  SessionLease,
  SessionPool,
} from "./contract/pool.ts";
import { checkEvery, checkProfile, checkResetMode, checkSeed, checkTimeScale } from "./exec/exec_check.ts";
import { countNewInterpreters, IdleSessions, type WaitingLease } from "./idle_sessions.ts";
import { disposeUnless, Lease } from "./lease.ts";
import { type EgressBroker, openBroker } from "./network/egress_broker.ts";
import { detectLayers, type LayerReport } from "./process/layers.ts";
import type { Profile } from "./profile/profile.ts";
import { Sandbox, SANDBOX_OPTIONS, type SandboxOptions } from "./sandbox.ts";
import type { Session } from "./session.ts";
import { warmUp } from "./warm_up.ts";

/** Options of {@linkcode SandboxPool}. */
export interface SandboxPoolOptions extends SandboxOptions {
  readonly profile: Profile;
  /**
   * Number of sessions, leased and idle, from 1 to 4096.
   *
   * @default the number of CPU cores
   */
  size?: number | undefined;
  /**
   * Number of further sessions, from 0 to 4096, so that a lease need not wait while the session of an ended lease is
   * reset. At most `size` sessions are leased at the same time.
   *
   * @default 0
   */
  spare?: number | undefined;
  /**
   * Number of further sessions in reset mode `owner`, from 0 to 4096. A further session starts when more owners than
   * sessions take turns, so that each owner finds the owner's own interpreter again, and ends after `keepMs` without
   * use.
   *
   * @default 0
   */
  keep?: number | undefined;
  /**
   * Milliseconds for which an interpreter stays with the owner without a lease, in reset mode `owner`.
   *
   * @default 60_000
   */
  keepMs?: number | undefined;
  /**
   * Reset of a session after a lease. `fresh` starts a new interpreter, so that no lease can affect a later lease.
   * `rewind` writes the base image back over the heap: faster, but only for leases that trust each other. `owner`
   * rewinds between leases of the same owner, and starts a new interpreter for another owner and after leases without
   * an owner.
   *
   * @default "fresh"; once many leases have waited for their processes, a line on stderr states the price
   */
  resetMode?: "fresh" | "rewind" | "owner" | undefined;
  /**
   * See {@linkcode SandboxOptions.optimize}. Processes of a pool that rewinds sessions run many programs.
   *
   * @default "use" if `resetMode` is `fresh`, otherwise "start"
   */
  optimize?: SandboxOptions["optimize"];
}

interface Process {
  readonly sandbox: Promise<Sandbox>;
  sessions: number;
}

/** Number of leases that wait for a new process, from which on a pool states what that costs. */
const MANY_WAITS = 16;
const PRICE =
  "paddock: this pool starts a process for each lease, some 0.3 s of CPU time, as 'resetMode' is not given: " +
  "'rewind' takes some 2 ms, for leases that trust each other; 'owner' does so for the leases of one owner; " +
  "'fresh' keeps processes and ends this message";
const MAX_SIZE = 4096;
const KEEP_MS = 60_000;
/**
 * Time for which a domain waits for sessions of the domain before the pool prepares a new interpreter, in
 * milliseconds. To start an interpreter takes as long.
 */
const PATIENCE_MS = 300;
/**
 * Number of interpreters that start at once. With more, each start takes longer, and in a large pool longer than
 * the start timeout.
 */
const MAX_CONCURRENT_STARTS = 2 * navigator.hardwareConcurrency;

/**
 * A pool of started sessions. A lease is immediate while a session is idle. Used sessions are reset in the
 * background.
 *
 * @example Lease a session
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { loadProfile, SandboxPool } from "@paddock/paddock";
 *
 * await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
 * await using lease = await pool.acquire({ seed: 7 });
 * const result = await lease.session.exec("sum(range(10))");
 * assertEquals(result.status === "ok" && result.value, "45");
 * ```
 */
export class SandboxPool implements BranchingPool, AsyncDisposable {
  /** Maximum number of leases at the same time. */
  readonly size: number;
  readonly #options: SandboxPoolOptions;
  readonly #detected: Promise<readonly LayerReport[]>;
  readonly #processes: Process[] = [];
  readonly #processOf = new Map<Session, Process>();
  readonly #sessionOf = new WeakMap<SessionLease, Session>();
  readonly #idle = new IdleSessions<Session>();
  /** Whose programs have run in the processes of sessions. */
  readonly #domains = new Map<Session, string>();
  /** Sessions that are rewound for their domains. */
  readonly #rewinding = new Set<Session>();
  /** Sessions with an interpreter that has run nothing yet. */
  readonly #cold = new Set<Session>();
  readonly #waiting = new WaitList<Session, WaitingLease>();
  readonly #busy = new Set<Promise<void>>();
  readonly #starts = new Semaphore(MAX_CONCURRENT_STARTS);
  readonly #compressor = new CheckpointCompressor();
  /** Makes the connections of all sessions. Its process starts with the first one. */
  readonly #broker: EgressBroker;
  /** Cancels starts when the pool is disposed. */
  readonly #disposal = new AbortController();
  /** Number of sessions, leased, idle or being reset. */
  #slots = 0;
  #leases = 0;
  /** Number of sessions that are started, or reset to a new interpreter. */
  #coming = 0;
  /** Number of leases that had to wait for a session. */
  #waits = 0;
  #expiry: ReturnType<typeof setTimeout> | undefined;
  #disposed = false;

  /**
   * Begins to start sessions at once.
   *
   * @throws {RangeError} if `size` is not an integer from 1 to 4096, or `spare` is not an integer from 0 to 4096.
   * @throws {TypeError} if `profile` is not a profile or `resetMode` is unknown.
   */
  constructor(options: SandboxPoolOptions) {
    requireKnownOptions("create SandboxPool", options, OPTIONS);
    const { size = navigator.hardwareConcurrency, spare = 0, keep = 0 } = options;
    checkCount("size", size, 1);
    checkCount("spare", spare, 0);
    checkCount("keep", keep, 0);
    checkProfile(options.profile);
    checkTimeScale(options.profile.timeScale);
    if (options.resetMode !== "owner") checkResetMode(options.resetMode);
    this.size = size;
    this.#options = options;
    this.#broker = openBroker(options.profile, options.networkTrial);
    this.#detected = Promise.resolve(options.detected ?? detectLayers());
    this.#fill();
  }

  /** {@inheritDoc SessionPool.limits} */
  get limits(): NonNullable<SessionPool["limits"]> {
    return this.#options.profile.limits;
  }

  /** {@inheritDoc SessionPool.timeScale} */
  get timeScale(): number | undefined {
    return this.#options.profile.timeScale;
  }

  /**
   * Leases a session. Waits if all are leased; first come, first served. No lease before had the session's
   * interpreter, unless `resetMode` is `rewind`, or `owner` and that lease had the same owner. With a `seed` the
   * session's randomness is reproducible. With `from` the session is in the state of a checkpoint.
   *
   * @throws {CheckpointError} if that checkpoint must not be restored here.
   * @throws {ArgumentRangeError} if `seed` is not a safe integer, or `checkpointEvery` is out of range.
   * @throws {SandboxError} if no session can be started.
   * @throws {Error} if the pool is disposed.
   * @throws the reason of `signal` if aborted.
   */
  async acquire(options: SandboxAcquireOptions = {}): Promise<Lease> {
    checkOptionNames("acquire", options);
    const { seed, once, from, owner, near, checkpointEvery: every, signal } = options;
    checkSeed(seed);
    checkEvery(every);
    if (from && seed !== undefined) {
      throw new ArgumentTypeError("Cannot acquire session as only one of 'seed' and 'from' may be given");
    }
    const domain = this.#domainOf(owner);
    const { lease, session } = await this.#lease({ domain, once, near, signal });
    if (every !== undefined) session.setRecovery({ every, memory: checkpointMemoryOf(options) });
    if (from) return await disposeUnless(lease, session.restore(from, { owner, signal }));
    if (seed === undefined) return lease;
    return await disposeUnless(lease, session.reset({ mode: "rewind", seed, signal }));
  }

  /** {@inheritDoc BranchingPool.readCheckpoint} */
  async readCheckpoint(bytes: Uint8Array, options: CheckpointOptions = {}): Promise<Checkpoint> {
    checkOptionNames("readCheckpoint", options);
    const { owner, signal } = options;
    const checkpoint = await readCheckpoint(bytes);
    const { stateBytes, expand } = await openCheckpoint(checkpoint, await this.#checkpointScope(), { owner });
    using _room = await statesOf(options)?.reserve(stateBytes, signal);
    await expand();
    return checkpoint;
  }

  /** Returns what the checkpoints of the pool's sessions are bound to, as texts that tell nothing of the key. */
  async checkpointOrigin(): Promise<CheckpointOrigin> {
    return await checkpointOrigin(await this.#checkpointScope());
  }

  /** Ends every session, leased or idle, and waits until their processes have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    clearTimeout(this.#expiry);
    this.#disposal.abort(new Error("Cannot start sandbox as its pool is disposed"));
    this.#waiting.rejectAll(new Error("Cannot acquire session as the pool is disposed"));
    await Promise.all(this.#processes.map(async ({ sandbox }) => {
      await (await sandbox.catch(() => undefined))?.[Symbol.asyncDispose]();
    }));
    await Promise.all(this.#busy);
    await this.#compressor[Symbol.asyncDispose]();
    await this.#broker[Symbol.asyncDispose]();
    await this.#detected.catch(() => {}); // the error has been passed to the waiters
  }

  async #checkpointScope(): Promise<CheckpointScope> {
    const { sandbox } = this.#processes[0] ?? this.#processWithRoom();
    return await (await sandbox).checkpointScope();
  }

  /** Returns the name of those whose leases may follow one another in a process; `undefined` if none may follow. */
  #domainOf(owner: string | undefined): string | undefined {
    const { resetMode = "fresh" } = this.#options;
    if (resetMode === "owner") return owner;
    return resetMode === "rewind" ? "" : undefined;
  }

  async #lease(
    { domain, once, near, signal }:
      & Pick<SandboxAcquireOptions, "once" | "near" | "signal">
      & Pick<WaitingLease, "domain">,
  ): Promise<{ lease: Lease; session: Session }> {
    signal?.throwIfAborted();
    if (this.#disposed) throw new Error("Cannot acquire session as the pool is disposed");
    const session = this.#take(domain, near) ?? await this.#wait(domain, signal);
    const release = () => {
      this.#leases--;
      session.setRecovery(undefined);
      this.#track(this.#reset(session));
      this.#serveWaiters();
    };
    const fork = (count: number, options?: ForkOptions) => this.#fork(session, count, options);
    const then = once && domain !== undefined ? "rewind" as const : undefined;
    const lease = new Lease(session, release, { then, fork, recovery: session });
    this.#sessionOf.set(lease, session);
    return { lease, session };
  }

  /** Leases sessions in the state of a leased session. */
  async #fork(parent: Session, count: number, options: ForkOptions = {}): Promise<BranchingLease[]> {
    const { seed, signal } = options;
    requireForkSeed(this.#options.profile, seed);
    if (count >= this.size) {
      throw new ArgumentRangeError(
        `Cannot fork session as 'count' must be < ${this.size}, the size of the pool: current value is ${count}`,
      );
    }
    return await forkSession(count, {
      seed,
      capture: () => parent.captureState({ states: statesOf(options), signal }),
      copy: async (state, reseeding) => {
        const { lease, session } = await this.#lease({ domain: this.#domains.get(parent), signal });
        return await disposeUnless(lease, session.restoreState(state, { ...reseeding, signal }));
      },
    });
  }

  async #wait(domain: string | undefined, signal: AbortSignal | undefined): Promise<Session> {
    const patientUntil = performance.now() + PATIENCE_MS;
    const { promise } = this.#waiting.add({ domain, patientUntil }, signal);
    const patience = this.#options.resetMode === "owner"
      ? setTimeout(() => this.#provide(), PATIENCE_MS)
      : undefined;
    this.#statePrice();
    this.#fill();
    this.#provide();
    try {
      return await promise;
    } finally {
      clearTimeout(patience);
    }
  }

  /** Prints once what a process for each lease costs, if the caller has not chosen that reset mode. */
  #statePrice(): void {
    // deno-lint-ignore no-console -- a program that chose nothing has no other place to hear of the price
    if (this.#options.resetMode === undefined && ++this.#waits === MANY_WAITS) console.warn(PRICE);
  }

  #fill(): void {
    const { spare = 0 } = this.#options;
    while (this.#slots < this.size + spare && !this.#disposed) this.#start();
  }

  /** Prepares a new interpreter for each waiting owner without a session, where none is being started. */
  #provide(): void {
    if (this.#options.resetMode !== "owner" || this.#disposed) return;
    const { spare = 0, keep = 0 } = this.#options;
    for (let missing = this.#countMissing(); missing > 0; missing--) {
      if (this.#slots < this.size + spare + keep) {
        this.#start();
        continue;
      }
      const session = this.#idle.takeOldest();
      if (!session) return; // the end of a lease frees a session
      this.#domains.delete(session);
      this.#track(this.#reset(session));
    }
  }

  /** Returns the number of waiters that need a new interpreter, and for which none is being started. */
  #countMissing(): number {
    const waiting = [...this.#waiting].slice(0, this.size - this.#leases).map(({ request }) => request);
    return countNewInterpreters(waiting, {
      domains: new Set(this.#domains.values()),
      rewinding: [...this.#rewinding].flatMap((session) => this.#domains.get(session) ?? []),
      now: performance.now(),
    }) - this.#coming;
  }

  #start(): void {
    this.#slots++;
    this.#track(this.#add());
  }

  /** Starts a session, in a process with room or else in a new process. */
  async #add(): Promise<void> {
    using coming = this.#come();
    using _start = await this.#starts.acquire();
    if (this.#disposed) return;
    const process = this.#processWithRoom();
    process.sessions++;
    try {
      const session = await (await process.sandbox).openSession();
      this.#processOf.set(session, process);
      this.#cold.add(session);
      coming[Symbol.dispose]();
      this.#offer(session);
    } catch (error) {
      this.#releaseSlot(process);
      await this.#rejectWaiters(process, error);
    }
  }

  #releaseSlot(process: Process | undefined): void {
    if (process) process.sessions--;
    this.#slots--;
  }

  /** Rejects the first waiter if the waiter's session did not start, or all waiters if the process did not start. */
  async #rejectWaiters({ sandbox }: Process, error: unknown): Promise<void> {
    const startFailed = await sandbox.then(() => false, () => true);
    if (startFailed) this.#waiting.rejectAll(error);
    else this.#waiting.first?.reject(error);
    if (this.#waiting.size > 0) this.#fill();
  }

  #processWithRoom(): Process {
    const found = this.#processes.find(({ sessions }) => sessions < this.#options.profile.sessionsPerProcess);
    if (found) return found;
    const optimize = (this.#options.resetMode ?? "fresh") === "fresh" ? "use" as const : "start" as const;
    const signals = [this.#disposal.signal];
    if (this.#options.signal) signals.push(this.#options.signal);
    const signal = AbortSignal.any(signals);
    const sandbox = this.#detected.then((detected) =>
      Sandbox.start({
        optimize,
        ...pickKnownOptions(this.#options, SANDBOX_OPTIONS),
        compressor: this.#compressor,
        broker: this.#broker,
        detected,
        signal,
      })
    );
    const process: Process = { sandbox, sessions: 0 };
    this.#processes.push(process);
    sandbox.catch(() => this.#processes.splice(this.#processes.indexOf(process), 1));
    return process;
  }

  /**
   * Makes a session available. If the session stays idle, the first lease waits for the end of the session's
   * {@linkcode warmUp}.
   */
  #offer(session: Session): void {
    const domain = this.#domains.get(session);
    this.#idle.add(session, domain);
    this.#serveWaiters();
    if (domain !== undefined && this.#options.resetMode === "owner") this.#expireLater();
    if (this.#idle.has(session) && this.#cold.delete(session)) this.#track(warmUp(session));
  }

  /** Returns an idle session, the session of an earlier lease if possible, unless there are `size` leases. */
  #take(domain: string | undefined, near?: SessionLease): Session | undefined {
    if (this.#leases >= this.size) return undefined;
    const session = this.#idle.take(domain, near && this.#sessionOf.get(near));
    if (!session) return undefined;
    this.#leases++;
    if (domain !== undefined) this.#domains.set(session, domain);
    return session;
  }

  #serveWaiters(): void {
    const without = new Set<string | undefined>();
    for (const { request: { domain }, resolve } of this.#waiting) {
      if (this.#idle.size === 0) break;
      if (without.has(domain)) continue;
      const session = this.#take(domain);
      if (session) resolve(session);
      else without.add(domain);
    }
    this.#provide();
  }

  /** Ends sessions that their owners have not used for long, or gives them a new process. */
  #expireLater(): void {
    if (this.#expiry !== undefined || this.#disposed) return;
    const { keepMs = KEEP_MS, spare = 0 } = this.#options;
    this.#expiry = setTimeout(() => {
      this.#expiry = undefined;
      const excess = this.#slots - this.size - spare;
      for (const [at, session] of this.#idle.takeUnused(keepMs).entries()) {
        this.#domains.delete(session);
        this.#track(at < excess ? this.#end(session) : this.#reset(session));
      }
      if (this.#idle.hasDomain) this.#expireLater();
    }, keepMs);
    this.#expiry.unref();
  }

  async #reset(session: Session): Promise<void> {
    const domain = this.#domains.get(session);
    const mode = domain === undefined ? "fresh" : "rewind";
    using coming = domain === undefined ? this.#come() : undefined;
    using _start = domain === undefined ? await this.#starts.acquire() : undefined;
    if (this.#disposed) return;
    if (mode === "rewind") this.#rewinding.add(session);
    try {
      await session.reset({ mode }).finally(() => this.#rewinding.delete(session));
      if (mode === "fresh") this.#cold.add(session);
      coming?.[Symbol.dispose]();
      this.#offer(session);
    } catch {
      if (this.#disposed) return;
      await this.#end(session);
      if (this.#waiting.size > 0) this.#fill(); // a waiter gets the next session, or the error of the start
    }
  }

  async #end(session: Session): Promise<void> {
    this.#domains.delete(session);
    this.#cold.delete(session);
    const process = this.#processOf.get(session);
    this.#processOf.delete(session);
    await session[Symbol.asyncDispose]();
    this.#releaseSlot(process);
  }

  /** Counts a session that comes with a new interpreter, until the returned object is disposed. */
  #come(): Disposable {
    let isComing = true;
    this.#coming++;
    return {
      [Symbol.dispose]: () => {
        if (isComing) this.#coming--;
        isComing = false;
      },
    };
  }

  #track(work: Promise<void>): void {
    this.#busy.add(work);
    work.finally(() => this.#busy.delete(work));
  }
}

function checkCount(name: "size" | "spare" | "keep", count: number, least: number): void {
  if (Number.isInteger(count) && count >= least && count <= MAX_SIZE) return;
  throw new RangeError(
    `Cannot create pool as '${name}' must be from ${least} to ${MAX_SIZE}: current value is ${count}`,
  );
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof SandboxPoolOptions, true>> = {
  profile: true,
  size: true,
  spare: true,
  keep: true,
  keepMs: true,
  resetMode: true,
  optimize: true,
  cacheDir: true,
  checkpointKey: true,
  onBuild: true,
  detected: true,
  networkTrial: true,
  signal: true,
};
