import type {
  CheckpointEvery,
  ExecOptions,
  ExecResult,
  PythonSession,
  ResetOptions,
  SessionPool,
  ShellOptions,
  ShellResult,
} from "../../sandbox/exec.ts";
import type { HibernatedState } from "../hibernation/hibernation_store.ts";
import {
  type HibernationParts,
  type LeasedInterpreter,
  SessionInterpreter,
} from "../hibernation/session_interpreter.ts";
import type { SessionRecord, SessionRecordParts } from "../hibernation/session_record.ts";
import { ServerError, toPublicError } from "../http/errors.ts";
import { withSpan } from "../http/tracing.ts";
import { HIBERNATION_LIFE_MS, MAX_SESSION_WAITING } from "../limits.ts";
import type { Metrics } from "../metrics.ts";
import type { RunProgram } from "./guest_request.ts";
import { IdleTimer } from "./idle_timer.ts";
import { SessionFiles } from "./session_files.ts";
import { limitProgram, type SessionLimits } from "./session_limits.ts";
import type { CallChannel, SessionTools } from "./session_tools.ts";

/** How a session hibernates. */
export interface HibernationOptions extends Pick<HibernationParts, "store" | "transfers" | "acquire"> {
  /** Milliseconds without use after which it hibernates. */
  readonly afterMs: number;
}

/** What an adapter knows of a session, and a later server of the same adapter needs. */
export interface Attachment {
  /** Returns it as a text of the adapter's own form. */
  toText(): string;
}

/** Options of {@linkcode LiveSession}. */
export interface LiveSessionOptions {
  /** Its interpreter, or the state in which it hibernates. */
  readonly start: LeasedInterpreter | HibernatedState;
  /** Lets it hibernate; without it, it keeps its interpreter. */
  readonly hibernation?: HibernationOptions | undefined;
  /** The session as a state directory had it. */
  readonly record?: SessionRecord | undefined;
  /** Owner, who alone may use it. */
  readonly owner: string;
  /** The owner's name for it. */
  readonly name?: string | undefined;
  /** Tools of its client. */
  readonly tools?: SessionTools | undefined;
  /** Limits of its programs. */
  readonly limits?: SessionLimits | undefined;
  /** Texts by name that its client has given to it. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** When it takes checkpoints by itself, if it does. */
  readonly checkpointEvery?: CheckpointEvery | undefined;
  /** What the adapter of its client needs to go on with it in a later server, in a form of its own. */
  readonly attachment?: Attachment | undefined;
  /**
   * True if no client finds it in a later server, so that it is not saved.
   *
   * @default false
   */
  readonly endsWithServer?: boolean | undefined;
  /**
   * True if it pauses when its `ttlMs` are over, instead of ending.
   *
   * @default false
   */
  readonly pausesAtEnd?: boolean | undefined;
  /**
   * Milliseconds after which it ends, used or not.
   *
   * @default no limit
   */
  readonly ttlMs?: number | undefined;
  /** Limits of the profile, in bytes. */
  readonly poolLimits?: SessionPool["limits"];
  readonly metrics: Metrics;
  /** Milliseconds without use after which it ends; `Infinity` disables it. */
  readonly idleMs: number;
  /**
   * Milliseconds without use after which it may end in favour of another session. With 0, once it was used.
   *
   * @default Infinity
   */
  readonly spareMs?: number | undefined;
  /** Aborted when the server stops; waiting requests fail with its reason. */
  readonly stop: AbortSignal;
  /** Called with each error of the session. */
  readonly onError: (thrown: unknown) => void;
  /** Called when its last current use ends. */
  readonly onUnused: () => void;
  /** Called when it begins to hibernate, and when it has an interpreter again. */
  readonly onChange: (isAwake: boolean) => void;
  /** Called once, when it ends and before its interpreter does. */
  readonly onEnd: () => void;
}

/** Options of {@linkcode LiveSession.exec}. */
export interface LiveExecOptions extends Omit<ExecOptions, "tools"> {
  /** Way on which calls of the session's tools reach the client. Without it, each call fails. */
  calls?: CallChannel | undefined;
}

/** A session driven by remote clients. It ends on dispose, after its idle time or after its `ttlMs`. */
export class LiveSession implements AsyncDisposable {
  /** Unguessable id. */
  readonly id: string;
  readonly owner: string;
  readonly name: string | undefined;
  readonly createdAt: Date;
  readonly files: SessionFiles;
  /** Tools of its client. */
  readonly tools: SessionTools | undefined;
  /** Limits of its programs. */
  readonly limits: SessionLimits | undefined;
  /** Texts by name that its client has given to it. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** When it takes checkpoints by itself, if it does. */
  readonly checkpointEvery: CheckpointEvery | undefined;
  /** What the adapter of its client needs to go on with it in a later server. */
  attachment: Attachment | undefined;
  readonly #options: LiveSessionOptions;
  readonly #interpreter: SessionInterpreter;
  readonly #idle: IdleTimer;
  #ttlTimer: ReturnType<typeof setTimeout> | undefined;
  #expiresAt: Date | undefined;
  readonly #end = new AbortController();
  #execs: number;
  /** What happened to the interpreter while the server used it, which the next result states. */
  #loss: Pick<ExecResult, "restarted" | "restoredFrom"> = {};
  #wasUsed = false;
  #isPaused: boolean;
  /** True if its `ttlMs` were over while it was used, and it pauses when it is unused. */
  #pauseIsDue = false;
  #whenUnused: PromiseWithResolvers<void> | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: LiveSessionOptions) {
    const { owner, record, start, hibernation, ttlMs, idleMs, onError, onChange } = options;
    this.id = record?.id ?? crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
    this.owner = owner;
    this.name = options.name;
    this.createdAt = new Date(record?.createdAt ?? Date.now());
    this.tools = options.tools;
    this.limits = options.limits;
    this.metadata = options.metadata;
    this.checkpointEvery = options.checkpointEvery;
    this.attachment = options.attachment ?? toAttachment(record?.attachment);
    this.#options = options;
    this.#execs = record?.execs ?? 0;
    this.#isPaused = record?.isPaused ?? false;
    this.files = new SessionFiles({
      outputBytes: this.outputBytes,
      use: (work) => this.#useFiles(work),
    });
    this.#interpreter = new SessionInterpreter(
      start,
      hibernation && {
        ...hibernation,
        owner,
        endSignal: this.#end.signal,
        describe: () => this.describe(),
        isUsed: () => this.#idle.users > 0,
        onChange,
        onError,
        onLost: () => this[Symbol.asyncDispose]().catch(onError),
      },
    );
    if (ttlMs !== undefined) this.endAfter(ttlMs, record ? new Date() : this.createdAt);
    const firstMs = Math.min(hibernation?.afterMs ?? Infinity, idleMs);
    this.#idle = new IdleTimer(firstMs, () => void this.#whenIdle().catch(onError));
  }

  /** End of its last use, by the clock of the host. */
  get usedAt(): Date {
    return this.#idle.usedAt;
  }

  /** Milliseconds since the end of its last use. */
  get unusedMs(): number {
    return this.#idle.unusedMs;
  }

  /** Time after which it ends, used or not, by the clock of the host. */
  get expiresAt(): Date | undefined {
    return this.#expiresAt;
  }

  /** Aborts when it ends. */
  get endSignal(): AbortSignal {
    return this.#end.signal;
  }

  /** Bytes of output that its programs may write, if its pool has such a limit. */
  get outputBytes(): number | undefined {
    return this.#options.poolLimits?.outputBytes;
  }

  /** Memory of its interpreter, in bytes, if its pool has such a limit. */
  get memoryBytes(): number | undefined {
    return this.limits?.memoryBytes ?? this.#options.poolLimits?.memoryBytes;
  }

  /** True while it is a checkpoint that no request can use until {@linkcode LiveSession.resume}. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** True while it leaves its interpreter. */
  get isLeaving(): boolean {
    return this.#interpreter.isLeaving;
  }

  /** Lets it end that long after `start`, used or not, instead of at its earlier time. */
  endAfter(ttlMs: number, start: Date = new Date()): void {
    if (this.#ended) return;
    clearTimeout(this.#ttlTimer);
    this.#pauseIsDue = false;
    this.#expiresAt = new Date(start.getTime() + ttlMs);
    this.#ttlTimer = setTimeout(() => this.#whenExpired(), ttlMs);
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
   * Hibernates until it is resumed, and no longer ends after its `ttlMs`.
   *
   * @throws {ServerError} `conflict` if it is used or paused, or has what no checkpoint has; `busy` without room.
   */
  async pause(): Promise<void> {
    if (this.#isPaused) throw new ServerError("conflict", "The session is paused already");
    if (!await this.#interpreter.hibernate()) {
      throw this.#interpreter.refusal ?? new ServerError("conflict", "The session is in use");
    }
    this.#isPaused = true;
    clearTimeout(this.#ttlTimer);
    this.#expiresAt = undefined;
  }

  /** True if it is not saved when the server stops. */
  get endsWithServer(): boolean {
    return this.#options.endsWithServer ?? false;
  }

  /** Lets requests use it after a pause. The first one wakes it. */
  endPause(): void {
    this.#isPaused = false;
  }

  /**
   * Wakes after a pause.
   *
   * @throws {ServerError} `busy` or `timeout` if no slot becomes free, after which it is still paused.
   */
  async resume(): Promise<void> {
    if (!this.#isPaused) return;
    this.endPause();
    try {
      await this.use(() => Promise.resolve());
    } catch (error) {
      this.#isPaused = true;
      throw error;
    }
  }

  /**
   * Saves it when it is unused, so that a later server continues it, and ends it. Returns false if it cannot be
   * saved.
   */
  async suspend(): Promise<boolean> {
    if (this.#ended) return false;
    if (this.#idle.users > 0) await (this.#whenUnused ??= Promise.withResolvers()).promise;
    const isSaved = await this.#interpreter.suspend();
    await this[Symbol.asyncDispose]();
    return isSaved;
  }

  /** True after it has ended. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Number of programs and shell commands it has run. */
  get execs(): number {
    return this.#execs;
  }

  /** Runs a program, as {@linkcode PythonSession.exec} does. All methods throw only {@linkcode ServerError}. */
  async exec(code: string, { calls, ...options }: LiveExecOptions = {}): Promise<ExecResult> {
    const tools = this.tools?.toHostTools(calls);
    return await this.#run("paddock.exec", async (session) => {
      const result = await session.exec(code, { ...this.#limit(options), tools });
      this.#reportLoss(result);
      return result;
    });
  }

  /** Checks that programs of the session can be given its tools. */
  async checkTools(signal: AbortSignal): Promise<void> {
    const { tools } = this;
    if (tools === undefined) return;
    await this.use((session) => session.exec("", { tools: tools.toHostTools(undefined), signal }));
  }

  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#run("paddock.shell", async (session) => {
      const result = await session.shell(command, this.#limit(options));
      this.#reportLoss(result);
      return result;
    });
  }

  async reset(options: ResetOptions = {}): Promise<void> {
    await this.use((session) => session.reset(options));
  }

  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    await this.use((session) => session.writeFile(path, contents));
  }

  async readFile(path: string): Promise<Uint8Array> {
    return await this.use((session) => session.readFile(path));
  }

  /** Uses the session, which wakes if it hibernates. */
  async use<T>(work: (session: PythonSession) => Promise<T>): Promise<T> {
    if (this.#ended) throw new ServerError("conflict", "The session has ended");
    if (this.#isPaused) throw new ServerError("conflict", "The session is paused: resume it first");
    if (this.#idle.users >= MAX_SESSION_WAITING) {
      throw new ServerError("busy", `${MAX_SESSION_WAITING} requests are waiting for the session`, {
        retryAfter: 1,
      });
    }
    const use = this.#idle.use();
    try {
      return await work(await this.#interpreter.session());
    } catch (error) {
      const { stop, onError } = this.#options;
      const publicError = toPublicError(stop.aborted ? stop.reason : error);
      onError(publicError);
      throw publicError;
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
    const isHibernating = await this.#interpreter.hibernate();
    if (this.#ended || this.#idle.users > 0) return;
    const lifeMs = isHibernating && idleMs < Infinity ? HIBERNATION_LIFE_MS : idleMs;
    const leftMs = lifeMs - this.unusedMs;
    if (leftMs > 0) this.#idle.callAgain(leftMs);
    else await this[Symbol.asyncDispose]();
  }

  #whenExpired(): void {
    const { pausesAtEnd, onError } = this.#options;
    this.#pauseIsDue = pausesAtEnd === true && this.#idle.users > 0;
    if (this.#pauseIsDue) return;
    const end = () => this[Symbol.asyncDispose]();
    void (pausesAtEnd ? this.pause().catch(end) : end()).catch(onError);
  }

  /** Returns its record for a state directory. */
  describe(): SessionRecordParts {
    const { id, owner, name, createdAt, usedAt, expiresAt, execs, isPaused, limits, metadata } = this;
    const { idleMs, spareMs, pausesAtEnd = false } = this.#options;
    return {
      format: 1,
      id,
      owner,
      name,
      createdAt: createdAt.toISOString(),
      usedAt: usedAt.toISOString(),
      expiresAt: expiresAt?.toISOString(),
      execs,
      idleMs: idleMs === Infinity ? undefined : idleMs,
      spareMs: spareMs === Infinity ? undefined : spareMs,
      isPaused,
      pausesAtEnd,
      limits,
      metadata: metadata && { ...metadata },
      checkpointEvery: this.checkpointEvery,
      tools: this.tools?.specs,
      attachment: this.attachment?.toText(),
    };
  }

  /** Applies the limits of the session. A program that is to be continued later ends when the server stops. */
  #limit<Options extends SessionLimits & Pick<ExecOptions, "signal">>(options: Options): Options {
    const { stop, hibernation } = this.#options;
    const limited = this.limits === undefined ? options : limitProgram(options, this.limits);
    if (!hibernation?.store.isDurable) return limited;
    return { ...limited, signal: limited.signal ? AbortSignal.any([limited.signal, stop]) : stop };
  }

  /** Uses the session with a function that runs programs of the server, which are not those of the client. */
  async #useFiles<T>(work: (run: RunProgram, session: PythonSession) => Promise<T>): Promise<T> {
    return await this.use((session) =>
      work(async (code, options) => {
        const result = await session.exec(code, options);
        this.#noteLoss(result);
        return result;
      }, session)
    );
  }

  #noteLoss({ restarted, restoredFrom }: ExecResult): void {
    if (restarted) this.#loss = { restarted };
    if (restoredFrom) this.#loss = { ...this.#loss, restoredFrom };
  }

  #reportLoss(result: ExecResult | ShellResult): void {
    const { restarted, restoredFrom } = this.#loss;
    if (restarted) result.restarted = true;
    if (restoredFrom) result.restoredFrom ??= restoredFrom;
    this.#loss = {};
  }

  async #run<Result extends ExecResult | ShellResult>(
    name: string,
    work: (session: PythonSession) => Promise<Result>,
  ): Promise<Result> {
    return await this.use((session) =>
      withSpan(name, async (span) => {
        const result = await work(session);
        this.#execs++;
        const { status, durationMs, denied } = result;
        this.#options.metrics.countExec(status, { durationMs, denied, owner: this.owner });
        span.setAttribute("paddock.status", result.status);
        return result;
      })
    );
  }
}

function toAttachment(text: string | undefined): Attachment | undefined {
  return text === undefined ? undefined : { toText: () => text };
}
