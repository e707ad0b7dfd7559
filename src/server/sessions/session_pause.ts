import type { CaptureOptions, Checkpoint } from "../../sandbox/contract/checkpoint.ts";
import type { SessionInterpreter } from "../hibernation/session_interpreter.ts";
import { ServerError } from "../http/http_errors.ts";

/** Options of {@linkcode SessionPause}. */
export interface SessionPauseOptions {
  /** The interpreter, which the session leaves for the pause. */
  readonly interpreter: SessionInterpreter;
  /**
   * False if the session will have a fresh interpreter with the session's files when the session wakes.
   *
   * @default true
   */
  readonly hasMemory?: boolean | undefined;
  /**
   * True if the session is paused.
   *
   * @default false
   */
  readonly isPaused?: boolean | undefined;
  /** True while requests use the session. */
  readonly isUsed: () => boolean;
  /** Uses the session, which wakes the session. */
  readonly wake: () => Promise<void>;
  /** Called when the session has paused. */
  readonly onPaused: () => void;
}

/** The pauses of a session: a paused session is a checkpoint that no request uses until the pause ends. */
export class SessionPause {
  readonly #options: SessionPauseOptions;
  /** True while the session pauses and lets no request use it. */
  #isClosed = false;
  #hasMemory: boolean;
  /** Resolves when the session has paused. */
  #pausing: Promise<void> | undefined;

  constructor(options: SessionPauseOptions) {
    this.#options = options;
    this.#hasMemory = options.hasMemory ?? true;
    if (options.isPaused) this.#interpreter.lifecycle.pause();
  }

  /** True while no request can use the session. */
  get isPaused(): boolean {
    return this.#isClosed || this.#interpreter.lifecycle.phase.kind === "paused";
  }

  /**
   * False while the session hibernates and will have a fresh interpreter with the session's files at the
   * wake-up.
   */
  get hasMemory(): boolean {
    return this.#hasMemory;
  }

  /** Notes that the session has an interpreter, whose memory the next checkpoint has. */
  noteAwake(): void {
    this.#hasMemory = true;
  }

  /**
   * Pauses the session until it is resumed, or for a day; the session no longer ends at the set time. Without
   * `memory`, the session keeps only the files.
   *
   * @throws {ServerError} `conflict` if the session is used or paused, or has what no checkpoint has; `busy`
   * without room; with the reason of a checkpoint, if this server cannot continue the session.
   */
  async begin({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<void> {
    this.#interpreter.requireUsable();
    await (this.#pausing = this.#tryBegin({ memory }).finally(() => this.#pausing = undefined));
  }

  /**
   * Returns the state of the pause, which goes on; `undefined` if the session is not paused. Without memory,
   * a session that wakes with the state must have a fresh interpreter: the state itself may have memory.
   *
   * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue the session.
   */
  async read(signal: AbortSignal): Promise<{ checkpoint: Checkpoint; hasMemory: boolean } | undefined> {
    await this.#settle();
    if (!this.isPaused) return undefined;
    this.#interpreter.requireUsable();
    const hasMemory = this.#hasMemory;
    const checkpoint = await this.#interpreter.readState(signal);
    return checkpoint && { checkpoint, hasMemory };
  }

  /**
   * Ends the pause. The first request wakes the session.
   *
   * @throws {ServerError} with the reason of a checkpoint, if this server cannot continue the session.
   */
  end(): void {
    this.#interpreter.requireUsable();
    this.#isClosed = false;
    this.#interpreter.lifecycle.endPause();
  }

  /**
   * Ends the pause and wakes the session. Without `memory`, the session has a fresh interpreter with the
   * session's files.
   *
   * @throws {ServerError} `busy` or `timeout` if no slot becomes free, after which the session is still
   * paused.
   */
  async resume({ memory = true }: Pick<CaptureOptions, "memory"> = {}): Promise<void> {
    await this.#settle();
    if (!this.isPaused) return;
    this.end();
    const hadMemory = this.#hasMemory;
    this.#hasMemory &&= memory;
    try {
      await this.#options.wake();
    } catch (error) {
      if (this.#interpreter.lifecycle.pause()) this.#hasMemory = hadMemory;
      throw error;
    }
  }

  get #interpreter(): SessionInterpreter {
    return this.#options.interpreter;
  }

  /** Waits for a pause that begins. The request that has begun the pause gets the pause's error. */
  async #settle(): Promise<void> {
    await this.#pausing?.catch(() => {});
  }

  async #tryBegin({ memory }: { memory: boolean }): Promise<void> {
    if (this.isPaused) throw new ServerError("conflict", "The session is paused already");
    if (!memory) {
      this.#isClosed = true; // a request that came now would find a fresh interpreter
      this.#hasMemory = false; // the record is saved with the state
    }
    const isHibernating = await this.#interpreter.hibernate({ memory });
    this.#isClosed = false;
    if (!isHibernating || this.#options.isUsed() || !this.#interpreter.lifecycle.pause()) { // a request may have woken the session
      this.#hasMemory = true;
      throw this.#interpreter.refusal ?? new ServerError("conflict", "The session is in use");
    }
    this.#options.onPaused();
  }
}
