import { loadProfile, type Profile } from "../../sandbox/profile.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import type { AgentConfig } from "./agent_config.ts";
import { agentOf } from "./config/agent_tools.ts";
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

/** An evaluation has a deadline of its own; no process ends for the sum of what it was used for. */
const MAX_CPU_SECONDS = 24 * 3600;

/** Tasks to be worked on: each is opened by the first who asks for it, and the interpreters that score are shared. */
export class Workspaces implements AsyncDisposable {
  readonly tasks: readonly WorkspaceTask[];
  readonly agent: AgentConfig;
  readonly #options: WorkspacesOptions;
  readonly #open = new Map<string, Promise<Workspace>>();
  readonly #stack = new AsyncDisposableStack();
  #pools: Promise<EvaluationPools> | undefined;

  /** @throws {RangeError} when there is no task, one cannot be played, or two have the same id. */
  constructor(options: WorkspacesOptions) {
    const { tasks, agent } = options;
    if (tasks.length === 0) {
      throw new RangeError("Cannot open workspaces as there must be a task: there is none");
    }
    for (const task of tasks) {
      requirePlayable(task);
      if (tasks.every((other) => other === task || other.id !== task.id)) continue;
      throw new RangeError(
        `Cannot open workspaces as each task must have an id of its own: two are '${task.id}'`,
      );
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
    if (this.#stack.disposed) throw new Error("Cannot open workspace as the workspaces are disposed");
    const task = this.tasks.find((each) => each.id === id);
    if (task === undefined) {
      const ids = this.tasks.map((each) => each.id).join(", ");
      throw new RangeError(
        `Cannot open workspace as its task must be one of ${ids}: current value is '${id}'`,
      );
    }
    const known = this.#open.get(id);
    if (known !== undefined) return await known;
    const opening = this.#start(task);
    this.#open.set(id, opening);
    opening.catch(() => this.#open.delete(id)); // whoever asks next may have more luck
    return await opening;
  }

  /** Ends the sandboxes of a task that nobody works on any more; who asks for it again has it opened anew. */
  async close(id: string): Promise<void> {
    const opening = this.#open.get(id);
    this.#open.delete(id);
    const workspace = await opening?.catch(() => undefined); // who asked for it was told
    await workspace?.[Symbol.asyncDispose]();
  }

  /** Ends all sandboxes, and with them every episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = [...this.#open.keys()].map((id) => this.close(id));
    this.#stack.defer(async () => void await Promise.all(closed));
    await this.#stack.disposeAsync();
  }

  async #start(task: WorkspaceTask): Promise<Workspace> {
    const { sessions, cacheDir, onBuild } = this.#options;
    const agent = agentOf(this.agent, task);
    const pools = await (this.#pools ??= this.#openPools());
    const evaluator = new WorkspaceEvaluator({ plan: task.evaluation, ...pools });
    return await Workspace.open({ task, agent, evaluator, sessions, cacheDir, onBuild });
  }

  async #openPools(): Promise<EvaluationPools> {
    const { evaluations: size = 1, cacheDir, onBuild } = this.#options;
    const submitted = unhurried(await loadProfile("workspace"));
    const evaluation = unhurried(await loadProfile("evaluation"));
    const shared = { size, cacheDir, onBuild };
    return {
      pool: this.#stack.use(new SandboxPool({ ...shared, profile: submitted, resetMode: "fresh" })),
      evaluationPool: this.#stack.use(
        new SandboxPool({ ...shared, profile: evaluation, resetMode: "rewind" }),
      ),
    };
  }
}

function unhurried(profile: Profile): Profile {
  return { ...profile, limits: { ...profile.limits, cpuSeconds: MAX_CPU_SECONDS } };
}
