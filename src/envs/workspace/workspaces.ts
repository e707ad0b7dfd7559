import { loadProfile, type Profile } from "../../sandbox/profile.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import type { AgentConfig } from "./agent_config.ts";
import { WorkspaceEvaluator } from "./evaluation/workspace_evaluator.ts";
import { Workspace } from "./workspace.ts";
import { requirePlayable, type WorkspaceTask } from "./workspace_task.ts";

/** What is opened, and how much of it there is at once. */
export interface WorkspacesOptions {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
  /** How many episodes of a task there are at most at the same time; 1 unless given. */
  sessions?: number | undefined;
  /** How many submissions are scored at the same time, in two interpreters each; 1 unless given. */
  evaluations?: number | undefined;
  /** Where base images are cached; `.cache/paddock` in the user's home unless given. */
  cacheDir?: string | undefined;
  /** Called once before a base image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
}

/** The interpreters that score: for what was submitted, and for the scripts that call it. */
interface EvaluationPools {
  readonly pool: SandboxPool;
  readonly evaluationPool: SandboxPool;
}

/** No process that a submission runs in may be ended for the time that it was given. */
const MAX_CPU_SECONDS = 24 * 3600;

/** Several tasks to be worked on: each is opened by the first who asks for it, and the interpreters that score are shared. */
export class Workspaces implements AsyncDisposable {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
  readonly #options: WorkspacesOptions;
  readonly #opened = new AsyncDisposableStack();
  readonly #open = new Map<string, Promise<Workspace>>();
  #pools: Promise<EvaluationPools> | undefined;

  /** @throws {RangeError} when there is no task, one cannot be played, or two have the same id. */
  constructor(options: WorkspacesOptions) {
    const { tasks, agent } = options;
    if (tasks.length === 0) {
      throw new RangeError("Cannot open workspaces as there must be a task: there is none");
    }
    for (const task of tasks) {
      requirePlayable(task);
      if (tasks.some((other) => other !== task && other.id === task.id)) {
        throw new RangeError(
          `Cannot open workspaces as each task must have an id of its own: two are '${task.id}'`,
        );
      }
    }
    this.tasks = tasks;
    this.agent = agent;
    this.#options = options;
  }

  /**
   * The workspace of a task, opened once.
   *
   * @throws {RangeError} when there is no such task.
   */
  async workspace(id: string): Promise<Workspace> {
    if (this.#opened.disposed) throw new Error("Cannot open workspace as the workspaces are disposed");
    const task = this.tasks.find((each) => each.id === id);
    if (task === undefined) {
      const known = this.tasks.map((each) => each.id).join(", ");
      throw new RangeError(
        `Cannot open workspace as its task must be one of ${known}: current value is '${id}'`,
      );
    }
    const opening = this.#open.get(id) ?? this.#start(task);
    this.#open.set(id, opening);
    return await opening;
  }

  /** Ends all sandboxes, and with them every episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#open.values());
    await this.#opened.disposeAsync();
  }

  async #start(task: WorkspaceTask): Promise<Workspace> {
    const { agent, sessions, cacheDir, onBuild } = this.#options;
    this.#pools ??= this.#openPools();
    const evaluator = new WorkspaceEvaluator({ plan: task.evaluation, ...await this.#pools });
    return this.#opened.use(await Workspace.open({ task, agent, evaluator, sessions, cacheDir, onBuild }));
  }

  async #openPools(): Promise<EvaluationPools> {
    const { evaluations: size = 1, cacheDir, onBuild } = this.#options;
    const shared = { size, cacheDir, onBuild };
    const profile = unhurried(await loadProfile("workspace"));
    const evaluation = unhurried(await loadProfile("evaluation"));
    const pool = this.#opened.use(new SandboxPool({ ...shared, profile, resetMode: "fresh" }));
    const evaluationPool = this.#opened.use(
      new SandboxPool({ ...shared, profile: evaluation, resetMode: "rewind" }),
    );
    return { pool, evaluationPool };
  }
}

function unhurried(profile: Profile): Profile {
  return { ...profile, limits: { ...profile.limits, cpuSeconds: MAX_CPU_SECONDS } };
}
