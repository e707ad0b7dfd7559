import { Semaphore, SerialQueue } from "../async/semaphore.ts";
import { SandboxError } from "../errors.ts";
import type { SessionLease, SessionPool } from "./exec.ts";
import { checkProfile, checkResetMode, checkSeed } from "./exec_check.ts";
import { Lease } from "./lease.ts";
import { detectLayers, type LayerReport } from "./process/layers.ts";
import { Sandbox, type SandboxOptions } from "./sandbox.ts";
import type { Session } from "./session.ts";

/** What a pool is made of. */
export interface SandboxPoolOptions extends SandboxOptions {
  /** How many sessions there are, on loan or waiting; as many as the host has cores unless given. */
  size?: number | undefined;
  /**
   * How a session is wiped after a lease: `fresh` is a new interpreter behind a wall of its own, `rewind`
   * is faster and for leases that trust each other.
   */
  resetMode?: "fresh" | "rewind" | undefined;
}

interface Waiter {
  take(session: Session): void;
  fail(error: unknown): void;
}

interface Process {
  readonly sandbox: Promise<Sandbox>;
  sessions: number;
}

const MAX_SIZE = 4096;
/** Interpreters that start at once: with more, each takes longer, and those of a large pool longer than they may. */
const STARTS_AT_ONCE = 2 * navigator.hardwareConcurrency;

/** Warm sessions: one is there at once while any waits, and used ones are made ready in the background. */
export class SandboxPool implements SessionPool, AsyncDisposable {
  /** {@inheritDoc SessionPool.pairQueue} */
  readonly pairQueue: SerialQueue = new SerialQueue();
  readonly size: number;
  readonly #options: SandboxPoolOptions;
  readonly #detected: Promise<readonly LayerReport[]>;
  readonly #processes: Process[] = [];
  readonly #homes = new Map<Session, Process>();
  readonly #idle: Session[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #busy = new Set<Promise<void>>();
  readonly #starts = new Semaphore(STARTS_AT_ONCE);
  /** Ends what is being started. */
  readonly #ending = new AbortController();
  #live = 0;
  #disposed = false;

  /**
   * Starts to warm up at once.
   *
   * @throws {RangeError} when the size is not a whole number of sessions.
   * @throws {TypeError} when the profile is none.
   */
  constructor(options: SandboxPoolOptions) {
    const { size = navigator.hardwareConcurrency } = options;
    if (!Number.isInteger(size) || size < 1 || size > MAX_SIZE) {
      throw new RangeError(
        `Cannot create pool as 'size' must be from 1 to ${MAX_SIZE}: current value is ${size}`,
      );
    }
    checkProfile(options.profile);
    checkResetMode(options.resetMode);
    this.size = size;
    this.#options = options;
    this.#detected = Promise.resolve(options.detected ?? detectLayers());
    this.#fill();
  }

  /**
   * Takes a session, or waits for one; first come, first served.
   *
   * @throws {SandboxError} when none can be started.
   */
  async acquire(
    options: { seed?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Lease> {
    const { seed, signal } = options;
    checkSeed(seed);
    signal?.throwIfAborted();
    if (this.#disposed) throw new Error("Cannot acquire session as the pool is disposed");
    const session = this.#idle.shift() ?? await this.#wait(signal);
    const lease = new Lease(session, () => this.#run(this.#wipe(session)));
    try {
      if (seed !== undefined) await session.reset({ mode: "rewind", seed, signal });
      return lease;
    } catch (error) {
      await lease[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Ends every session, on loan or not, and waits until their processes are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#ending.abort(new Error("Cannot start sandbox as its pool is disposed"));
    for (const { fail } of this.#waiters.splice(0)) {
      fail(new Error("Cannot acquire session as the pool is disposed"));
    }
    await Promise.all(this.#processes.map(async ({ sandbox }) => {
      await (await sandbox.catch(() => undefined))?.[Symbol.asyncDispose]();
    }));
    await Promise.all(this.#busy);
    await this.#detected.catch(() => {}); // whoever waited for a session was told
  }

  #wait(signal: AbortSignal | undefined): Promise<Session> {
    const { promise, resolve, reject } = Promise.withResolvers<Session>();
    const onAbort = () => {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      reject(signal?.reason);
    };
    const settled = () => signal?.removeEventListener("abort", onAbort);
    const waiter = {
      take(session: Session): void {
        settled();
        resolve(session);
      },
      fail(error: unknown): void {
        settled();
        reject(error);
      },
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiters.push(waiter);
    this.#fill();
    return promise;
  }

  #fill(): void {
    while (this.#live < this.size && !this.#disposed) {
      this.#live++;
      this.#run(this.#add());
    }
  }

  /** Starts one session, in a process that has room for it or in a new one. */
  async #add(): Promise<void> {
    using _start = await this.#starts.acquire();
    if (this.#disposed) return;
    const process = this.#processWithRoom();
    process.sessions++;
    try {
      const session = await (await process.sandbox).openSession();
      this.#homes.set(session, process);
      this.#offer(session);
    } catch (error) {
      this.#releaseSlot(process);
      await this.#rejectWaiters(process, error);
    }
  }

  /** Counts a session off. */
  #releaseSlot(process: Process | undefined): void {
    if (process) process.sessions--;
    this.#live--;
  }

  /** Tells one of those who wait that their session is lost, or all of them where no process can be had. */
  async #rejectWaiters({ sandbox }: Process, error: unknown): Promise<void> {
    const startFailed = await sandbox.then(() => false, () => true);
    for (const { fail } of this.#waiters.splice(0, startFailed ? this.#waiters.length : 1)) fail(error);
    if (this.#waiters.length > 0) this.#fill();
  }

  #processWithRoom(): Process {
    const found = this.#processes.find(({ sessions }) => sessions < this.#options.profile.sessionsPerProcess);
    if (found) return found;
    const { signal: given } = this.#options;
    const signal = AbortSignal.any([this.#ending.signal, ...given ? [given] : []]);
    const sandbox = this.#detected.then((detected) => Sandbox.start({ ...this.#options, detected, signal }));
    const process: Process = { sandbox, sessions: 0 };
    this.#processes.push(process);
    sandbox.catch(() => this.#processes.splice(this.#processes.indexOf(process), 1));
    return process;
  }

  #offer(session: Session): void {
    const waiter = this.#waiters.shift();
    if (waiter) waiter.take(session);
    else this.#idle.push(session);
  }

  async #wipe(session: Session): Promise<void> {
    const { resetMode: mode } = this.#options;
    using _start = mode === "rewind" ? undefined : await this.#starts.acquire();
    if (this.#disposed) return;
    try {
      await session.reset({ mode });
      this.#offer(session);
    } catch {
      if (this.#disposed) return;
      await session[Symbol.asyncDispose]();
      this.#releaseSlot(this.#homes.get(session));
      this.#homes.delete(session);
      if (this.#waiters.length > 0) this.#fill(); // whoever waits hears of a start that fails
    }
  }

  #run(work: Promise<void>): void {
    this.#busy.add(work);
    work.finally(() => this.#busy.delete(work));
  }
}

/** How {@linkcode acquireWithin} waits. */
export interface AcquireWithinOptions {
  /** Milliseconds until the wait is given up. */
  timeoutMs: number;
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Takes a session from a pool, or gives up when none was free for too long.
 *
 * @throws {SandboxError} when the time is over.
 */
export async function acquireWithin(pool: SessionPool, options: AcquireWithinOptions): Promise<SessionLease> {
  const { timeoutMs, seed, signal } = options;
  const stop = new AbortController();
  const tooLong = new SandboxError(
    `Cannot acquire session as none was free within ${timeoutMs} ms: the pool must have one for each episode that has run code and goes on`,
  );
  const timer = setTimeout(() => stop.abort(tooLong), timeoutMs);
  try {
    const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    return await pool.acquire({ seed, signal: either });
  } finally {
    clearTimeout(timer);
  }
}
