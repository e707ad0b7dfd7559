import { requireKnownOptions } from "../../options.ts";
import {
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  forkEpisode,
} from "../../episode_checkpoint.ts";
import { ArgumentTypeError } from "../../errors.ts";
import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import type { SessionLease } from "../../sandbox/contract/pool.ts";
import type { Task } from "../../task.ts";
import { type Action, historyAfter, requireAction } from "../action.ts";
import { type BranchingEnv, checkpointSession, type EnvCheckpoint } from "../branching_env.ts";
import type { EnvResetOptions, Observation, StepOptions } from "../env.ts";
import {
  computeGain,
  type WorkspaceObservation,
  type WorkspaceStep,
  type WorkspaceView,
} from "./evaluation.ts";
import { AgentShell } from "./agent_shell.ts";
import type { Workspace } from "./workspace.ts";
import { WorkspaceEpisode } from "./episode.ts";
import type { WorkspaceTask } from "./task.ts";

/** Returns the open workspace of the task with this id. The env does not dispose the workspace. */
export type WorkspaceSource = (id: string) => Workspace | Promise<Workspace>;

/** Options of {@linkcode WorkspaceEnv}. */
export interface WorkspaceEnvOptions {
  readonly workspaces: WorkspaceSource;
  /**
   * Maximum number of steps. The next step evaluates the current work and ends the episode.
   *
   * @default 100
   */
  maxSteps?: number | undefined;
  /**
   * Timeout of a command that does not start Python, in milliseconds.
   *
   * @default 25_000
   */
  timeoutMs?: number | undefined;
  /**
   * Maximum time without output of a command, in milliseconds.
   *
   * @default the command's timeout
   */
  silenceMs?: number | undefined;
  /**
   * Reward of the env itself. `nothing` leaves it `null`. `end` gives the gain over the baseline at the end of the
   * episode, or 0 if there was no score.
   *
   * @default "nothing"
   */
  reward?: "nothing" | "end" | undefined;
}

/** Leased session of a workspace. */
interface Leased {
  readonly workspace: Workspace;
  readonly lease: SessionLease;
  readonly shell: AgentShell;
}

interface Running {
  readonly episode: WorkspaceEpisode;
  readonly observation: WorkspaceObservation;
}

/** Key of a task's `fields` that names the workspace. */
const WORKSPACE_FIELD = "workspace";
const NO_OUTPUT = "(The command printed nothing.)";
const NOT_RUN = "Nothing was run, as the reply was cut off at its maximum number of tokens.";

/**
 * Runs the commands of an agent in a sandboxed shell, on files that the agent may change. The episode terminates when
 * the agent submits the files, gives up, or has no steps left; the current work is then evaluated.
 *
 * Any output with MLGym's mark of a validation or a submission starts an evaluation. The scores come only from the
 * evaluator, in `workspace.evaluation`. Without transforms, the first user message is the task's description, and each
 * further one is the output of a command.
 *
 * @example
 * ```ts
 * import { replyAction } from "@paddock/paddock";
 * import { loadAgentConfig, loadWorkspaceTask } from "@paddock/paddock/mlgym";
 * import { WorkspaceEnv, workspaceEnvTask, Workspaces } from "@paddock/paddock/mlgym";
 *
 * const task = await loadWorkspaceTask("examples/workspace/bug_fixing");
 * await using workspaces = new Workspaces({ tasks: [task], agent: await loadAgentConfig() });
 * await using env = new WorkspaceEnv({ workspaces: (id) => workspaces.workspace(id), reward: "end" });
 * await env.reset(workspaceEnvTask(task));
 * const { reward } = await env.step(replyAction("submit"));
 * ```
 */
export class WorkspaceEnv implements BranchingEnv {
  readonly #options: WorkspaceEnvOptions;
  #leased: Leased | undefined;
  #running: Running | undefined;
  #disposed = false;

  /** @throws {RangeError} if `maxSteps` is not a whole number >= 1. */
  constructor(options: WorkspaceEnvOptions) {
    requireKnownOptions("create WorkspaceEnv", options, {
      workspaces: true,
      maxSteps: true,
      timeoutMs: true,
      silenceMs: true,
      reward: true,
    });
    const { maxSteps = 1 } = options;
    if (!Number.isSafeInteger(maxSteps) || maxSteps < 1) {
      throw new RangeError(
        `Cannot create workspace env as 'maxSteps' must be a whole number > 0: current value is ${maxSteps}`,
      );
    }
    this.#options = options;
  }

  /** Starts an episode in the workspace named by `task.fields.workspace`, or else by the task's id. */
  async reset(task: Task, options: EnvResetOptions = {}): Promise<WorkspaceObservation> {
    if (this.#disposed) throw new Error("Cannot reset env as it is disposed");
    this.#running = undefined;
    const named = task.fields?.[WORKSPACE_FIELD];
    const workspace = await this.#options.workspaces(typeof named === "string" ? named : task.id);
    const shell = await this.#acquire(workspace, options);
    await shell.start(options);
    const { maxSteps = 100, timeoutMs = 25_000, silenceMs } = this.#options;
    const limits = { maxSteps, timeoutMs, silenceMs };
    const episode = new WorkspaceEpisode({ workspace, shell, limits, seed: options.seed });
    const prompt = History.fromChats([{ role: "user", content: workspace.task.description }]);
    const observation = { task, history: { prompt }, workspace: episode.start() };
    this.#running = { episode, observation };
    return observation;
  }

  /** Runs `action.command`, or the text of the reply, unless it was cut off. */
  async step(action: Action, options: StepOptions = {}): Promise<WorkspaceStep> {
    if (this.#disposed) throw new Error("Cannot step as the env is disposed");
    const running = this.#running;
    if (running === undefined) throw noEpisodeError();
    requireAction(action);
    const { episode, observation: before } = running;
    const { prompt } = before.history;
    const history = action.history ? historyAfter(prompt, action) : prompt;
    const isCut = action.command === undefined && history.last?.is_complete === false;
    const view = isCut
      ? { ...before.workspace, output: NOT_RUN }
      : await episode.step(commandOf(action, history), options);
    return await this.#advance(running, { before, history, view });
  }

  /** Ends the episode as a full context ends it in MLGym (`exit_context`): the current work is evaluated. */
  async truncate({ history: { prompt } }: Observation, options: StepOptions = {}): Promise<WorkspaceStep> {
    const running = this.#running;
    if (running === undefined) throw noEpisodeError();
    const { episode, observation: before } = running;
    const view = await episode.step("exit_context", options);
    const step = await this.#advance(running, { before, history: prompt, view });
    return { ...step, terminated: false, truncated: true };
  }

  async #advance(
    running: Running,
    { before, history, view }: { before: WorkspaceObservation; history: History; view: WorkspaceView },
  ): Promise<WorkspaceStep> {
    if (this.#running !== running) throw noEpisodeError();
    const next = history.append({ role: "user", content: view.output || NO_OUTPUT });
    const observation = { ...before, history: { prompt: next }, workspace: view };
    const { episode } = running;
    this.#running = view.exitStatus === undefined ? { episode, observation } : undefined;
    if (this.#running === undefined) await this.#release();
    return this.#stepOf(observation, view);
  }

  /** {@inheritDoc BranchingEnv.checkpoint} */
  async checkpoint({ signal }: EpisodeCheckpointOptions = {}): Promise<EnvCheckpoint> {
    if (this.#disposed) throw new Error("Cannot checkpoint env as it is disposed");
    if (this.#leased === undefined || this.#running === undefined) {
      return { copy: () => new WorkspaceEnv(this.#options) }; // without an episode it keeps nothing
    }
    const { workspace, lease: { session }, shell } = this.#leased;
    const running = { ...this.#running, episode: this.#running.episode.copy({ shell }) };
    const acquire = (signal: AbortSignal | undefined) => workspace.acquire({ signal });
    const state = await checkpointSession(session, { acquire, signal });
    return {
      copy: async (options) => {
        const copy = new WorkspaceEnv(this.#options);
        const lease = await state.copy(options);
        const shell = new AgentShell(lease.session, workspace);
        copy.#leased = { workspace, lease, shell };
        copy.#running = { ...running, episode: running.episode.copy({ shell, ...options }) };
        return copy;
      },
    };
  }

  /** {@inheritDoc BranchingEnv.fork} */
  async fork(count: number, options?: EpisodeForkOptions): Promise<BranchingEnv[]> {
    return await forkEpisode(count, () => this.checkpoint(options), options);
  }

  /** Releases the session. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#running = undefined;
    await this.#release();
  }

  /** Leases a session of the workspace, or reuses the current one. */
  async #acquire(workspace: Workspace, { signal }: EnvResetOptions): Promise<AgentShell> {
    if (this.#leased?.workspace === workspace) return this.#leased.shell;
    await this.#release();
    const lease = await workspace.acquire({ signal });
    if (this.#disposed) {
      await lease[Symbol.asyncDispose]();
      throw new Error("Cannot reset env as it was disposed during the reset");
    }
    const shell = new AgentShell(lease.session, workspace);
    this.#leased = { workspace, lease, shell };
    return shell;
  }

  async #release(): Promise<void> {
    const leased = this.#leased;
    this.#leased = undefined;
    await leased?.lease[Symbol.asyncDispose]();
  }

  #stepOf(observation: WorkspaceObservation, { exitStatus, evaluation }: WorkspaceView): WorkspaceStep {
    const outcome = { reward: null, terminated: false, truncated: false, toolResults: [] };
    if (exitStatus === undefined) return { ...observation, ...outcome };
    const scores = evaluation?.outcome.status === "scored" ? { scores: evaluation.outcome.scores } : {};
    return {
      ...observation,
      ...outcome,
      info: { exitStatus, ...scores },
      reward: this.#options.reward === "end" ? endReward(evaluation) : null,
      terminated: true,
    };
  }
}

/** Returns the task that makes a {@linkcode WorkspaceEnv} play this workspace task. */
export function workspaceEnvTask({ id, description }: Pick<WorkspaceTask, "id" | "description">): Task {
  return { id, query: description, fields: { [WORKSPACE_FIELD]: id } };
}

function noEpisodeError(): Error {
  return new Error("Cannot step as no episode is running: call reset() first");
}

function commandOf(action: Action, history: History): string {
  if (action.command !== undefined) return action.command;
  if (history.last?.role === "assistant") return messageText(history.last);
  throw new ArgumentTypeError(
    "Cannot step as the action must have 'command', or a reply of the assistant: it has neither",
  );
}

/** Returns the reward at the end; `null` if there is no baseline. */
function endReward(evaluation: WorkspaceView["evaluation"]): number | null {
  return evaluation?.outcome.status === "scored" ? computeGain(evaluation) : 0;
}
