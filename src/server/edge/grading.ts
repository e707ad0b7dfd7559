import type { Grader } from "../../rewards/grader.ts";
import { GRADERS, makeGrader } from "../../rewards/registry.ts";
import type { SessionPool } from "../../sandbox/exec.ts";
import { Gate } from "../gate.ts";
import { scored } from "../scored.ts";
import { ServerError } from "../server_error.ts";
import type { EdgeRequest } from "./edge_request.ts";

/** A score as it goes out. */
export interface EdgeScore {
  /** `null` when no score can be given, which is not 0. */
  readonly score: number | null;
  readonly parts?: Readonly<Record<string, number | null>>;
  /** Why there is no score. */
  readonly reason?: string;
  /** What stood between the program that was graded and the server: a worker, and no process boundary. */
  readonly isolation?: "worker";
}

/** How {@linkcode Grading} grades. */
export interface GradingOptions {
  /** Graders beside those that are built in, or in their place. */
  readonly graders: Readonly<Record<string, Grader>>;
  /** Milliseconds that a program may take. */
  readonly timeoutMs: number;
}

/** Programs under test at once; each takes two interpreters of 40 MB and more. */
export const SANDBOXED_AT_ONCE = 2;
/** The graders that run Python. */
const SANDBOXED: readonly string[] = Object.keys(GRADERS).filter((name) => GRADERS[name]?.needs === "pools");
/** Longest that one conversation may be graded. */
const GRADE_MS = 120_000;

/** The graders of a server at the edge. What runs Python is loaded, and its image made, when the first asks for it. */
export class Grading {
  readonly #pure: ReadonlyMap<string, Grader>;
  readonly #timeoutMs: number;
  readonly #gate = new Gate({ places: SANDBOXED_AT_ONCE, queue: 64, waitMs: 60_000 });
  readonly #sandboxed = new Map<string, Promise<Grader>>();
  #pool: Promise<SessionPool> | undefined;

  constructor({ graders, timeoutMs }: GradingOptions) {
    this.#pure = new Map([...pureGraders(), ...Object.entries(graders)]);
    this.#timeoutMs = timeoutMs;
  }

  /** What the graders are called. */
  get names(): string[] {
    return [...new Set([...this.#pure.keys(), ...SANDBOXED])];
  }

  /**
   * Scores one conversation.
   *
   * @throws {ServerError} when it cannot be graded, or there is no such grader.
   */
  async grade({ grader: name, task, history }: EdgeRequest, signal: AbortSignal): Promise<EdgeScore> {
    const pure = this.#pure.get(name);
    if (pure === undefined && !SANDBOXED.includes(name)) {
      throw new ServerError("invalid", `grader must be one of ${this.names.join(", ")}`);
    }
    using time = new GradeTime(signal);
    const context = { task, history, signal: time.signal };
    if (pure) return scoreOf(await scored(() => pure, context));
    const { entered, place } = await this.#gate.pass(() => this.#sandboxedGrader(name), time);
    using _place = place;
    return { ...scoreOf(await scored(() => entered, context)), isolation: "worker" };
  }

  #sandboxedGrader(name: string): Promise<Grader> {
    const grader = this.#sandboxed.get(name) ?? this.#makeSandboxed(name);
    this.#sandboxed.set(name, grader);
    return grader;
  }

  async #makeSandboxed(name: string): Promise<Grader> {
    const entry = GRADERS[name];
    if (entry === undefined) {
      throw new TypeError(`Cannot make grader '${name}' as the registry has none of this name`);
    }
    this.#pool ??= import("./worker_pool.ts").then(({ workerPool }) => workerPool(SANDBOXED_AT_ONCE));
    const pool = await this.#pool;
    const resources = { pool: () => pool, testPool: () => pool, timeoutMs: this.#timeoutMs };
    return await makeGrader(entry, resources);
  }
}

/** Makes the graders that need nothing but their input. */
function pureGraders(): [string, Grader][] {
  return Object.entries(GRADERS).flatMap(([name, entry]) =>
    entry.needs === "nothing" ? [[name, entry.make()] as [string, Grader]] : []
  );
}

function scoreOf({ score, parts, reason }: Awaited<ReturnType<typeof scored>>): EdgeScore {
  return { score, ...(parts && { parts }), ...(reason !== undefined && { reason }) };
}

/** A signal that is aborted when a grade has taken too long, or whoever asked is gone. */
class GradeTime implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(gone: AbortSignal) {
    const over = new AbortController();
    const error = new ServerError("timeout", `The grade took more than ${GRADE_MS} ms`);
    this.#timer = setTimeout(() => over.abort(error), GRADE_MS);
    this.signal = AbortSignal.any([over.signal, gone]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
