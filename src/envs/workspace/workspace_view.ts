import type { Observation, Step } from "../env.ts";
import type { EvaluationOutcome } from "./evaluation.ts";
import type { MetricDirection, Scores } from "./workspace_task.ts";

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

/** State of a workspace beside its chat. */
export interface WorkspaceView {
  /** Output of the last command, or a message instead of it; `null` at reset. */
  readonly output: string | null;
  /** State as JSON: `{"open_file": …, "working_dir": …}` and the values of the state command. */
  readonly state: string;
  /** Number of steps so far. */
  readonly currentStep: number;
  readonly maxSteps: number;
  /** Evaluation of this step, if it had one. */
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
