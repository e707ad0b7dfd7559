import type { Env } from "../../../envs/env.ts";
import { OwningEnv } from "../../../envs/owning_env.ts";
import { loadAgentConfig } from "../../../envs/workspace/config/load_agent.ts";
import { loadWorkspaceTask } from "../../../envs/workspace/config/load_task.ts";
import { workspaceEnvTask } from "../../../envs/workspace/workspace_env.ts";
import { Workspaces } from "../../../envs/workspace/workspaces.ts";
import { mlgymEnv } from "../../../rollout/envs/make_mlgym.ts";
import type { Task } from "../../../task.ts";
import type { RewardAt } from "../../../transforms/mlgym/mlgym_reward_assignment.ts";
import { announceBuild, cacheDirectory } from "../../sandbox_options.ts";
import { Multiset } from "../finished_episodes.ts";
import { rethrowAsUsageError, UsageError } from "../../cli_errors.ts";

/** The name of the env. */
export const WORKSPACE_ENV = "workspace";

/** Flags that select the tasks and the agent. */
export interface WorkspaceFlags {
  tasks?: string;
  tool?: readonly string[];
  mcp?: string;
  task?: readonly string[];
  agent?: string;
  rewardAt?: RewardAt;
  wrongFormatReward?: number;
  /** Timeout of a command that starts no Python, in milliseconds. */
  commandTimeoutMs?: number;
  cacheDir?: string;
}

/** Size of a run, and the run's resources. */
export interface WorkspaceRunOptions {
  /** Number of concurrent episodes. */
  readonly sessions: number;
  /** Number of episodes per task. */
  readonly samples: number;
  /** True if tokens are written. They are append-only, so prompts are then not shortened. */
  readonly writesTokens: boolean;
  /** Disposes all resources of the run. */
  readonly stack: AsyncDisposableStack;
}

/** Open tasks of a run. */
export interface WorkspaceRun {
  readonly tasks: readonly Task[];
  /** Acquires a session of a task for an episode. */
  openEnv(task: Task, options: { maxSteps: number }): Env;
}

/**
 * Reads the tasks and the agent that the flags name. The sandboxes of a task are open while the task's episodes are
 * played.
 *
 * @throws {UsageError} if a flag is missing, or names a file that does not exist or a task that cannot be played.
 */
export async function openWorkspaces(
  flags: WorkspaceFlags,
  options: WorkspaceRunOptions,
): Promise<WorkspaceRun> {
  const { task: paths = [], agent, rewardAt, wrongFormatReward: rewardWrongFormat } = flags;
  const { commandTimeoutMs: timeoutMs } = flags;
  if (paths.length === 0) {
    throw new UsageError(
      "Cannot play env 'workspace' as it needs a task: give --task DIR, with a task.yaml in it",
    );
  }
  if (flags.tasks !== undefined) {
    throw new UsageError(
      "Cannot play env 'workspace' with --tasks as its tasks are folders: give --task DIR and remove --tasks",
    );
  }
  if (flags.tool !== undefined || flags.mcp !== undefined) {
    throw new UsageError(
      "Cannot play env 'workspace' with tools as it has a shell: leave --mcp and --tool out",
    );
  }
  const { sessions, samples, writesTokens, stack } = options;
  const workspaces = stack.use(
    await rethrowFileErrors(async () =>
      new Workspaces({
        tasks: await Promise.all(paths.map((path) => loadWorkspaceTask(path))),
        agent: await loadAgentConfig(agent),
        sessions: Math.min(sessions, samples),
        evaluations: Math.min(sessions, samples * paths.length, Math.max(1, navigator.hardwareConcurrency)),
        cacheDir: cacheDirectory(flags.cacheDir),
        onBuild: announceBuild,
      })
    ),
  );
  const lastObservations = writesTokens ? "all" : undefined;
  const begun = new Multiset();
  const open = new Multiset();
  const enter = (id: string) => [begun, open].forEach((tally) => tally.add(id));
  // an episode that cannot be continued is played again, so the task must not be in use at the close
  const leave = async (id: string) => {
    open.take(id);
    if (!open.has(id) && begun.count(id) >= samples) await workspaces.close(id);
  };
  return {
    tasks: workspaces.tasks.map(workspaceEnvTask),
    openEnv: ({ id }, { maxSteps }) => {
      enter(id);
      const env = mlgymEnv(workspaces, {
        maxSteps,
        timeoutMs,
        rewardAt,
        rewardWrongFormat,
        lastObservations,
      });
      return new OwningEnv(env, { [Symbol.asyncDispose]: () => leave(id) });
    },
  };
}

async function rethrowFileErrors<T>(work: () => Promise<T>): Promise<T> {
  const { NotFound, PermissionDenied, NotADirectory, IsADirectory } = Deno.errors;
  const kinds = [RangeError, SyntaxError, NotFound, PermissionDenied, NotADirectory, IsADirectory];
  return await rethrowAsUsageError(work, { kinds });
}
