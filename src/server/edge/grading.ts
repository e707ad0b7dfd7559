import type { Grader } from "../../rewards/grader.ts";
import { GRADERS, makeGrader } from "../../rewards/registry.ts";
import { GraderPool } from "../../rewards/worker/grader_pool.ts";
import type { SessionPool } from "../../sandbox/exec.ts";
import { AdmissionQueue } from "../sessions/admission.ts";
import { gradeOrThrow } from "../graders.ts";
import { ServerError } from "../http/errors.ts";
import type { EdgeRequest } from "./request.ts";

/** Score as sent to the client. */
export interface EdgeScore {
  /** `null` if no score can be computed, which is not 0. */
  readonly score: number | null;
  readonly parts?: Readonly<Record<string, number | null>>;
  /** Reason for a missing score. */
  readonly reason?: string;
  /** Isolation between the graded program and the server: a worker, not a process. */
  readonly isolation?: "worker";
}

/** Options of {@linkcode Grading}. */
export interface GradingOptions {
  /** Further graders by name; they may replace built-in ones. */
  readonly graders: Readonly<Record<string, Grader>>;
  /** Time limit of a program, in milliseconds. */
  readonly timeoutMs: number;
}

/** Concurrent programs under test; each needs two interpreters of 40 MB or more. */
export const MAX_SANDBOXED_GRADES = 2;
/** Names of the graders that run Python. */
const SANDBOXED: readonly string[] = Object.keys(GRADERS).filter((name) => GRADERS[name]?.needs === "pools");
/** Time limit of one grade. */
const GRADE_MS = 120_000;

/** Graders of an edge server. The Python runtime and its image are loaded at the first use. */
export class Grading implements AsyncDisposable {
  readonly #workers = new GraderPool();
  readonly #pure: ReadonlyMap<string, Grader>;
  readonly #timeoutMs: number;
  readonly #admission = new AdmissionQueue({ slots: MAX_SANDBOXED_GRADES, queue: 64, waitMs: 60_000 });
  readonly #sandboxed = new Map<string, Promise<Grader>>();
  #pool: Promise<SessionPool> | undefined;

  constructor({ graders, timeoutMs }: GradingOptions) {
    const pure = [...pureGraders(), ...Object.entries(graders)];
    this.#pure = new Map(pure.map(([name, grader]) => [name, this.#workers.guard(grader)]));
    this.#timeoutMs = timeoutMs;
  }

  /** Names of all graders. */
  get names(): string[] {
    return [...new Set([...this.#pure.keys(), ...SANDBOXED])];
  }

  /**
   * Scores one conversation.
   *
   * @throws {ServerError} `invalid` if there is no such grader or it fails; `timeout` after two minutes.
   */
  async grade({ grader: name, task, history }: EdgeRequest, signal: AbortSignal): Promise<EdgeScore> {
    const pure = this.#pure.get(name);
    if (pure === undefined && !SANDBOXED.includes(name)) {
      throw new ServerError("invalid", `grader must be one of ${this.names.join(", ")}`);
    }
    using time = new GradeTime(signal);
    const context = { task, history, signal: time.signal };
    if (pure) return scoreOf(await gradeOrThrow(pure, context));
    const { result: sandboxed, slot } = await this.#admission.run(() => this.#sandboxedGrader(name), time);
    using _slot = slot;
    return { ...scoreOf(await gradeOrThrow(sandboxed, context)), isolation: "worker" };
  }

  /** Ends the workers of the graders. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workers[Symbol.asyncDispose]();
  }

  #sandboxedGrader(name: string): Promise<Grader> {
    const grader = this.#sandboxed.get(name) ?? this.#makeSandboxed(name);
    this.#sandboxed.set(name, grader);
    return grader;
  }

  async #makeSandboxed(name: string): Promise<Grader> {
    const entry = GRADERS[name];
    if (entry === undefined) {
      throw new TypeError(`Cannot make grader '${name}' as the registry does not contain it`);
    }
    this.#pool ??= import("./worker_pool.ts").then(({ createWorkerPool }) =>
      createWorkerPool(MAX_SANDBOXED_GRADES)
    );
    const pool = await this.#pool;
    const resources = { pool: () => pool, testPool: () => pool, timeoutMs: this.#timeoutMs };
    return await makeGrader(entry, resources);
  }
}

/** Makes the graders that need only their input. */
function pureGraders(): [string, Grader][] {
  return Object.entries(GRADERS).flatMap(([name, entry]) =>
    entry.needs === "nothing" ? [[name, entry.make()] as [string, Grader]] : []
  );
}

function scoreOf({ score, parts, reason }: Awaited<ReturnType<typeof gradeOrThrow>>): EdgeScore {
  return { score, ...(parts && { parts }), ...(reason !== undefined && { reason }) };
}

/** Signal that aborts when a grade takes too long or the client disconnects. */
class GradeTime implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(disconnected: AbortSignal) {
    const timeout = new AbortController();
    const error = new ServerError("timeout", `The grade took more than ${GRADE_MS} ms`);
    this.#timer = setTimeout(() => timeout.abort(error), GRADE_MS);
    this.signal = AbortSignal.any([timeout.signal, disconnected]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
