import * as z from "zod";
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
import { parseUntrustedJson } from "../../json.ts";
import { IdleTimer } from "./idle_timer.ts";
import { MAX_SESSION_WAITING } from "../limits.ts";
import type { RunProgram } from "./guest_request.ts";
import { isAbsolutePath, readAbsolute, writeAbsolute } from "./session_file.ts";
import { type FolderListing, listFolder, makeDirectory, removePath } from "./session_folder.ts";
import { limitProgram, type SessionLimits } from "./session_limits.ts";
import LIST_FILES from "./list_files.py" with { type: "text" };
import type { Metrics } from "../metrics.ts";
import type { CallChannel, SessionTools } from "./session_tools.ts";
import { ServerError, toPublicError } from "../http/errors.ts";
import { withSpan } from "../http/tracing.ts";

/** File of a session. */
export interface SessionFile {
  readonly path: string;
  readonly bytes: number;
  /** Modification time by the session's clock, in nanoseconds. The guest can set it to any value. */
  readonly writtenNs: number;
}

/** Options of {@linkcode LiveSession}. */
export interface LiveSessionOptions {
  /**
   * Unguessable id.
   *
   * @default a new one
   */
  readonly id?: string | undefined;
  /** Time of its start. @default now */
  readonly createdAt?: Date | undefined;
  readonly session: PythonSession;
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
  /** Called once, when it ends. */
  readonly onEnd: () => Promise<void>;
}

/** Options of {@linkcode LiveSession.exec}. */
export interface LiveExecOptions extends Omit<ExecOptions, "tools"> {
  /** Way on which calls of the session's tools reach the client. Without it, each call fails. */
  calls?: CallChannel | undefined;
}

const listingSchema = z.array(z.tuple([z.string().max(4096), z.number().nonnegative(), z.number()])).max(
  10_000,
);

/** A session driven by remote clients. It ends on dispose, after its idle time or after its `ttlMs`. */
export class LiveSession implements AsyncDisposable {
  /** Unguessable id. */
  readonly id: string;
  readonly owner: string;
  readonly name: string | undefined;
  readonly createdAt: Date;
  /** Tools of its client. */
  readonly tools: SessionTools | undefined;
  /** Limits of its programs. */
  readonly limits: SessionLimits | undefined;
  /** Texts by name that its client has given to it. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** When it takes checkpoints by itself, if it does. */
  readonly checkpointEvery: CheckpointEvery | undefined;
  readonly #options: LiveSessionOptions;
  readonly #idle: IdleTimer;
  #ttlTimer: ReturnType<typeof setTimeout> | undefined;
  #expiresAt: Date | undefined;
  readonly #end = new AbortController();
  #execs = 0;
  /** What happened to the interpreter while the server used it, which the next result states. */
  #loss: Pick<ExecResult, "restarted" | "restoredFrom"> = {};
  #wasUsed = false;
  #ended: Promise<void> | undefined;

  constructor(options: LiveSessionOptions) {
    this.id = options.id ?? createSessionId();
    this.createdAt = options.createdAt ?? new Date();
    this.owner = options.owner;
    this.name = options.name;
    this.tools = options.tools;
    this.limits = options.limits;
    this.metadata = options.metadata;
    this.checkpointEvery = options.checkpointEvery;
    this.#options = options;
    const { ttlMs } = options;
    if (ttlMs !== undefined) this.endAfter(ttlMs, this.createdAt);
    this.#idle = new IdleTimer(options.idleMs, () => this[Symbol.asyncDispose]());
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

  /** Lets it end that long after `start`, used or not, instead of at its earlier time. */
  endAfter(ttlMs: number, start: Date = new Date()): void {
    if (this.#ended) return;
    clearTimeout(this.#ttlTimer);
    this.#expiresAt = new Date(start.getTime() + ttlMs);
    const restMs = Math.max(0, this.#expiresAt.getTime() - Date.now());
    this.#ttlTimer = setTimeout(() => this[Symbol.asyncDispose](), restMs);
  }

  /** True if it may end in favour of another session: it was idle for its `spareMs` and for `leastMs`. */
  isSpare(leastMs: number): boolean {
    const { spareMs = Infinity } = this.#options;
    const isFree = (this.#wasUsed || spareMs > 0) && this.#idle.users === 0 && !this.ended;
    return isFree && this.unusedMs >= Math.max(spareMs, leastMs);
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
    await this.#use(({ session }) => session.exec("", { tools: tools.toHostTools(undefined), signal }));
  }

  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#run("paddock.shell", async (session) => {
      const result = await session.shell(command, this.#limit(options));
      this.#reportLoss(result);
      return result;
    });
  }

  /** Uses the session with a function that changes or reads its state and runs no program. */
  async use<T>(work: (session: PythonSession) => Promise<T>): Promise<T> {
    return await this.#use(({ session }) => work(session));
  }

  async reset(options: ResetOptions = {}): Promise<void> {
    await this.#use(({ session }) => session.reset(options));
  }

  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    await this.#use(({ session }) => session.writeFile(path, contents));
  }

  async readFile(path: string): Promise<Uint8Array> {
    return await this.#use(({ session }) => session.readFile(path));
  }

  /** Writes a file under the working directory, or at an absolute path: see {@linkcode writeAbsolute}. */
  async writeAnyFile(path: string, contents: Uint8Array, signal: AbortSignal): Promise<void> {
    if (!isAbsolutePath(path)) return await this.writeFile(path, contents);
    const { session } = this.#options;
    await this.#useFiles((run) => writeAbsolute(run, session, { path, contents, signal }));
  }

  /** Reads a file under the working directory, or at an absolute path: see {@linkcode readAbsolute}. */
  async readAnyFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
    if (!isAbsolutePath(path)) return await this.readFile(path);
    const { session } = this.#options;
    return await this.#useFiles((run) => readAbsolute(run, session, { path, signal }));
  }

  /** Lists the files of the working directory, as reported by the guest. */
  async listFiles(signal?: AbortSignal): Promise<SessionFile[]> {
    return await this.#useFiles(async (run) =>
      parseListing(await run(LIST_FILES, { timeoutMs: 5_000, signal }))
    );
  }

  /** Lists a folder, as reported by the guest: see {@linkcode listFolder}. */
  async listFolder(path: string, signal: AbortSignal): Promise<FolderListing> {
    const { outputBytes } = this;
    return await this.#useFiles((run) => listFolder(run, path, { signal, outputBytes }));
  }

  /** Removes a file or folder: see {@linkcode removePath}. */
  async remove(path: string, options: { recursive: boolean; signal: AbortSignal }): Promise<void> {
    await this.#useFiles((run) => removePath(run, path, options));
  }

  /** Makes a folder: see {@linkcode makeDirectory}. */
  async makeDirectory(path: string, signal: AbortSignal): Promise<void> {
    await this.#useFiles((run) => makeDirectory(run, path, { signal }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#idle[Symbol.dispose]();
    clearTimeout(this.#ttlTimer);
    this.#ended ??= this.#options.onEnd();
    this.#end.abort(new ServerError("conflict", "The session has ended"));
    return this.#ended;
  }

  #limit<Options extends SessionLimits>(options: Options): Options {
    return this.limits === undefined ? options : limitProgram(options, this.limits);
  }

  /** Uses the session with a function that runs programs of the server, which are not those of the client. */
  async #useFiles<T>(work: (run: RunProgram) => Promise<T>): Promise<T> {
    return await this.#use(({ session }) =>
      work(async (code, options) => {
        const result = await session.exec(code, options);
        this.#noteLoss(result);
        return result;
      })
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
    return await this.#use(({ session, metrics }) =>
      withSpan(name, async (span) => {
        const result = await work(session);
        this.#execs++;
        const { status, durationMs, denied } = result;
        metrics.countExec(status, { durationMs, denied, owner: this.owner });
        span.setAttribute("paddock.status", result.status);
        return result;
      })
    );
  }

  async #use<T>(work: (options: LiveSessionOptions) => Promise<T>): Promise<T> {
    if (this.#ended) throw new ServerError("conflict", "The session has ended");
    if (this.#idle.users >= MAX_SESSION_WAITING) {
      throw new ServerError("busy", `${MAX_SESSION_WAITING} requests are waiting for the session`, {
        retryAfter: 1,
      });
    }
    const use = this.#idle.use();
    try {
      return await work(this.#options);
    } catch (error) {
      const { stop, onError } = this.#options;
      const publicError = toPublicError(stop.aborted ? stop.reason : error);
      onError(publicError);
      throw publicError;
    } finally {
      use[Symbol.dispose]();
      this.#wasUsed = true;
      if (this.#idle.users === 0) this.#options.onUnused();
    }
  }
}

function createSessionId(): string {
  return crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
}

function parseListing(result: ExecResult): SessionFile[] {
  try {
    const rows = listingSchema.parse(parseUntrustedJson(result.stdout));
    return rows.map(([path, bytes, writtenNs]) => ({ path, bytes, writtenNs }));
  } catch (cause) {
    throw new ServerError("conflict", "The session cannot list its files", { cause });
  }
}
