import type { AgentConfig } from "./agent_config.ts";
import type { Evaluator } from "./evaluation.ts";
import type { WorkspaceTask } from "./workspace_task.ts";

/** What the episodes of a task share. */
export interface WorkspaceOptions {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /** Scores submissions; the workspace disposes of it. */
  readonly evaluator: Evaluator;
  /** How many episodes there are at most at the same time; 1 unless given. */
  sessions?: number | undefined;
  /** Where base images are cached; `.cache/paddock` in the user's home unless given. */
  cacheDir?: string | undefined;
  /** Called once before a base image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** A task that is open to be worked on: its sandboxes, its evaluator and its baseline, shared by many episodes. */
export declare class Workspace implements AsyncDisposable {
  readonly task: WorkspaceTask;
  readonly agent: AgentConfig;
  /**
   * Reads the task's files and starts its sandboxes.
   *
   * @throws {Deno.errors.NotFound} when a file of the task is missing.
   */
  static open(options: WorkspaceOptions): Promise<Workspace>;
  [Symbol.asyncDispose](): Promise<void>;
}
