import { MAX_TIMER_MS } from "../../async/abort.ts";
import type { CheckpointError } from "../../errors.ts";
import type { CaptureOptions, Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { type HibernatedState, toUnusableError } from "../hibernation/hibernated_state.ts";
import type { LeasedInterpreter, Lifecycle } from "../hibernation/lifecycle.ts";
import { type HibernationParts, SessionInterpreter } from "../hibernation/session_interpreter.ts";
import type { PausesAtEnd } from "../hibernation/session_record.ts";
import { ServerError } from "../http/http_errors.ts";
import { HIBERNATION_LIFE_MS, MAX_SESSION_WAITING } from "../limits.ts";
import { IdleTimer } from "./idle_timer.ts";

/** Hibernation of a session. */
export interface HibernationOptions
  extends Pick<HibernationParts, "store" | "transfers" | "acquire" | "outlivesServer"> {
  /** Milliseconds without use after which it hibernates. */
  readonly afterMs: number;
}

/** Options of {@linkcode SessionLife}. */
export interface SessionLifeOptions {
  readonly owner: string;
  /** Its interpreter, or the state in which it hibernates. */
  readonly start: LeasedInterpreter | HibernatedState;
  /** Lets it hibernate; without it, it keeps its interpreter. */
  readonly hibernation?: HibernationOptions | undefined;
  /** Random numbers that it gets when it wakes for the first time. Without them, those of its state continue. */
  readonly reseeding?: HibernationParts["reseeding"];
  /**
   * True if it is paused.
   *
   * @default false
   */
  readonly isPaused?: boolean | undefined;
  /**
   * False if it will have a fresh interpreter with its files when it wakes.
   *
   * @default true
   */
  readonly hasMemory?: boolean | undefined;
  /**
   * End of its last use.
   *
   * @default now
   */
  readonly usedAt?: Date | undefined;
  /**
   * True if it pauses at the end of {@linkcode SessionLife.endAfter}, instead of ending; `files` if it then keeps its
   * files alone.
   *
   * @default false
   */
  readonly pausesAtEnd?: PausesAtEnd | undefined;
  /** Milliseconds without use after which it ends; `Infinity` disables it. */
  readonly idleMs: number;
  /**
   * Milliseconds without use after which it may end in favour of another session. With 0, once it was used.
   *
   * @default Infinity
   */
  readonly spareMs?: number | undefined;
  /** Called with each error that no request gets. */
  readonly onError: (thrown: unknown) => void;
  /** Called when its last current use ends. */
  readonly onUnused: () => void;
  /** Called when it begins to hibernate, and when it has an interpreter again. */
  readonly onChange: (isAwake: boolean) => void;
  /** Called once, when it ends and before its interpreter does. */
  readonly onEnd: () => void;
}

/** The life of a session: its interpreter, its uses, and when it hibernates, pauses and ends. */
export class SessionLife implements AsyncDisposable {
  readonly #options: SessionLifeOptions;
  readonly #interpreter: SessionInterpreter;
  readonly #idle: IdleTimer;
  readonly #end = new AbortController();
  #ttlTimer: ReturnType<typeof setTimeout> | undefined;
  #expiresAt: Date | undefined;
  #wasUsed = false;
  /** True while it pauses and lets no request use it. */
  #isClosed = false;
  #hasMemory: boolean;
  /** Resolves when it has paused. */
  #pausing: Promise<void> | undefined;
  /** True if its time was over while it was used, and it pauses when it is unused. */
  #pauseIsDue = false;
  #whenUnused: PromiseWithResolvers<void> | undefined;
  #isSaved = false;
  #ended: Promise<void> | undefined;

  /** @param describe returns the record of the session, with which it is saved */
  constructor(options: SessionLifeOptions, describe: HibernationParts["describe"]) {
    const { owner, start, hibernation, reseeding, idleMs, usedAt, onError, onChange } = options;
    this.#options = options;
    this.#hasMemory = options.hasMemory ?? true;
    this.#interpreter = new SessionInterpreter(
      start,
      hibernation && {
        ...hibernation,
        owner,
        reseeding,
        describe,
        endSignal: this.#end.signal,
        isUsed: () => this.#idle.users > 0,
        onChange,
        onError,
        onLost: () => this[Symbol.asyncDispose]().catch(onError),
      },
    );
    if (options.isPaused) this.#lifecycle.pause();
    const firstMs = Math.min(hibernation?.afterMs ?? Infinity, idleMs);
    const whenIdle = () => void this.#whenIdle().catch(onError);
    this.#idle = new IdleTimer(firstMs, whenIdle, usedAt);
    if (!("lease" in start)) whenIdle(); // its time may be over
  }

  get #lifecycle(): Lifecycle {
    return this.#interpreter.lifecycle;
  }

  /** End of its last use, by the clock of the host. */
  get usedAt(): Date {
    return this.#idle.usedAt;
  }

  /** Milliseconds since the end of its last use. */
  get unusedMs(): number {
    return this.#idle.unusedMs;
  }

  /** True while a request uses it. */
  get isUsed(): boolean {
    return this.#idle.users > 0;
  }

  /** Time after which it ends, used or not, by the clock of the host. */
  get expiresAt(): Date | undefined {
    return this.#expiresAt;
  }

  /** Aborts when it ends. */
  get endSignal(): AbortSignal {
    return this.#end.signal;
  }

  /** True while it is a checkpoint that no request can use until {@linkcode LiveSession.resume}. */
  get isPaused(): boolean {
    return this.#isClosed || this.#lifecycle.phase.kind === "paused";
  }

  /** Random numbers that it gets when it wakes, if they do not continue. */
  get reseeding(): HibernationParts["reseeding"] {
    return this.#interpreter.reseeding;
  }

  /** False while it hibernates and will have a fresh interpreter with its files when it wakes. */
  get hasMemory(): boolean {
    return this.#hasMemory;
  }

  /** Why this server cannot continue it, if that is so. Its state stays for a later server, until it ends. */
  get unusable(): CheckpointError | undefined {
    return this.#lifecycle.state?.unusable;
  }

  /** True while it leaves its interpreter. */
  get isLeaving(): boolean {
    return this.#lifecycle.phase.kind === "leaving";
  }

  /**
   * Lets it end after so many milliseconds, used or not, instead of at its earlier time.
   *
   * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue it.
   */
  endAfter(ttlMs: number): void {
    this.requireUsable();
    this.endAt(new Date(Date.now() + ttlMs));
    this.#saveRecord();
  }

  /** Lets it end at a time, of which its record knows. */
  endAt(expiresAt: Date): void {
    if (this.#ended) return;
    clearTimeout(this.#ttlTimer);
    this.#pauseIsDue = false;
    this.#expiresAt = expiresAt;
    const leftMs = Math.max(0, expiresAt.getTime() - Date.now());
    this.#ttlTimer = setTimeout(() => this.#whenExpired(), Math.min(leftMs, MAX_TIMER_MS));
  }

  /** True if it may end in favour of another session: it was idle for its `spareMs` and for `leastMs`. */
  isSpare(leastMs: number): boolean {
    const { spareMs = Infinity } = this.#options;
    const isFree = (this.#wasUsed || spareMs > 0) && this.#idle.users === 0 && !this.ended;
    return isFree && this.unusedMs >= Math.max(spareMs, leastMs);
  }

  /** True if it can hibernate in favour of another session: it was idle for `leastMs`. */
  canHibernate(leastMs: number): boolean {
    return this.#interpreter.canHibernate && this.unusedMs >= leastMs && !this.ended;
  }

  /** Leaves its interpreter until it is used again. Returns false if it cannot. */
  async hibernate(): Promise<boolean> {
    return await this.#interpreter.hibernate();
  }

  /**
   * Hibernates until it is resumed, or for a day, and no longer ends at its time. Without `memory`, it keeps its files
   * alone.
   *
   * @throws {ServerError} `conflict` if it is used or paused, or has what no checkpoint has; `busy` without room; with
   * the reason of a checkpoint, if this server cannot continue it.
   */
  async pause({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<void> {
    this.requireUsable();
    await this.#pause({ memory });
  }

  async #pause(options: { memory: boolean }): Promise<void> {
    await (this.#pausing = this.#tryPause(options).finally(() => this.#pausing = undefined));
  }

  async #tryPause({ memory }: { memory: boolean }): Promise<void> {
    if (this.isPaused) throw new ServerError("conflict", "The session is paused already");
    if (!memory) {
      this.#isClosed = true; // a request that came now would find a fresh interpreter
      this.#hasMemory = false; // its record is saved with its state
    }
    const isHibernating = await this.#interpreter.hibernate({ memory });
    this.#isClosed = false;
    if (!isHibernating || this.#idle.users > 0 || !this.#lifecycle.pause()) { // a request may have woken it
      this.#hasMemory = true;
      throw this.#interpreter.refusal ?? new ServerError("conflict", "The session is in use");
    }
    this.#pauseIsDue = false;
    clearTimeout(this.#ttlTimer);
    this.#expiresAt = undefined;
    this.#idle.use()[Symbol.dispose](); // the day begins now
    this.#saveRecord();
  }

  /**
   * Returns the state in which it is paused, which stays so; `undefined` if it is not paused. Without memory, a session
   * that wakes with the state must have a fresh interpreter: the state itself may have memory.
   *
   * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue it.
   */
  async readPaused(signal: AbortSignal): Promise<{ checkpoint: Checkpoint; hasMemory: boolean } | undefined> {
    await this.#pausing?.catch(() => {}); // the request that pauses it gets the error
    if (!this.isPaused) return undefined;
    this.requireUsable();
    const hasMemory = this.#hasMemory;
    const checkpoint = await this.#interpreter.readState(signal);
    return checkpoint && { checkpoint, hasMemory };
  }

  /**
   * Lets requests use it after a pause. The first one wakes it.
   *
   * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue it.
   */
  endPause(): void {
    this.requireUsable();
    this.#isClosed = false;
    this.#lifecycle.endPause();
  }

  /** @throws {ServerError} with the reason of a checkpoint, if this server cannot continue it. */
  requireUsable(): void {
    if (this.unusable) throw toUnusableError(this.unusable);
  }

  /**
   * Wakes after a pause. Without `memory`, it has a fresh interpreter with its files.
   *
   * @throws {ServerError} `busy` or `timeout` if no slot becomes free, after which it is still paused.
   */
  async resume({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<void> {
    await this.#pausing?.catch(() => {}); // who pauses it gets the error
    if (!this.isPaused) return;
    this.endPause();
    const hadMemory = this.#hasMemory;
    this.#hasMemory &&= memory;
    try {
      await this.use(() => Promise.resolve());
    } catch (error) {
      if (this.#lifecycle.pause()) this.#hasMemory = hadMemory;
      throw error;
    }
  }

  /**
   * Saves it when it is unused, so that a later server continues it, and ends it.
   *
   * @throws {ServerError} if it has what no checkpoint has, or finds no room.
   */
  async suspend(): Promise<void> {
    if (this.#idle.users > 0) await (this.#whenUnused ??= Promise.withResolvers()).promise;
    try {
      await this.#interpreter.suspend();
      this.#isSaved = true;
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  /** True after it has ended. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** True if the state directory has the session when it ends, so that a later server continues it. */
  get isSaved(): boolean {
    return this.#isSaved;
  }

  /**
   * Uses the session, which wakes if it hibernates.
   *
   * @throws {ServerError} `conflict` if it has ended or is paused; `busy` if too many requests wait for it; with the
   * reason of a checkpoint, if this server cannot continue it.
   */
  async use<T>(work: (session: PythonSession) => Promise<T>): Promise<T> {
    if (this.#ended) throw new ServerError("conflict", "The session has ended");
    if (this.isPaused) throw new ServerError("conflict", "The session is paused: resume it first");
    this.requireUsable(); // such a request is no use, which would let it live longer
    if (this.#idle.users >= MAX_SESSION_WAITING) {
      throw new ServerError("busy", `${MAX_SESSION_WAITING} requests are waiting for the session`, {
        retryAfter: 1,
      });
    }
    const use = this.#idle.use();
    try {
      const session = await this.#interpreter.session({ memory: this.#hasMemory });
      this.#hasMemory = true;
      return await work(session);
    } finally {
      use[Symbol.dispose]();
      this.#wasUsed = true;
      if (this.#idle.users === 0) this.#leaveUnused();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#close();
    return this.#ended;
  }

  async #close(): Promise<void> {
    this.#idle[Symbol.dispose]();
    clearTimeout(this.#ttlTimer);
    this.#whenUnused?.resolve();
    this.#end.abort(new ServerError("conflict", "The session has ended"));
    this.#options.onEnd();
    await this.#interpreter[Symbol.asyncDispose]();
  }

  #leaveUnused(): void {
    this.#whenUnused?.resolve();
    this.#options.onUnused();
    if (this.#pauseIsDue) this.#whenExpired();
  }

  /** Hibernates after the first part of its idle time, and ends after all of it. */
  async #whenIdle(): Promise<void> {
    const { idleMs } = this.#options;
    const { uses } = this.#idle;
    const isHibernating = await this.#interpreter.hibernate();
    if (this.#ended || this.#idle.uses !== uses) return; // a use starts the timer when it ends
    const livesOn = isHibernating && (idleMs < Infinity || this.isPaused);
    const lifeMs = livesOn ? HIBERNATION_LIFE_MS : idleMs;
    const leftMs = lifeMs - this.unusedMs;
    if (leftMs > 0) this.#idle.callAgain(leftMs);
    else await this[Symbol.asyncDispose]();
  }

  /** Ends it, or pauses it when it is unused. */
  #whenExpired(): void {
    const { pausesAtEnd, onError } = this.#options;
    this.#pauseIsDue = Boolean(pausesAtEnd) && this.#idle.users > 0;
    if (this.#pauseIsDue) return;
    void (pausesAtEnd ? this.#pauseAtEnd() : this[Symbol.asyncDispose]()).catch(onError);
  }

  async #pauseAtEnd(): Promise<void> {
    const { expiresAt } = this;
    const { uses } = this.#idle;
    try {
      await this.#pause({ memory: this.#options.pausesAtEnd !== "files" });
    } catch {
      if (this.#expiresAt !== expiresAt) return; // it has more time, or is paused
      if (this.#idle.uses !== uses) this.#whenExpired();
      else await this[Symbol.asyncDispose]();
    }
  }

  /** Saves its record again if the state directory has it, as a later server may read it at any time. */
  #saveRecord(): void {
    this.#interpreter.saveRecord().catch(this.#options.onError);
  }
}
