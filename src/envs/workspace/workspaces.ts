import { requireKnownOptions } from "../../options.ts";
import { loadProfile, type Profile } from "../../sandbox/profile/profile.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import type { AgentConfig } from "./agent_config.ts";
import { withTaskCommands } from "./config/agent_tools.ts";
import { WorkspaceEvaluator } from "./evaluation/evaluator.ts";
import { Workspace } from "./workspace.ts";
import { requirePlayable, type WorkspaceTask } from "./task.ts";

/** Options of {@linkcode Workspaces}. */
export interface WorkspacesOptions {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
  /**
   * Maximum number of concurrent episodes of a task.
   *
   * @default 1
   */
  sessions?: number | undefined;
  /**
   * Maximum number of concurrent evaluations. Each uses two interpreters.
   *
   * @default 1
   */
  evaluations?: number | undefined;
  /**
   * Folder of the cached base images.
   *
   * @default `.cache/paddock` in the user's home
   */
  cacheDir?: string | undefined;
  /** Called once before a base image is built, which takes a few seconds. */
  onBuild?: (() => void) | undefined;
}

/** Pools of an evaluation: for submissions, and for the scripts that call them. */
interface EvaluationPools {
  readonly pool: SandboxPool;
  readonly evaluationPool: SandboxPool;
}

/** Each evaluation has its own timeout, so the CPU limit must not end a process that served many evaluations. */
const MAX_CPU_SECONDS = 24 * 3600;

/** Set of tasks. Each task is opened at its first use. All tasks share the interpreters that score submissions. */
export class Workspaces implements AsyncDisposable {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
  readonly #options: WorkspacesOptions;
  readonly #open = new Map<string, Promise<Workspace>>();
  readonly #stack = new AsyncDisposableStack();
  #pools: Promise<EvaluationPools> | undefined;

  /** @throws {RangeError} if there is no task, a task cannot be played, or two tasks have the same id. */
  constructor(options: WorkspacesOptions) {
    requireKnownOptions("create Workspaces", options, {
      tasks: true,
      agent: true,
      sessions: true,
      evaluations: true,
      cacheDir: true,
      onBuild: true,
    });
    const { tasks, agent } = options;
    if (tasks.length === 0) {
      throw new RangeError("Cannot open workspaces as 'tasks' must not be empty: got 0 tasks");
    }
    for (const task of tasks) {
      requirePlayable(task);
      if (tasks.every((other) => other === task || other.id !== task.id)) continue;
      throw new RangeError(
        `Cannot open workspaces as task ids must be unique: two tasks have the id '${task.id}'`,
      );
    }
    this.tasks = tasks;
    this.agent = agent;
    this.#options = options;
  }

  /**
   * Returns the workspace of a task, and opens it at the first call.
   *
   * @throws {RangeError} if there is no such task.
   */
  async workspace(id: string): Promise<Workspace> {
    if (this.#stack.disposed) throw new Error("Cannot open workspace as the workspaces are disposed");
    const task = this.tasks.find((each) => each.id === id);
    if (task === undefined) {
      const ids = this.tasks.map((each) => each.id).join(", ");
      throw new RangeError(
        `Cannot open workspace as its task must be one of ${ids}: current value is '${id}'`,
      );
    }
    const opened = this.#open.get(id);
    if (opened !== undefined) return await opened;
    const opening = this.#start(task);
    this.#open.set(id, opening);
    opening.catch(() => this.#open.delete(id)); // the next call tries again
    return await opening;
  }

  /** Closes the sandboxes of a task that is no longer in use. The next use opens it again. */
  async close(id: string): Promise<void> {
    const opening = this.#open.get(id);
    this.#open.delete(id);
    const workspace = await opening?.catch(() => undefined); // workspace() has reported this error
    await workspace?.[Symbol.asyncDispose]();
  }

  /** Closes all sandboxes, which ends every episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = [...this.#open.keys()].map((id) => this.close(id));
    this.#stack.defer(async () => void await Promise.all(closed));
    await this.#stack.disposeAsync();
  }

  async #start(task: WorkspaceTask): Promise<Workspace> {
    const { sessions, cacheDir, onBuild } = this.#options;
    const agent = withTaskCommands(this.agent, task);
    const pools = await (this.#pools ??= this.#openPools());
    const evaluator = new WorkspaceEvaluator({ plan: task.evaluation, ...pools });
    return await Workspace.open({ task, agent, evaluator, sessions, cacheDir, onBuild });
  }

  async #openPools(): Promise<EvaluationPools> {
    const { evaluations: size = 1, cacheDir, onBuild } = this.#options;
    // A submission is only called from Python, so its interpreters start without the agent's shell.
    const submissionProfile = { ...withoutCpuLimit(await loadProfile("workspace")), shell: false };
    const evaluationProfile = withoutCpuLimit(await loadProfile("evaluation"));
    const shared = { size, cacheDir, onBuild };
    return {
      pool: this.#stack.use(new SandboxPool({ ...shared, profile: submissionProfile, resetMode: "fresh" })),
      evaluationPool: this.#stack.use(
        new SandboxPool({ ...shared, profile: evaluationProfile, resetMode: "rewind" }),
      ),
    };
  }
}

function withoutCpuLimit(profile: Profile): Profile {
  return { ...profile, limits: { ...profile.limits, cpuSeconds: MAX_CPU_SECONDS } };
}
