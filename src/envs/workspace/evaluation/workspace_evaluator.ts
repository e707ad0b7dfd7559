import { crossBoundary } from "../../../boundary.ts";
import { SandboxError } from "../../../errors.ts";
import { SessionPair } from "../../../sandbox/apart/session_pair.ts";
import type { SessionPool } from "../../../sandbox/exec.ts";
import type { EvaluateOptions, EvaluationOutcome, Evaluator, Submission } from "../evaluation.ts";
import type { EvaluationPlan } from "../workspace_task.ts";
import { evaluationFiles } from "./evaluation_files.ts";
import { evaluationOutcome } from "./evaluation_outcome.ts";
import { evaluationRun } from "./evaluation_run.ts";
import { evaluationSeed } from "./evaluation_seed.ts";
import { SubmissionCallee } from "./submission_callee.ts";
import { submittedFiles } from "./submitted_files.ts";

/** What a {@linkcode WorkspaceEvaluator} needs. */
export interface WorkspaceEvaluatorOptions {
  readonly plan: EvaluationPlan;
  /** Where submissions run. Not a pool whose sessions the evaluated episodes still hold; not disposed here. */
  readonly pool: SessionPool;
  /**
   * Where the plan's script runs, behind a profile with `hostTools` such as `evaluation`. No model code may ever run
   * in it; not disposed here.
   */
  readonly evaluationPool: SessionPool;
}

/**
 * Scores submissions where none can reach: the plan's script runs in one process, the submission's files are in
 * another, and between the two only calls and plain data cross. What either prints is nobody's score, except what
 * one of MLGym's scripts prints in its own process.
 *
 * - `module`: the script's `evaluate(submission)` gives a dict of metrics. It has `submission.files()`,
 *   `submission.read(path)` and `read_text(path)`, `submission.call("module.function", *args)` and
 *   `submission.map("module.function", [args, …])`, which makes many calls at once. A call that raises, or that
 *   answers with what is no plain data, raises `SubmissionError` of `paddock_evaluation`, with its `kind`.
 * - `csv-script`: the script is told its `--submission_file` and prints JSON.
 * - `python-script`: the script imports the submission's modules, whose functions run elsewhere, and prints JSON.
 *   Where there is no numpy, its `asarray` and `mean` are stood in for.
 *
 * A submission that ends its interpreter, or uses up its time, fails, whatever the script makes of it.
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
   * The same seed gives the script's own chance again, an opponent's moves for one; a submission cannot tell it,
   * whatever it knows of the seed.
   *
   * @throws {Error} when a file of the plan cannot be read, or the evaluator is disposed.
   */
  async evaluate(submission: Submission, options: EvaluateOptions = {}): Promise<EvaluationOutcome> {
    this.#end.signal.throwIfAborted();
    const signal = options.signal ? AbortSignal.any([options.signal, this.#end.signal]) : this.#end.signal;
    signal.throwIfAborted();
    const submitted = submittedFiles(submission, this.#plan.submission);
    if ("missing" in submitted) return { status: "missing", message: submitted.missing };
    if ("fault" in submitted) return { status: "failed", message: submitted.fault };
    const running = this.#run(submitted.files, { seed: options.seed, signal });
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  /** Stops what still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("Cannot evaluate as the evaluator is disposed"));
    await Promise.allSettled(this.#running);
  }

  /** Reads the plan's files once; a failure is not kept, so that the next evaluation tries again. */
  #read(): Promise<Record<string, Uint8Array>> {
    if (this.#files !== undefined) return this.#files;
    const files = this.#files = evaluationFiles(this.#plan);
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
    const seed = options.seed === undefined ? undefined : await evaluationSeed(options.seed, files);
    await using leases = new AsyncDisposableStack();
    const { forCallee, forCaller } = await crossBoundary(
      () => this.#pair.acquire(leases, { seed, signal }),
      { error: SandboxError, failure: "Cannot evaluate", signal },
    );
    const callee = new SubmissionCallee(forCallee.session, { timeoutMs: plan.timeoutMs, signal });
    await callee.load(submitted);
    const run = { plan, files, submitted, submission: callee, signal };
    const result = await evaluationRun(forCaller.session, run);
    if (callee.loss !== undefined) return { status: "failed", message: callee.loss };
    return evaluationOutcome(result, plan);
  }
}
