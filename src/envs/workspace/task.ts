import type { CommandFile } from "./agent_config.ts";

/** File of the host and the path in a workspace. */
export interface WorkspaceFile {
  /** Path relative to the workspace, with `/` as separator. */
  readonly path: string;
  /** Absolute path on the host. */
  readonly hostPath: string;
}

/** Direction in which a metric improves. */
export type MetricDirection = "maximize" | "minimize";

/** Values of metrics by name. */
export type Scores = Readonly<Record<string, number>>;

/** Plan of a task's evaluation, which runs isolated from the agent's sandbox. */
export interface EvaluationPlan {
  /**
   * Kind of the script. `module` is a Python file with `evaluate(submission)`, which accesses the submission through
   * calls only. The others are MLGym's scripts, which print their metrics as JSON.
   */
  readonly kind: "module" | "python-script" | "csv-script";
  /** Script that runs. `files` are placed beside the script. Agents can neither see nor change these copies. */
  readonly script: WorkspaceFile;
  readonly files: readonly WorkspaceFile[];
  /** Paths of the submission in the agent's workspace. A path that ends in `/` is a folder. */
  readonly submission: readonly string[];
  /** Timeout of an evaluation, in milliseconds. */
  readonly timeoutMs: number;
  /** Direction of each metric. */
  readonly directions: Readonly<Record<string, MetricDirection>>;
  /**
   * Metric that the reward is computed from.
   *
   * @default the first metric of the scores
   */
  readonly metric?: string | undefined;
  /**
   * Baseline scores.
   *
   * @default the scores of the starter files
   */
  readonly baseline?: Scores | undefined;
}

/** Value that a template can use. */
export type TemplateValue = string | number | boolean | null | readonly unknown[] | object;

/** Task of a workspace: the YAML with all files found and all defaults filled in. */
export interface WorkspaceTask {
  readonly id: string;
  readonly name: string;
  /** Description for the agent, with the dataset docs filled in. */
  readonly description: string;
  /** All keys of the YAML by name, for templates such as `{training_timeout}`. */
  readonly fields: Readonly<Record<string, TemplateValue>>;
  /** Initial files of the workspace. */
  readonly starter: readonly WorkspaceFile[];
  /** Paths of `starter` that the agent can read but not change. */
  readonly readOnly: readonly string[];
  /** Read-only folders and files at `data/…`. */
  readonly data: readonly WorkspaceFile[];
  readonly evaluation: EvaluationPlan;
  /** Timeout of a command that starts Python, in milliseconds. */
  readonly trainingTimeoutMs: number;
  /** Files with further commands for the agent. */
  readonly commandFiles: readonly CommandFile[];
  /** Reasons why the task cannot be played, a sentence each; left out if the task can be played. */
  readonly faults?: readonly string[] | undefined;
}

/**
 * Checks that a task can be played.
 *
 * @throws {RangeError} if the task cannot be played, with the first of the `faults`.
 */
export function requirePlayable({ id, faults = [] }: WorkspaceTask): void {
  const [fault] = faults;
  if (fault !== undefined) throw new RangeError(`Cannot play task '${id}' as ${fault}`);
}

/** Home folder of an agent in the sandbox, which is not the interpreter's home. */
export const AGENT_HOME = "/home/agent";

/** Working folder of an agent. A task's paths are relative to this folder. */
export const WORKSPACE_FOLDER = `${AGENT_HOME}/workspace`;

/** Folder of an agent's command programs. */
export const COMMANDS_FOLDER = `${AGENT_HOME}/commands`;
