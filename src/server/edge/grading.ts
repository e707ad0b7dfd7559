import { Deadline } from "../../async/abort.ts";
import type { Grader } from "../../rewards/grader.ts";
import { REPLY_GRADERS } from "../../rewards/reply_graders.ts";
import { AdmissionQueue } from "../admission/admission_queue.ts";
import { gradeOrThrow } from "../graders.ts";
import { ServerError } from "../http/http_errors.ts";
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

/** Parts that an edge server needs of its runtime. */
export interface GradingRuntime extends AsyncDisposable {
  /** Returns a grader that bounds what a reply and a task may take. */
  guard(grader: Grader): Grader;
  /** Names of the graders that run Python; empty if the runtime cannot run them. */
  readonly sandboxed: readonly string[];
  /** Graders that other runtimes have, each with the message that says what to use. */
  readonly refusals?: Readonly<Record<string, string>>;
  /** Makes a grader that runs Python. */
  makeSandboxed(name: string): Promise<Grader>;
}

/** Concurrent programs under test; each needs two interpreters of 40 MB or more. */
export const MAX_SANDBOXED_GRADES = 2;
/** Time limit of a grade. */
const GRADE_MS = 120_000;

/** Graders of an edge server. Those that run Python are made at their first use. */
export class Grading implements AsyncDisposable {
  readonly #runtime: GradingRuntime;
  readonly #direct: ReadonlyMap<string, Grader>;
  readonly #admission = new AdmissionQueue({ slots: MAX_SANDBOXED_GRADES, queue: 64, waitMs: 60_000 });
  readonly #sandboxed = new Map<string, Promise<Grader>>();

  /** Creates the graders. `graders` are further ones by name; they may replace built-in ones. */
  constructor(graders: Readonly<Record<string, Grader>>, runtime: GradingRuntime) {
    this.#runtime = runtime;
    const builtIn = Object.entries(REPLY_GRADERS).map(([name, { make }]) => [name, make()] as const);
    const all = [...builtIn, ...Object.entries(graders)];
    this.#direct = new Map(all.map(([name, grader]) => [name, runtime.guard(grader)]));
  }

  /** Names of all graders. */
  get names(): string[] {
    return [...new Set([...this.#direct.keys(), ...this.#runtime.sandboxed])];
  }

  /** True if programs can be graded. */
  get runsPython(): boolean {
    return this.#runtime.sandboxed.length > 0;
  }

  /**
   * Scores a conversation.
   *
   * @throws {ServerError} `invalid` if there is no such grader or it fails; `timeout` after two minutes.
   */
  async grade({ grader: name, task, history }: EdgeRequest, signal: AbortSignal): Promise<EdgeScore> {
    const direct = this.#direct.get(name);
    if (direct === undefined && !this.#runtime.sandboxed.includes(name)) {
      const refusal = this.#runtime.refusals?.[name];
      if (refusal !== undefined) throw new ServerError("invalid", refusal);
      throw new ServerError("invalid", `grader must be one of ${this.names.join(", ")}`);
    }
    using deadline = new Deadline(GRADE_MS, {
      signal,
      reason: () => new ServerError("timeout", `The grade took more than ${GRADE_MS} ms`),
    });
    const context = { task, history, signal: deadline.signal };
    if (direct) return scoreOf(await gradeOrThrow(direct, context));
    const { result: sandboxed, slot } = await this.#admission.run(
      () => this.#sandboxedGrader(name),
      deadline,
    );
    using _slot = slot;
    return { ...scoreOf(await gradeOrThrow(sandboxed, context)), isolation: "worker" };
  }

  /** Ends the workers of the graders. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runtime[Symbol.asyncDispose]();
  }

  #sandboxedGrader(name: string): Promise<Grader> {
    const grader = this.#sandboxed.get(name) ?? this.#runtime.makeSandboxed(name);
    this.#sandboxed.set(name, grader);
    return grader;
  }
}

function scoreOf({ score, parts, reason }: Awaited<ReturnType<typeof gradeOrThrow>>): EdgeScore {
  return { score, ...(parts && { parts }), ...(reason !== undefined && { reason }) };
}
