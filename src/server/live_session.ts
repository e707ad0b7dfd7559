import { z } from "zod";
import type {
  ExecOptions,
  ExecResult,
  PythonSession,
  ResetOptions,
  ShellOptions,
  ShellResult,
} from "../sandbox/exec.ts";
import { Idle } from "./idle.ts";
import LIST_FILES from "./list_files.py" with { type: "text" };
import type { Metrics } from "./metrics.ts";
import { ServerError, sessionError } from "./server_error.ts";
import { traced } from "./tracing.ts";

/** A file of a session's. */
export interface SessionFile {
  readonly path: string;
  readonly bytes: number;
  /** When the session's clock says that it was written, in nanoseconds; a guest may set it to anything. */
  readonly writtenNs: number;
}

/** What a {@linkcode LiveSession} is made of. */
export interface LiveSessionOptions {
  readonly session: PythonSession;
  /** Who may use it. */
  readonly owner: string;
  /** What its owner calls it, where it has a name. */
  readonly name?: string | undefined;
  readonly metrics: Metrics;
  /** Milliseconds without use after which it ends; never when `Infinity`. */
  readonly idleMs: number;
  /** Milliseconds without use after which it may end for another one, once it was used; never unless given. */
  readonly spareMs?: number | undefined;
  /** Aborted when everything stops, with what those who wait are told. */
  readonly stop: AbortSignal;
  /** Told of what the session throws. */
  readonly onFault: (thrown: unknown) => void;
  /** Called whenever nobody uses it any more. */
  readonly onRest: () => void;
  /** Called once, when it ends. */
  readonly onEnd: () => Promise<void>;
}

/** More requests than this may not wait for one session. */
const MAX_WAITING = 64;

const listed = z.array(z.tuple([z.string().max(4096), z.number().nonnegative(), z.number()])).max(10_000);

/** An interpreter that somebody drives from afar. It ends when it is disposed, or is used no more. */
export class LiveSession implements AsyncDisposable {
  /** Names it, and cannot be guessed. */
  readonly id: string = crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
  readonly owner: string;
  readonly name: string | undefined;
  readonly createdAt: Date = new Date();
  readonly #options: LiveSessionOptions;
  readonly #idle: Idle;
  #execs = 0;
  #wasUsed = false;
  #ended: Promise<void> | undefined;

  constructor(options: LiveSessionOptions) {
    this.owner = options.owner;
    this.name = options.name;
    this.#options = options;
    this.#idle = new Idle(options.idleMs, () => this[Symbol.asyncDispose]());
  }

  get usedAt(): Date {
    return this.#idle.usedAt;
  }

  /** Whether it may end for another one: nobody has used it for as long, and for `leastMs`. */
  isSpare(leastMs: number): boolean {
    const { spareMs = Infinity } = this.#options;
    const isFree = this.#wasUsed && this.#idle.users === 0 && !this.ended;
    return isFree && Date.now() - this.usedAt.getTime() >= Math.max(spareMs, leastMs);
  }

  /** Whether it is over. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** How many programs and command lines it has run. */
  get execs(): number {
    return this.#execs;
  }

  /** Runs a program; see {@linkcode PythonSession}. Everything here throws a {@linkcode ServerError} only. */
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

  /** The files under the working directory, as the guest tells them. */
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
      traced(name, async (span) => {
        const result = await work(session);
        this.#execs++;
        metrics.exec(result.status, result.durationMs);
        span.setAttribute("paddock.status", result.status);
        return result;
      })
    );
  }

  async #use<T>(work: (options: LiveSessionOptions) => Promise<T>): Promise<T> {
    if (this.#ended) throw new ServerError("conflict", "The session has ended");
    if (this.#idle.users >= MAX_WAITING) {
      throw new ServerError("busy", `${MAX_WAITING} requests wait for the session`, { retryAfter: 1 });
    }
    const use = this.#idle.use();
    try {
      return await work(this.#options);
    } catch (error) {
      const { stop, onFault } = this.#options;
      const told = sessionError(stop.aborted ? stop.reason : error);
      onFault(told);
      throw told;
    } finally {
      use[Symbol.dispose]();
      this.#wasUsed = true;
      if (this.#idle.users === 0) this.#options.onRest();
    }
  }
}

function parseListing(result: ExecResult): SessionFile[] {
  try {
    const rows = listed.parse(JSON.parse(result.stdout));
    return rows.map(([path, bytes, writtenNs]) => ({ path, bytes, writtenNs }));
  } catch (cause) {
    throw new ServerError("conflict", "The session cannot list its files", { cause });
  }
}
