import { attributeErrors } from "../../../boundary.ts";
import { SandboxError } from "../../../errors.ts";
import { SessionPair } from "../../../sandbox/isolated/session_pair.ts";
import type { SessionPool } from "../../../sandbox/exec.ts";
import type { EvaluateOptions, EvaluationOutcome, Evaluator, Submission } from "../evaluation.ts";
import type { EvaluationPlan } from "../workspace_task.ts";
import { readEvaluationFiles } from "./evaluation_files.ts";
import { outcomeOf } from "./evaluation_outcome.ts";
import { runEvaluation } from "./evaluation_run.ts";
import { deriveEvaluationSeed } from "./evaluation_seed.ts";
import { SubmissionCallee } from "./submission_callee.ts";
import { selectSubmittedFiles } from "./submitted_files.ts";

/** Options of {@linkcode WorkspaceEvaluator}. */
export interface WorkspaceEvaluatorOptions {
  readonly plan: EvaluationPlan;
  /** Pool of the sessions that run submissions. It must not be the episodes' pool. The evaluator does not dispose it. */
  readonly pool: SessionPool;
  /**
   * Pool of the sessions that run the plan's script, with a profile that has `hostTools`, such as `evaluation`. Model
   * code must never run in it. The evaluator does not dispose it.
   */
  readonly evaluationPool: SessionPool;
}

/**
 * Scores submissions in isolation: the plan's script runs in one process and the submission in another. Only calls and
 * plain data cross between them. Output never counts as a score, except the output of MLGym's scripts in their own
 * process.
 *
 * - `module`: the script's `evaluate(submission)` returns a dict of metrics. It can use `submission.files()`,
 *   `submission.read(path)` and `read_text(path)`, `submission.call("module.function", *args)` and
 *   `submission.map("module.function", [args, …])`, which makes many calls at once. A call that raises, or that
 *   returns anything but plain data, raises `SubmissionError` of `paddock_evaluation`, with its `kind`.
 * - `csv-script`: the script gets the path as `--submission_file` and prints JSON.
 * - `python-script`: the script imports proxies of the submission's modules, whose functions run in the other process,
 *   and prints JSON. Without numpy, replacements of its `asarray` and `mean` are provided.
 *
 * A submission that ends its interpreter or exceeds its timeout fails, even if the script catches the error.
 */
export class WorkspaceEvaluator implements Evaluator {
  readonly #plan: EvaluationPlan;
  readonly #pair: SessionPair;
  readonly #end = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #files: Promise<Record<string, Uint8Array>> | undefined;

  constructor({ plan, pool, evaluationPool }: WorkspaceEvaluatorOptions) {
    this.#plan = plan;
    this.#pair = new SessionPair(pool, evaluationPool);
  }

  /**
   * {@inheritDoc Evaluator.evaluate}
   *
   * The same seed gives the script the same randomness, for example the same opponent's moves. A submission cannot
   * predict it, even if it knows the seed.
   *
   * @throws {Error} if a file of the plan cannot be read, or the evaluator is disposed.
   */
  async evaluate(submission: Submission, options: EvaluateOptions = {}): Promise<EvaluationOutcome> {
    this.#end.signal.throwIfAborted();
    const signal = options.signal ? AbortSignal.any([options.signal, this.#end.signal]) : this.#end.signal;
    signal.throwIfAborted();
    const submitted = selectSubmittedFiles(submission, this.#plan.submission);
    if ("missing" in submitted) return { status: "missing", message: submitted.missing };
    if ("fault" in submitted) return { status: "failed", message: submitted.fault };
    const running = this.#run(submitted.files, { seed: options.seed, signal });
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  /** Stops running evaluations. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("Cannot evaluate as the evaluator is disposed"));
    await Promise.allSettled(this.#running);
  }

  /** Reads the plan's files once. After a failure the next evaluation tries again. */
  #read(): Promise<Record<string, Uint8Array>> {
    if (this.#files !== undefined) return this.#files;
    const files = this.#files = readEvaluationFiles(this.#plan);
    files.catch(() => this.#files = undefined);
    return files;
  }

  async #run(
    submitted: Readonly<Record<string, Uint8Array>>,
    options: { seed: number | undefined; signal: AbortSignal },
  ): Promise<EvaluationOutcome> {
    const { signal } = options;
    const plan = this.#plan;
    const files = await this.#read();
    const seed = options.seed === undefined ? undefined : await deriveEvaluationSeed(options.seed, files);
    await using leases = new AsyncDisposableStack();
    const { forCallee, forCaller } = await attributeErrors(
      () => this.#pair.acquire(leases, { seed, signal }),
      { error: SandboxError, failure: "Cannot evaluate", signal },
    );
    const callee = new SubmissionCallee(forCallee.session, { timeoutMs: plan.timeoutMs, signal });
    await callee.load(submitted);
    const run = { plan, files, submitted, submission: callee, signal };
    const result = await runEvaluation(forCaller.session, run);
    if (callee.termination !== undefined) return { status: "failed", message: callee.termination };
    return outcomeOf(result, plan);
  }
}
