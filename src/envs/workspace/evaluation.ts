import type { Observation, Step } from "../env.ts";
import type { MetricDirection, Scores } from "./task.ts";

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

/** Scores submissions of a task, isolated from the submissions. */
export interface Evaluator extends AsyncDisposable {
  /**
   * Scores a submission. Failures of the submission are outcomes.
   *
   * @throws {SandboxError} if no sandbox is available.
   */
  evaluate(submission: Submission, options?: EvaluateOptions): Promise<EvaluationOutcome>;
}

/** Evaluation at a `validate`, a `submit`, or the end of an episode. */
export interface WorkspaceEvaluation {
  /** Cause of the evaluation: `validate`, `submit`, `max_steps`, or an exit such as `exit_cost`. */
  readonly action: string;
  readonly outcome: EvaluationOutcome;
  /** Baseline scores; `null` if there are none. */
  readonly baseline: Scores | null;
  /** Direction of each metric of the scores and the baseline. */
  readonly directions: Readonly<Record<string, MetricDirection>>;
  /** Metric that the reward is computed from; left out if there are no scores. */
  readonly metric?: string | undefined;
}

/** State of a workspace beside the chat. */
export interface WorkspaceView {
  /** Output of the last command, or a message in place of the output; `null` at reset. */
  readonly output: string | null;
  /** State as JSON: `{"open_file": …, "working_dir": …}` and the values of the state command. */
  readonly state: string;
  /** Number of steps so far. */
  readonly currentStep: number;
  readonly maxSteps: number;
  /** Evaluation of this step, if there was an evaluation. */
  readonly evaluation?: WorkspaceEvaluation | undefined;
  /** Exit status once the episode is over: `submitted`, `skipped`, `autosubmission (max_steps)`, … */
  readonly exitStatus?: string | undefined;
}

/** An observation of an env that plays a workspace. */
export interface WorkspaceObservation extends Observation {
  readonly workspace: WorkspaceView;
}

/** A step of an env that plays a workspace. */
export interface WorkspaceStep extends Step, WorkspaceObservation {}

/** Returns what the workspace reports; `undefined` if the env beneath the transforms plays none. */
export function workspaceViewOf(observation: Observation): WorkspaceView | undefined {
  return (observation as Partial<WorkspaceObservation>).workspace;
}

/**
 * Returns how much better than the baseline a submission is, by the task's metric and in the metric's direction.
 *
 * A positive value is better for every metric. `null` if there is no score or no baseline.
 */
export function computeGain(evaluation: WorkspaceEvaluation): number | null {
  const { outcome, baseline, directions, metric } = evaluation;
  if (outcome.status !== "scored" || baseline === null || metric === undefined) return null;
  const score = outcome.scores[metric];
  const base = baseline[metric];
  if (score === undefined || base === undefined) return null;
  const direction = directions[metric] ?? guessMetricDirection(metric);
  return direction === "maximize" ? score - base : base - score;
}

/** Words in the names of metrics that are better when lower. */
const COSTS =
  /(?:^|[^a-z])(?:r?mse|r?msle|mae|mape|wer|cer|err(?:or)?s?|incorrect|loss|regret|perplexity|ppl|cost|time|seconds|latency|std)(?![a-z])/;

/** Guesses the direction of a metric from the name: an `RMSE` or a `val_loss` is minimized, others are maximized. */
export function guessMetricDirection(name: string): MetricDirection {
  return COSTS.test(name.toLowerCase()) ? "minimize" : "maximize";
}
