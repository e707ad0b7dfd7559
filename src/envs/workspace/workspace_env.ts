import type { Action, Env, Observation, ResetOptions, Step, StepOptions } from "../env.ts";
import type { Task } from "../../task.ts";
import type { Workspace } from "./workspace.ts";
import type { WorkspaceTask } from "./workspace_task.ts";

/** The open workspace of the task with this id, which stays its owner's. */
export type WorkspaceSource = (id: string) => Workspace | Promise<Workspace>;

/** How a {@linkcode WorkspaceEnv} plays. */
export interface WorkspaceEnvOptions {
  readonly workspaces: WorkspaceSource;
  /** Steps until the work is evaluated as it is; 100 unless given. */
  maxSteps?: number | undefined;
  /** Milliseconds that a command may take which starts no Python; 25,000 unless given. */
  timeoutMs?: number | undefined;
  /** Milliseconds that a command may go on without writing anything; as long as it may take unless given. */
  silenceMs?: number | undefined;
  /**
   * What the env itself gives a reward for: `nothing`, which leaves it `null`, or how much better than the baseline
   * the work is at the `end`. `nothing` unless given.
   */
  reward?: "nothing" | "end" | undefined;
}

/** An episode in a workspace, one at a time. */
export declare class WorkspaceEnv implements Env {
  constructor(options: WorkspaceEnvOptions);
  /** `task.fields.workspace` names the workspace, else the task's id does. */
  reset(task: Task, options?: ResetOptions): Promise<Observation>;
  /** Runs `action.command`, or the text of the reply. */
  step(action: Action, options?: StepOptions): Promise<Step>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The episode of a task: its description is what the agent is asked. */
export declare function workspaceEpisode(task: WorkspaceTask): Task;
