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
  /** Milliseconds without use after which the session hibernates. */
  readonly afterMs: number;
}

/** Options of {@linkcode SessionLife}. */
export interface SessionLifeOptions
  extends
    Pick<HibernationParts, "owner" | "reseeding" | "onChange" | "onError">,
    Pick<SessionPauseOptions, "isPaused" | "hasMemory"> {
  /** The session's interpreter, or the state in which the session hibernates. */
  readonly start: LeasedInterpreter | HibernatedState;
  /** Lets the session hibernate. Without this option, the session keeps its interpreter. */
  readonly hibernation?: HibernationOptions | undefined;
  /**
   * End of the session's last use.
   *
   * @default now
   */
  readonly usedAt?: Date | undefined;
  /**
   * True if the session pauses at the end of {@linkcode SessionLife.endAfter}, instead of ending; `files` if
   * only the files are then kept.
   *
   * @default false
   */
  readonly pausesAtEnd?: PausesAtEnd | undefined;
  /** Milliseconds without use after which the session ends; `Infinity` disables it. */
  readonly idleMs: number;
  /**
   * Milliseconds without use after which the session may end in favour of another. With 0, after the first
   * use.
   *
   * @default Infinity
   */
  readonly spareMs?: number | undefined;
  readonly clock: Clock;
  /** Called when the session's last current use ends. */
  readonly onUnused: () => void;
  /** Called once, when the session ends and before the interpreter does. */
  readonly onEnd: () => void;
}

/** The life of a session: the interpreter, the uses, and when the session hibernates, pauses and ends. */
export class SessionLife implements AsyncDisposable {
  /** The pauses of the session. */
  readonly pause: SessionPause;
  readonly #options: SessionLifeOptions;
  readonly #interpreter: SessionInterpreter;
  readonly #idle: IdleTimer;
  readonly #endTimer: EndTimer;
  /** Aborts when the session ends. Exists from the first use of {@linkcode SessionLife.endSignal}. */
  #end: AbortController | undefined;
  #wasUsed = false;
  /** True if the session's time was over during a use, and the session pauses when unused. */
  #pauseIsDue = false;
  #whenUnused: PromiseWithResolvers<void> | undefined;
  #isSaved = false;
  #ended: Promise<void> | undefined;

  /** @param describe returns the record with which the session is saved */
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
    if (!("lease" in start)) whenIdle(); // the session's time may be over
  }

  /** End of the session's last use, by the clock of the host. */
  get usedAt(): Date {
    return this.#idle.usedAt;
  }

  /** Milliseconds since the end of the last use. */
  get unusedMs(): number {
    return this.#idle.unusedMs;
  }

  /** True while a request uses the session. */
  get isUsed(): boolean {
    return this.#idle.users > 0;
  }

  /** Time after which the session ends, used or not, by the clock of the host. */
  get expiresAt(): Date | undefined {
    return this.#endTimer.endsAt;
  }

  /** Aborts when the session ends. */
  get endSignal(): AbortSignal {
    this.#end ??= new AbortController();
    if (this.#ended) this.#abortEnd();
    return this.#end.signal;
  }

  /** True while the session is a checkpoint that no request can use until {@linkcode SessionPause.resume}. */
  get isPaused(): boolean {
    return this.pause.isPaused;
  }

  /**
   * Why this server cannot continue the session, if so. The state stays for a later server, until the session
   * ends.
   */
  get unusable(): CheckpointError | undefined {
    return this.#interpreter.unusable;
  }

  /** @throws {ServerError} with the reason of a checkpoint, if this server cannot continue the session. */
  requireUsable(): void {
    this.#interpreter.requireUsable();
  }

  /** True while the session leaves its interpreter. */
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
   * Ends the session after so many milliseconds, used or not, instead of at the earlier time.
   *
   * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue the session.
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

  /** True if the session may end in favour of another: idle for `spareMs` and for `leastMs`. */
  isSpare(leastMs: number): boolean {
    const { spareMs = Infinity } = this.#options;
    const isFree = (this.#wasUsed || spareMs > 0) && this.#idle.users === 0 && !this.ended;
    return isFree && this.unusedMs >= Math.max(spareMs, leastMs);
  }

  /** True if the session can hibernate in favour of another: idle for `leastMs`. */
  canHibernate(leastMs: number): boolean {
    return this.#interpreter.canHibernate && this.unusedMs >= leastMs && !this.ended;
  }

  /** Leaves the interpreter until the next use of the session. Returns false if that is impossible. */
  hibernate(): Promise<boolean> {
    return this.#interpreter.hibernate();
  }

  /**
   * Saves the session when unused, so that a later server continues the session, and ends the session here.
   *
   * @throws {ServerError} if the session has what no checkpoint has, or finds no room.
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

  /** True after the session has ended. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** True if the state directory has the session after the end, so that a later server continues the session. */
  get isSaved(): boolean {
    return this.#isSaved;
  }

  /**
   * Uses the session, which wakes from hibernation.
   *
   * @throws {ServerError} `conflict` if the session has ended or is paused; `busy` if too many requests wait;
   * with the reason of a checkpoint, if this server cannot continue the session.
   */
  async use<T>(work: (session: PythonSession) => Promise<T>): Promise<T> {
    if (this.#ended) throw new ServerError("conflict", "The session has ended");
    if (this.isPaused) throw new ServerError("conflict", "The session is paused: resume it first");
    this.#interpreter.requireUsable(); // such a request is no use, which would let the session live longer
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

  /** Hibernates after the first part of the idle time, and ends after the whole idle time. */
  async #whenIdle(): Promise<void> {
    const { idleMs } = this.#options;
    const { uses } = this.#idle;
    const isHibernating = await this.#interpreter.hibernate();
    if (this.#ended || this.#idle.uses !== uses) return; // the end of a use starts the timer
    const livesOn = isHibernating && (idleMs < Infinity || this.isPaused);
    const leftMs = (livesOn ? HIBERNATION_LIFE_MS : idleMs) - this.unusedMs;
    if (leftMs > 0) this.#idle.callAgain(leftMs);
    else await this[Symbol.asyncDispose]();
  }

  /** Ends the session, or pauses the session when unused. */
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
      if (this.expiresAt !== expiresAt) return; // the session has more time, or is paused
      if (this.#idle.uses !== uses) this.#whenExpired();
      else await this[Symbol.asyncDispose]();
    }
  }

  /** Saves the record again if a later server may read the record at any time. */
  #saveRecord(): void {
    this.#interpreter.saveRecord().catch(this.#options.onError);
  }
}
