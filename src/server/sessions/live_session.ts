import { z } from "zod";
import type {
  ExecOptions,
  ExecResult,
  PythonSession,
  ResetOptions,
  ShellOptions,
  ShellResult,
} from "../../sandbox/exec.ts";
import { parseUntrustedJson } from "../../json.ts";
import { IdleTimer } from "./idle_timer.ts";
import { MAX_SESSION_WAITING } from "../limits.ts";
import LIST_FILES from "./list_files.py" with { type: "text" };
import type { Metrics } from "../metrics.ts";
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
  readonly session: PythonSession;
  /** Owner, who alone may use it. */
  readonly owner: string;
  /** The owner's name for it. */
  readonly name?: string | undefined;
  readonly metrics: Metrics;
  /** Milliseconds without use after which it ends; `Infinity` disables it. */
  readonly idleMs: number;
  /**
   * Milliseconds without use after which it may end in favour of another session, once it was used.
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

const listingSchema = z.array(z.tuple([z.string().max(4096), z.number().nonnegative(), z.number()])).max(
  10_000,
);

/** A session driven by remote clients. It ends on dispose or after its idle time. */
export class LiveSession implements AsyncDisposable {
  /** Unguessable id. */
  readonly id: string = crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
  readonly owner: string;
  readonly name: string | undefined;
  readonly createdAt: Date = new Date();
  readonly #options: LiveSessionOptions;
  readonly #idle: IdleTimer;
  #execs = 0;
  #wasUsed = false;
  #ended: Promise<void> | undefined;

  constructor(options: LiveSessionOptions) {
    this.owner = options.owner;
    this.name = options.name;
    this.#options = options;
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

  /** True if it may end in favour of another session: it was idle for its `spareMs` and for `leastMs`. */
  isSpare(leastMs: number): boolean {
    const { spareMs = Infinity } = this.#options;
    const isFree = this.#wasUsed && this.#idle.users === 0 && !this.ended;
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
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    return await this.#run("paddock.exec", (session) => session.exec(code, options));
  }

  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    return await this.#run("paddock.shell", (session) => session.shell(command, options));
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

  /** Lists the files of the working directory, as reported by the guest. */
  async listFiles(signal?: AbortSignal): Promise<SessionFile[]> {
    return await this.#use(async ({ session }) => {
      const result = await session.exec(LIST_FILES, { timeoutMs: 5_000, signal });
      return parseListing(result);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#idle[Symbol.dispose]();
    this.#ended ??= this.#options.onEnd();
    return this.#ended;
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

function parseListing(result: ExecResult): SessionFile[] {
  try {
    const rows = listingSchema.parse(parseUntrustedJson(result.stdout));
    return rows.map(([path, bytes, writtenNs]) => ({ path, bytes, writtenNs }));
  } catch (cause) {
    throw new ServerError("conflict", "The session cannot list its files", { cause });
  }
}
