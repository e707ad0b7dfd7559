import type { Scores } from "./workspace_task.ts";

/** The files that an agent submits: paths in its workspace, and what was in them. */
export type Submission = ReadonlyMap<string, Uint8Array>;

/** What an evaluation may be given. */
export interface EvaluateOptions {
  /** Makes the evaluation's own chance reproducible. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What came of an evaluation: a closed union over `status`. */
export type EvaluationOutcome =
  /** The scores are what the evaluator measured, never what a program printed. */
  | { readonly status: "scored"; readonly scores: Scores; readonly artefact: string }
  /** There is nothing to evaluate. */
  | { readonly status: "missing"; readonly message: string }
  /** The evaluator gave no metrics. */
  | { readonly status: "malformed"; readonly output: string }
  /** The submission, or the evaluator, failed; the message is for the agent. */
  | { readonly status: "failed"; readonly message: string };

/** Scores submissions of one task where no submission can reach. */
export interface Evaluator extends AsyncDisposable {
  /**
   * @throws {SandboxError} when no sandbox could be had; what a submission does is an outcome.
   */
  evaluate(submission: Submission, options?: EvaluateOptions): Promise<EvaluationOutcome>;
}
