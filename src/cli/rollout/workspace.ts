import { type Env, OwningEnv } from "../../envs/env.ts";
import { loadAgentConfig } from "../../envs/workspace/config/load_agent.ts";
import { loadWorkspaceTask } from "../../envs/workspace/config/load_task.ts";
import { workspaceEnvTask } from "../../envs/workspace/workspace_env.ts";
import { Workspaces } from "../../envs/workspace/workspaces.ts";
import { mlgymEnv } from "../../rollout/make_mlgym.ts";
import type { Task } from "../../task.ts";
import type { RewardAt } from "../../transforms/mlgym/mlgym_reward_assignment.ts";
import { announceBuild, cacheDirectory } from "../sandbox_options.ts";
import { Multiset } from "./finished_episodes.ts";
import { rethrowAsUsageError, UsageError } from "../errors.ts";

/** The name of the env. */
export const WORKSPACE_ENV = "workspace";

/** Which tasks are worked on, and by whom. */
export interface WorkspaceFlags {
  tasks?: string;
  tool?: readonly string[];
  mcp?: string;
  task?: readonly string[];
  agent?: string;
  rewardAt?: RewardAt;
  wrongFormatReward?: number;
  /** Milliseconds that a command may take which starts no Python. */
  commandTimeoutMs?: number;
  cacheDir?: string;
}

/** How much there is at once, and what becomes of it. */
export interface WorkspaceRunOptions {
  /** Episodes at once. */
  readonly sessions: number;
  /** Episodes of each task. */
  readonly samples: number;
  /** Whether tokens are written, which are only ever added to: no prompt is then shortened. */
  readonly writesTokens: boolean;
  /** Closes all. */
  readonly stack: AsyncDisposableStack;
}

/** Tasks that are open, for all episodes of a run. */
export interface WorkspaceRun {
  readonly tasks: readonly Task[];
  /** Takes a session of a task's sandboxes for an episode. */
  openEnv(task: Task, options: { maxSteps: number }): Env;
}

/**
 * Reads the tasks and the agent that the flags name; the sandboxes of a task are there while its episodes are played.
 *
 * @throws {UsageError} when a flag is missing, or names what is not there or cannot be played.
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
      "Cannot play env 'workspace' as its tasks are not rows: give --task, and leave --tasks out",
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
        evaluations: Math.min(sessions, Math.max(1, navigator.hardwareConcurrency)),
        cacheDir: cacheDirectory(flags.cacheDir),
        onBuild: announceBuild,
      })
    ),
  );
  const lastObservations = writesTokens ? "all" : undefined;
  const begun = new Multiset();
  const open = new Multiset();
  const enter = (id: string) => [begun, open].forEach((tally) => tally.add(id));
  // an episode may be played twice, where it goes on and cannot, so nobody may be in it when it is closed
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
