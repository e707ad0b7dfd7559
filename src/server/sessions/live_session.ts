import { parseWithIntegers, writeIntegers } from "../../numbers/exact_numbers.ts";
import { randomId } from "../../random_id.ts";
import type { StateMemory, StateMemoryOptions } from "../../sandbox/checkpoint/state_memory.ts";
import type { CheckpointEvery, CheckpointOptions } from "../../sandbox/contract/checkpoint.ts";
import type {
  ExecOptions,
  ExecResult,
  ResumeOptions,
  ToolAnswer,
  WaitingCall,
} from "../../sandbox/contract/exec.ts";
import type { PythonSession, ResetOptions, SessionPool } from "../../sandbox/contract/pool.ts";
import type { ShellOptions, ShellResult } from "../../sandbox/contract/shell.ts";
import { requireBranching } from "../checkpoints/transfers.ts";
import type { SessionRecord, SessionRecordParts } from "../hibernation/session_record.ts";
import { toPublicError } from "../http/http_errors.ts";
import { withSpan } from "../http/tracing.ts";
import type { Metrics } from "../metrics.ts";
import { type ServerEvent, startOfId } from "../server_event.ts";
import type { RunProgram } from "./files/guest_request.ts";
import { SessionFiles } from "./files/session_files.ts";
import { InterpreterLoss } from "./interpreter_loss.ts";
import { SessionLife, type SessionLifeOptions } from "./session_life.ts";
import { limitProgram, type SessionLimits } from "./session_limits.ts";
import type { CallChannel, SessionTools } from "./session_tools.ts";

/** State of a peer about a session, which a later server needs. */
export interface Attachment {
  /** Returns the state as a text of the peer's own form. */
  toText(): string;
}

/** Options of {@linkcode LiveSession}. */
export interface LiveSessionOptions extends Omit<SessionLifeOptions, "isPaused" | "usedAt"> {
  /**
   * Unguessable id.
   *
   * @default a new one
   */
  readonly id?: string | undefined;
  /**
   * Time of the session's start.
   *
   * @default now
   */
  readonly createdAt?: Date | undefined;
  /** The session as a state directory had it. */
  readonly record?: SessionRecord | undefined;
  /** The owner's name for the session. */
  readonly name?: string | undefined;
  /** Tools of the session's client. */
  readonly tools?: SessionTools | undefined;
  /** Limits of the session's programs. */
  readonly limits?: SessionLimits | undefined;
  /** Texts by name that the client has given to the session. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** When the session takes automatic checkpoints, if at all. */
  readonly checkpointEvery?: CheckpointEvery | undefined;
  /** State of the client's peer, with which a later server continues the session. */
  readonly attachment?: Attachment | undefined;
  /**
   * True if no client finds the session in a later server, so that the session is not saved.
   *
   * @default false
   */
  readonly endsWithServer?: boolean | undefined;
  /**
   * Milliseconds after which the session ends, used or not.
   *
   * @default no limit
   */
  readonly ttlMs?: number | undefined;
  /** End of the session's life, if another server has opened the session. Excludes `ttlMs`. */
  readonly expiresAt?: Date | undefined;
  /** Memory of the states of the session's owner. */
  readonly states: StateMemory;
  /** Limits of the profile, in bytes. */
  readonly poolLimits?: SessionPool["limits"];
  readonly metrics: Metrics;
  /** Called when a program has lost the interpreter. */
  readonly onEvent: (event: ServerEvent) => void;
  /** Aborted when the server stops; waiting requests fail with the reason of the abort. */
  readonly stop: AbortSignal;
}

/** Options of {@linkcode LiveSession.exec}. */
export interface LiveExecOptions extends ExecOptions {
  /** Tools of the server, in place of the session's tools. */
  tools?: ExecOptions["tools"];
  /** Way on which calls of the session's tools reach the client. Without this way, each call fails. */
  calls?: CallChannel | undefined;
}

/** A session driven by remote clients. The session ends on dispose, after its idle time or after `ttlMs`. */
export class LiveSession implements AsyncDisposable {
  /** Unguessable id. */
  readonly id: string;
  readonly owner: string;
  readonly name: string | undefined;
  readonly createdAt: Date;
  readonly files: SessionFiles;
  /** Tools of the session's client. */
  readonly tools: SessionTools | undefined;
  /** Limits of the session's programs. */
  readonly limits: SessionLimits | undefined;
  /** Texts by name that the client has given to the session. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** When the session takes automatic checkpoints, if at all. */
  readonly checkpointEvery: CheckpointEvery | undefined;
  /** State of the client's peer, with which a later server continues the session. */
  attachment: Attachment | undefined;
  /** The session's interpreter, uses and end. */
  readonly life: SessionLife;
  readonly #options: LiveSessionOptions;
  #execs: number;
  /** The call that the session's program waits for, as JSON: the session's record counts the bytes. */
  #waiting: string | undefined;
  readonly #loss = new InterpreterLoss();

  constructor(options: LiveSessionOptions) {
    const { owner, record, ttlMs, expiresAt } = options;
    this.id = options.id ?? record?.id ?? randomId();
    this.owner = owner;
    this.name = options.name;
    this.createdAt = options.createdAt ?? new Date(record?.createdAt ?? options.clock.now());
    this.tools = options.tools;
    this.limits = options.limits;
    this.metadata = options.metadata;
    this.checkpointEvery = options.checkpointEvery;
    this.attachment = options.attachment ?? toAttachment(record?.attachment);
    this.#options = options;
    this.#execs = record?.execs ?? 0;
    this.#waiting = record?.waiting;
    this.files = new SessionFiles({
      outputBytes: this.outputBytes,
      use: (work) => this.#useFiles(work),
    });
    const usedAt = record && new Date(record.usedAt);
    const { isPaused, hasMemory = options.hasMemory } = record ?? {};
    this.life = new SessionLife({ ...options, isPaused, hasMemory, usedAt }, () => this.describe());
    if (expiresAt) this.life.endAt(expiresAt);
    else if (ttlMs !== undefined) this.life.endAt(new Date(this.createdAt.getTime() + ttlMs));
  }

  /** Bytes of output that the session's programs may write, if the pool has such a limit. */
  get outputBytes(): number | undefined {
    return this.#options.poolLimits?.outputBytes;
  }

  /** Memory of the interpreter, in bytes, if the pool has such a limit. */
  get memoryBytes(): number | undefined {
    return this.limits?.memoryBytes ?? this.#options.poolLimits?.memoryBytes;
  }

  /** Number of programs and shell commands that the session has run. */
  get execs(): number {
    return this.#execs;
  }

  /**
   * Runs a program, as {@linkcode PythonSession.exec} does. All methods throw only {@linkcode ServerError}.
   */
  async exec(code: string, { calls, ...options }: LiveExecOptions = {}): Promise<ExecResult> {
    const waits = options.suspendAt !== undefined;
    const own = waits ? this.tools?.toWaitingTools() : this.tools?.toHostTools(calls);
    const tools = options.tools ?? own;
    const captures = waits ? this.#captures : undefined;
    return await this.#run("paddock.exec", async (session) => {
      return this.#noteResult(await session.exec(code, { ...this.#limit(options), tools, captures }));
    });
  }

  /** Answers the call that a program waits for, as {@linkcode BranchingSession.resume} does. */
  async resume(
    answer: ToolAnswer,
    options: Pick<ResumeOptions, "callId" | "timeoutMs" | "signal"> = {},
  ): Promise<ExecResult> {
    const tools = this.tools?.toWaitingTools();
    const captures = this.#captures;
    return await this.#run("paddock.resume", async (session) => {
      const { memoryBytes: _ofProgram, ...limited } = this.#limit<SessionLimits & typeof options>(options);
      return this.#noteResult(
        await requireBranching(session).resume(answer, { ...limited, tools, captures }),
      );
    }, { begins: false });
  }

  /** The call that the session's program waits for, if any. */
  get waiting(): WaitingCall | undefined {
    return this.#waiting === undefined ? undefined : parseWithIntegers(this.#waiting) as WaitingCall;
  }

  /** Sets the call that the session's program waits for. */
  setWaiting(call: WaitingCall | undefined): void {
    this.#waiting = call && JSON.stringify(call, writeIntegers);
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
      this.#loss.report(result);
      return result;
    });
  }

  async reset(options: ResetOptions = {}): Promise<void> {
    await this.use((session) => session.reset(options));
    this.#waiting = undefined;
  }

  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    await this.use((session) => session.writeFile(path, contents));
  }

  async readFile(path: string): Promise<Uint8Array> {
    return await this.use((session) => session.readFile(path));
  }

  /** True after the session has ended. */
  get ended(): boolean {
    return this.life.ended;
  }

  /** True if the session is not saved when the server stops. */
  get endsWithServer(): boolean {
    return this.#options.endsWithServer ?? false;
  }

  /** Uses the session with a function. A session that hibernates wakes. */
  async use<T>(work: (session: PythonSession) => Promise<T>): Promise<T> {
    const { stop, onError } = this.#options;
    try {
      stop.throwIfAborted(); // the session is being saved
      return await this.life.use(work);
    } catch (error) {
      const publicError = toPublicError(stop.aborted ? stop.reason : error);
      onError(publicError);
      throw publicError;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.life[Symbol.asyncDispose]();
  }

  /** Returns the session's record for a state directory. */
  describe(): SessionRecordParts {
    const { id, owner, name, createdAt, execs, limits, metadata } = this;
    return {
      format: 1,
      id,
      owner,
      name,
      createdAt: createdAt.toISOString(),
      execs,
      ...this.life.describe(),
      limits,
      metadata: metadata && { ...metadata },
      checkpointEvery: this.checkpointEvery,
      tools: this.tools?.specs,
      waiting: this.#waiting,
      attachment: this.attachment?.toText(),
    };
  }

  get #captures(): Pick<CheckpointOptions, "owner"> & StateMemoryOptions {
    return { owner: this.owner, states: this.#options.states };
  }

  #noteResult(result: ExecResult): ExecResult {
    this.setWaiting(result.status === "waiting" ? result.call : undefined);
    this.#loss.report(result);
    return result;
  }

  /**
   * Applies the limits of the session. A program that is to be continued later ends when the server stops.
   */
  #limit<Options extends SessionLimits & Pick<ExecOptions, "signal">>(options: Options): Options {
    const { stop, hibernation } = this.#options;
    const limited = this.limits === undefined ? options : limitProgram(options, this.limits);
    if (!hibernation?.store.isDurable) return limited;
    return { ...limited, signal: limited.signal ? AbortSignal.any([limited.signal, stop]) : stop };
  }

  /** Uses the session with a function that runs programs of the server, not of the client. */
  async #useFiles<T>(work: (run: RunProgram, session: PythonSession) => Promise<T>): Promise<T> {
    return await this.use((session) =>
      work(async (code, options) => {
        const result = await session.exec(code, options);
        this.#loss.note(result);
        return result;
      }, session)
    );
  }

  async #run<Result extends ExecResult | ShellResult>(
    name: string,
    work: (session: PythonSession) => Promise<Result>,
    { begins = true }: { begins?: boolean } = {},
  ): Promise<Result> {
    return await this.use((session) =>
      withSpan(name, async (span) => {
        const result = await work(session);
        if (begins) this.#execs++;
        const { status, durationMs, denied } = result;
        this.#options.metrics.countExec(status, { durationMs, denied, owner: this.owner });
        if (!result.stateKept) {
          const { id, owner } = this;
          this.#options.onEvent({ kind: "interpreter lost", session: startOfId(id), owner, status });
        }
        span.setAttribute("paddock.status", result.status);
        return result;
      })
    );
  }
}

function toAttachment(text: string | undefined): Attachment | undefined {
  return text === undefined ? undefined : { toText: () => text };
}
