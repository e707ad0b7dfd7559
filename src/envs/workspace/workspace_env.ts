import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import type { SessionLease } from "../../sandbox/exec.ts";
import type { Task } from "../../task.ts";
import type { Action, Env, ResetOptions, StepOptions } from "../env.ts";
import { fullHistory } from "../full_history.ts";
import { evaluationGain } from "./evaluation_gain.ts";
import { Workbench } from "./workbench.ts";
import type { Workspace } from "./workspace.ts";
import { WorkspaceEpisode } from "./workspace_episode.ts";
import type { WorkspaceTask } from "./workspace_task.ts";
import type { WorkspaceObservation, WorkspaceStep, WorkspaceView } from "./workspace_view.ts";

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
   * the work is at the `end`, which is 0 where there was no score. `nothing` unless given.
   */
  reward?: "nothing" | "end" | undefined;
}

/** A session of a workspace, for as long as its episodes are played. */
interface Seat {
  readonly workspace: Workspace;
  readonly lease: SessionLease;
  readonly bench: Workbench;
}

interface Running {
  readonly episode: WorkspaceEpisode;
  readonly observation: WorkspaceObservation;
}

/** The key of a task's `fields` that names the workspace. */
const FIELD = "workspace";
const NO_OUTPUT = "(The command printed nothing.)";

/**
 * An agent at work: its actions are command lines in a shell of its own, over files that it may change, until it
 * submits them, gives up, or has no steps left. Each of these is an end of the episode's own, as the work is then
 * evaluated as it is.
 *
 * A command that prints MLGym's mark of a validation or a submission has the files evaluated, whoever printed it; the
 * scores come from the evaluator alone, in `workspace.evaluation`. Used without transforms, the task's description is
 * the user's first message, and what a command printed the next.
 */
export class WorkspaceEnv implements Env {
  readonly #options: WorkspaceEnvOptions;
  #seat: Seat | undefined;
  #running: Running | undefined;
  #disposed = false;

  /** @throws {RangeError} when the number of steps is none. */
  constructor(options: WorkspaceEnvOptions) {
    const { maxSteps = 1 } = options;
    if (!Number.isSafeInteger(maxSteps) || maxSteps < 1) {
      throw new RangeError(
        `Cannot create workspace env as 'maxSteps' must be a whole number > 0: current value is ${maxSteps}`,
      );
    }
    this.#options = options;
  }

  /** `task.fields.workspace` names the workspace, else the task's id does. */
  async reset(task: Task, options: ResetOptions = {}): Promise<WorkspaceObservation> {
    if (this.#disposed) throw new Error("Cannot reset env as it is disposed");
    this.#running = undefined;
    const named = task.fields?.[FIELD];
    const workspace = await this.#options.workspaces(typeof named === "string" ? named : task.id);
    const bench = await this.#sit(workspace, options);
    await bench.start(options);
    const { maxSteps = 100, timeoutMs = 25_000, silenceMs } = this.#options;
    const limits = { maxSteps, timeoutMs, silenceMs };
    const episode = new WorkspaceEpisode({ workspace, bench, limits, seed: options.seed });
    const prompt = History.fromChats([{ role: "user", content: workspace.task.description }]);
    const observation = { task, history: { prompt }, workspace: episode.start() };
    this.#running = { episode, observation };
    return observation;
  }

  /** Runs `action.command`, or the text of the reply. */
  async step(action: Action, options: StepOptions = {}): Promise<WorkspaceStep> {
    if (this.#disposed) throw new Error("Cannot step as the env is disposed");
    const running = this.#running;
    if (running === undefined) throw notGoingOn();
    const { episode, observation: before } = running;
    const { prompt } = before.history;
    const said = action.history ? fullHistory(prompt, action) : prompt;
    const view = await episode.step(commandOf(action, said), options);
    if (this.#running !== running) throw notGoingOn();
    const history = said.append({ role: "user", content: view.output || NO_OUTPUT });
    const observation = { ...before, history: { prompt: history }, workspace: view };
    this.#running = view.exitStatus === undefined ? { episode, observation } : undefined;
    return this.#stepOf(observation, view);
  }

  /** Gives the session back. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#running = undefined;
    await this.#leave();
  }

  /** Takes a session of the workspace, unless it has one. */
  async #sit(workspace: Workspace, { signal }: ResetOptions): Promise<Workbench> {
    if (this.#seat?.workspace === workspace) return this.#seat.bench;
    await this.#leave();
    const lease = await workspace.acquire({ signal });
    if (this.#disposed) {
      await lease[Symbol.asyncDispose]();
      throw new Error("Cannot reset env as it was disposed meanwhile");
    }
    const bench = new Workbench(lease.session, workspace);
    this.#seat = { workspace, lease, bench };
    return bench;
  }

  async #leave(): Promise<void> {
    const seat = this.#seat;
    this.#seat = undefined;
    await seat?.lease[Symbol.asyncDispose]();
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

/** The episode of a task: its description is what the agent is asked. */
export function workspaceEpisode({ id, description }: Pick<WorkspaceTask, "id" | "description">): Task {
  return { id, query: description, fields: { [FIELD]: id } };
}

function notGoingOn(): Error {
  return new Error("Cannot step as no episode is going on: reset the env first");
}

function commandOf(action: Action, said: History): string {
  if (action.command !== undefined) return action.command;
  if (said.last?.role === "assistant") return messageText(said.last);
  throw new TypeError(
    "Cannot step as the action must have 'command', or a reply of the assistant: it has neither",
  );
}

/** What the end is worth; `null` where there is nothing to compare it with. */
function endReward(evaluation: WorkspaceView["evaluation"]): number | null {
  return evaluation?.outcome.status === "scored" ? evaluationGain(evaluation) : 0;
}
