import type { CommandFile } from "./agent_config.ts";

/** A file of the host, and where a workspace has it. */
export interface WorkspaceFile {
  /** Relative to the workspace, `/` between its parts. */
  readonly path: string;
  /** Absolute. */
  readonly hostPath: string;
}

/** Whether more of a metric is better. */
export type MetricDirection = "maximize" | "minimize";

/** What a task is scored by: metric names and their values. */
export type Scores = Readonly<Record<string, number>>;

/** How a submission is scored, apart from where it was written. */
export interface EvaluationPlan {
  /**
   * What runs: `module` is a Python file with `evaluate(submission)`, which meets the submission through calls alone;
   * the others are MLGym's scripts, which print their metrics as JSON.
   */
  readonly kind: "module" | "python-script" | "csv-script";
  /** The file that runs, and files and folders that lie beside it; no agent ever sees or changes these copies. */
  readonly script: WorkspaceFile;
  readonly files: readonly WorkspaceFile[];
  /** The submission: files of the agent's workspace, or folders when the path ends in `/`. */
  readonly submission: readonly string[];
  /** Milliseconds that an evaluation may take. */
  readonly timeoutMs: number;
  /** Which metrics are better when they are lower, or higher. */
  readonly directions: Readonly<Record<string, MetricDirection>>;
  /** The metric that a reward is made of; the first that was measured unless given. */
  readonly metric?: string | undefined;
  /** The scores to compare with; what the starter files score unless given. */
  readonly baseline?: Scores | undefined;
}

/** A value that a template can name. */
export type TemplateValue = string | number | boolean | null | readonly unknown[] | object;

/** A task that is worked on in a workspace: what its YAML says, with every file found and every default filled in. */
export interface WorkspaceTask {
  readonly id: string;
  readonly name: string;
  /** What the agent is told, the words on its data filled in. */
  readonly description: string;
  /** Every key of the YAML by its own name, for templates such as `{training_timeout}`. */
  readonly fields: Readonly<Record<string, TemplateValue>>;
  /** What the workspace holds at the start. */
  readonly starter: readonly WorkspaceFile[];
  /** Paths of `starter` that the agent may read and not change. */
  readonly readOnly: readonly string[];
  /** Folders and files that the agent may read and not change, at `data/…`. */
  readonly data: readonly WorkspaceFile[];
  readonly evaluation: EvaluationPlan;
  /** Milliseconds that a command which starts Python may take. */
  readonly trainingTimeoutMs: number;
  /** Files with more commands for the agent. */
  readonly commandFiles: readonly CommandFile[];
  /** Why it cannot be played, one sentence each; nothing where it can. */
  readonly faults?: readonly string[] | undefined;
}

/**
 * Lets tasks pass that can be played.
 *
 * @throws {RangeError} when one cannot, with the first of its faults.
 */
export function requirePlayable({ id, faults = [] }: WorkspaceTask): void {
  const [fault] = faults;
  if (fault !== undefined) throw new RangeError(`Cannot play task '${id}' as ${fault}`);
}
