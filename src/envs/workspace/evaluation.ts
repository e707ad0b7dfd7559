import type { Scores } from "./workspace_task.ts";

/** Submitted files: contents by path in the workspace. */
export type Submission = ReadonlyMap<string, Uint8Array>;

/** Options of {@linkcode Evaluator.evaluate}. */
export interface EvaluateOptions {
  /** Seed of the evaluation's randomness. */
  seed?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Outcome of an evaluation: a closed union over `status`. */
export type EvaluationOutcome =
  /** The evaluator measured these scores. They never come from the output of a submission. */
  | { readonly status: "scored"; readonly scores: Scores; readonly artefact: string }
  /** A submitted file is missing. */
  | { readonly status: "missing"; readonly message: string }
  /** The evaluation's script returned no metrics. */
  | { readonly status: "malformed"; readonly output: string }
  /** The submission, or the evaluator, failed; the message is for the agent. */
  | { readonly status: "failed"; readonly message: string };

/** Scores submissions of one task, isolated from the submissions. */
export interface Evaluator extends AsyncDisposable {
  /**
   * Scores a submission. Failures of the submission are outcomes.
   *
   * @throws {SandboxError} if no sandbox is available.
   */
  evaluate(submission: Submission, options?: EvaluateOptions): Promise<EvaluationOutcome>;
}
