import type { Observation, Step } from "../env.ts";
import type { EvaluationOutcome } from "./evaluation.ts";
import type { MetricDirection, Scores } from "./workspace_task.ts";

/** A `validate`, a `submit`, or the end of an episode, as the env measured it. */
export interface WorkspaceEvaluation {
  /** What led to it: `validate`, `submit`, `max_steps`, or an exit such as `exit_cost`. */
  readonly action: string;
  readonly outcome: EvaluationOutcome;
  /** What the outcome is compared with; `null` where no baseline could be had. */
  readonly baseline: Scores | null;
  /** For each metric that was measured, or is in the baseline. */
  readonly directions: Readonly<Record<string, MetricDirection>>;
  /** The metric that a reward is made of; none where nothing was measured. */
  readonly metric?: string | undefined;
}

/** What a workspace tells beside its chat. */
export interface WorkspaceView {
  /** What the last command printed, or what is said in its place; `null` at reset. */
  readonly output: string | null;
  /** `{"open_file": …, "working_dir": …}` and what else the state command tells, as JSON. */
  readonly state: string;
  /** Steps that were taken, and that are left. */
  readonly currentStep: number;
  readonly maxSteps: number;
  /** What this step evaluated, where it did. */
  readonly evaluation?: WorkspaceEvaluation | undefined;
  /** How the episode ended, once it has: `submitted`, `skipped`, `autosubmission (max_steps)`, … */
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
