import type { CheckpointError } from "../../errors.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import type { Clock } from "../../async/clock.ts";
import type { HibernatedState } from "../hibernation/hibernated_state.ts";
import type { LeasedInterpreter } from "../hibernation/lifecycle.ts";
import { type HibernationParts, SessionInterpreter } from "../hibernation/session_interpreter.ts";
import type { LifeRecord, PausesAtEnd } from "../hibernation/session_record.ts";
import { ServerError } from "../http/http_errors.ts";
import { HIBERNATION_LIFE_MS, MAX_SESSION_WAITING } from "../limits.ts";
import { EndTimer } from "./end_timer.ts";
import { IdleTimer } from "./idle_timer.ts";
import { SessionPause, type SessionPauseOptions } from "./session_pause.ts";

/** Hibernation of a session. */
export interface HibernationOptions
  extends Pick<HibernationParts, "store" | "transfers" | "acquire" | "outlivesServer"> {
  /** Milliseconds without use after which it hibernates. */
  readonly afterMs: number;
}

/** Options of {@linkcode SessionLife}. */
export interface SessionLifeOptions
  extends
    Pick<HibernationParts, "owner" | "reseeding" | "onChange" | "onError">,
    Pick<SessionPauseOptions, "isPaused" | "hasMemory"> {
  /** Its interpreter, or the state in which it hibernates. */
  readonly start: LeasedInterpreter | HibernatedState;
  /** Lets it hibernate; without it, it keeps its interpreter. */
  readonly hibernation?: HibernationOptions | undefined;
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
  readonly clock: Clock;
  /** Called when its last current use ends. */
  readonly onUnused: () => void;
  /** Called once, when it ends and before its interpreter does. */
  readonly onEnd: () => void;
}

/** The life of a session: its interpreter, its uses, and when it hibernates, pauses and ends. */
export class SessionLife implements AsyncDisposable {
  /** The pauses of the session. */
  readonly pause: SessionPause;
  readonly #options: SessionLifeOptions;
  readonly #interpreter: SessionInterpreter;
  readonly #idle: IdleTimer;
  readonly #endTimer: EndTimer;
  /** Aborts when the session ends. It exists from the first use of {@linkcode SessionLife.endSignal}. */
  #end: AbortController | undefined;
  #wasUsed = false;
  /** True if its time was over while it was used, and it pauses when it is unused. */
  #pauseIsDue = false;
  #whenUnused: PromiseWithResolvers<void> | undefined;
  #isSaved = false;
  #ended: Promise<void> | undefined;

  /** @param describe returns the record of the session, with which it is saved */
  constructor(options: SessionLifeOptions, describe: HibernationParts["describe"]) {
    const { start, hibernation, idleMs, clock, onError } = options;
    this.#options = options;
    this.#endTimer = new EndTimer(() => this.#whenExpired(), clock);
    this.#interpreter = new SessionInterpreter(
      start,
      hibernation && {
        ...options,
        ...hibernation,
        describe,
        endSignal: () => this.endSignal,
        isUsed: () => this.isUsed,
        onLost: () => this[Symbol.asyncDispose]().catch(onError),
      },
    );
    this.pause = new SessionPause({
      ...options,
      isUsed: () => this.isUsed,
      interpreter: this.#interpreter,
      wake: () => this.use(() => Promise.resolve()),
      onPaused: () => this.#whenPaused(),
    });
    const firstMs = Math.min(hibernation?.afterMs ?? Infinity, idleMs);
    const whenIdle = () => void this.#whenIdle().catch(onError);
    this.#idle = new IdleTimer(firstMs, whenIdle, options);
    if (!("lease" in start)) whenIdle(); // its time may be over
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
    return this.#endTimer.endsAt;
  }

  /** Aborts when it ends. */
  get endSignal(): AbortSignal {
    this.#end ??= new AbortController();
    if (this.#ended) this.#abortEnd();
    return this.#end.signal;
  }

  /** True while it is a checkpoint that no request can use until {@linkcode SessionPause.resume}. */
  get isPaused(): boolean {
    return this.pause.isPaused;
  }

  /** Why this server cannot continue it, if that is so. Its state stays for a later server, until it ends. */
  get unusable(): CheckpointError | undefined {
    return this.#interpreter.unusable;
  }

  /** @throws {ServerError} with the reason of a checkpoint, if this server cannot continue it. */
  requireUsable(): void {
    this.#interpreter.requireUsable();
  }

  /** True while it leaves its interpreter. */
  get isLeaving(): boolean {
    return this.#interpreter.lifecycle.phase.kind === "leaving";
  }

  /** Returns the part of the session's record that this life knows. */
  describe(): LifeRecord {
    const { idleMs, spareMs, pausesAtEnd = false } = this.#options;
    return {
      usedAt: this.usedAt.toISOString(),
      expiresAt: this.expiresAt?.toISOString(),
      idleMs: idleMs === Infinity ? undefined : idleMs,
      spareMs: spareMs === Infinity ? undefined : spareMs,
      isPaused: this.isPaused,
      hasMemory: this.pause.hasMemory ? undefined : false,
      pausesAtEnd,
      reseeding: this.#interpreter.reseeding,
    };
  }

  /**
   * Ends the session after so many milliseconds, used or not, instead of at its earlier time.
   *
   * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue it.
   */
  endAfter(ttlMs: number): void {
    this.#interpreter.requireUsable();
    this.endAt(new Date(this.#options.clock.now() + ttlMs));
    this.#saveRecord();
  }

  /** Sets the time of the end. The caller saves the session's record. */
  endAt(expiresAt: Date): void {
    if (this.#ended) return;
    this.#pauseIsDue = false;
    this.#endTimer.set(expiresAt);
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
  hibernate(): Promise<boolean> {
    return this.#interpreter.hibernate();
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
    this.#interpreter.requireUsable(); // such a request is no use, which would let it live longer
    if (this.#idle.users >= MAX_SESSION_WAITING) {
      throw new ServerError("busy", `${MAX_SESSION_WAITING} requests are waiting for the session`, {
        retryAfter: 1,
      });
    }
    const use = this.#idle.use();
    try {
      const session = await this.#interpreter.session({ memory: this.pause.hasMemory });
      this.pause.noteAwake();
      return await work(session);
    } finally {
      use[Symbol.dispose]();
      this.#wasUsed = true;
      if (this.#idle.users === 0) this.#leaveUnused();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ended ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#idle[Symbol.dispose]();
    this.#endTimer[Symbol.dispose]();
    this.#whenUnused?.resolve();
    this.#abortEnd();
    this.#options.onEnd();
    await this.#interpreter[Symbol.asyncDispose]();
  }

  #abortEnd(): void {
    this.#end?.abort(new ServerError("conflict", "The session has ended"));
  }

  #whenPaused(): void {
    this.#pauseIsDue = false;
    this.#endTimer.clear();
    this.#idle.use()[Symbol.dispose](); // the day begins now
    this.#saveRecord();
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
    const leftMs = (livesOn ? HIBERNATION_LIFE_MS : idleMs) - this.unusedMs;
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
      await this.pause.begin({ memory: this.#options.pausesAtEnd !== "files" });
    } catch {
      if (this.expiresAt !== expiresAt) return; // it has more time, or is paused
      if (this.#idle.uses !== uses) this.#whenExpired();
      else await this[Symbol.asyncDispose]();
    }
  }

  /** Saves its record again if a later server may read it at any time. */
  #saveRecord(): void {
    this.#interpreter.saveRecord().catch(this.#options.onError);
  }
}
