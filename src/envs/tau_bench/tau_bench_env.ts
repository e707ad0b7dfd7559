import { SandboxError } from "../../errors.ts";
import type { SessionLease } from "../../sandbox/exec.ts";
import { STOP, type UserSimulator } from "../../users/user_simulator.ts";
import {
  RESPOND,
  type ToolInfo,
  type ToolUserAction,
  type ToolUserEnv,
  type ToolUserReset,
  type ToolUserResetOptions,
  type ToolUserStep,
  type ToolUserStepOptions,
} from "../tool_user_env.ts";
import { argumentsText } from "./arguments_text.ts";
import { Desk, type DeskCall, type DomainRecords } from "./desk.ts";
import type { DomainTask } from "./domain_description.ts";
import { changesText } from "./domain_data.ts";
import { type EpisodeEnd, rewardOf } from "./reward.ts";
import type { TauBenchDomain } from "./tau_bench_domain.ts";

/** What an env of a domain is made of. */
export interface TauBenchEnvOptions {
  readonly domain: TauBenchDomain;
  /** Such as `test`. */
  readonly split: string;
  /** Who plays the user; the env disposes of it. */
  readonly user: UserSimulator;
  /** How long a tool may take; 10 seconds unless given. */
  readonly toolTimeoutMs?: number | undefined;
  /** Cancels the wait for a session. */
  signal?: AbortSignal | undefined;
}

/** What is known of the episode that goes on. */
interface Episode {
  readonly index: number;
  readonly task: DomainTask;
  readonly said: string[];
  /** The calls that made the data what they are, in their order. */
  readonly played: DeskCall[];
  done: boolean;
  /** What had changed at the end, kept as working out the reward rewinds the data. */
  changes?: DomainRecords;
}

/**
 * tau-bench's episodes, as its own Python gives them: observations, and a reward of 1 when the data end up as the
 * task's own actions would leave them and all that the user wanted to hear was said.
 *
 * The tools work on data in a sandbox, which a reset rewinds; the user is simulated on the host. The reward is worked
 * out on data of its own. Where a tool takes its interpreter down, the next step meets the data as they were before.
 */
export class TauBenchEnv implements ToolUserEnv {
  readonly name: string;
  readonly #options: TauBenchEnvOptions;
  readonly #tasks: readonly DomainTask[];
  readonly #lease: SessionLease;
  readonly #desk: Desk;
  #episode: Episode | undefined;
  /** The reward that is worked out, which takes the session for itself. */
  #ending: Promise<EpisodeEnd> | undefined;

  private constructor(
    options: TauBenchEnvOptions,
    parts: { tasks: readonly DomainTask[]; lease: SessionLease },
  ) {
    this.name = `${options.domain.name}/${options.split}`;
    this.#options = options;
    this.#tasks = parts.tasks;
    this.#lease = parts.lease;
    this.#desk = new Desk(parts.lease.session);
  }

  /**
   * Takes one of the domain's sessions for as long as the env lives.
   *
   * @throws {RangeError} when the domain has no such split.
   */
  static async open(options: TauBenchEnvOptions): Promise<TauBenchEnv> {
    const { domain, split, signal } = options;
    const tasks = domain.tasks(split);
    return new TauBenchEnv(options, { tasks, lease: await domain.acquire({ signal }) });
  }

  get taskCount(): number {
    return this.#tasks.length;
  }

  get toolsInfo(): readonly ToolInfo[] {
    return this.#options.domain.description.tools_info;
  }

  get wiki(): string {
    return this.#options.domain.description.wiki;
  }

  get rules(): readonly string[] {
    return this.#options.domain.description.rules;
  }

  get terminateTools(): readonly string[] {
    return this.#options.domain.description.terminate_tools;
  }

  /** {@inheritDoc ToolUserEnv.reset} */
  async reset(taskIndex: number, options: ToolUserResetOptions = {}): Promise<ToolUserReset> {
    const task = Number.isInteger(taskIndex) ? this.#tasks[taskIndex] : undefined;
    if (!task) {
      throw new RangeError(
        `Cannot reset ${this.name} as the task's index must be a whole number from 0 to ${
          this.taskCount - 1
        }: current value is ${taskIndex}`,
      );
    }
    this.#episode = undefined;
    await this.#ending?.catch(() => {}); // whoever steps is told
    await this.#desk.rewind(options);
    const { signal } = options;
    const { instruction } = task;
    const observation = await this.#options.user.reset({ index: taskIndex, instruction }, { signal });
    this.#episode = { index: taskIndex, task, said: [], played: [], done: false };
    return { observation, info: { task: plainTask(task), source: "user" } };
  }

  /** {@inheritDoc ToolUserEnv.step} */
  async step(action: ToolUserAction, options: ToolUserStepOptions = {}): Promise<ToolUserStep> {
    const episode = this.#running();
    const responds = action.name === RESPOND;
    const observation = responds
      ? await this.#respond(episode, action, options)
      : await this.#call(episode, action, options);
    this.#requireRunning(episode);
    const done = responds ? observation.includes(STOP) : this.terminateTools.includes(action.name);
    const info = { task: plainTask(episode.task), source: responds ? "user" : String(action.name) };
    if (!done) return { observation, reward: 0, done, info };
    episode.done = true;
    this.#ending = this.#end(episode);
    const { rewardParts, ...reward_info } = rewardOf(await this.#ending);
    const { reward } = reward_info;
    const user_cost = this.#options.user.cost;
    return { observation, reward, rewardParts, done, info: { ...info, reward_info, user_cost } };
  }

  /** tau-bench's hash of the episode's data as they are now, or were at its end. Costs a reading of all data. */
  async dataHash(): Promise<string> {
    return await this.#options.domain.dataHash(await this.#changes(this.#episode ?? notStarted()));
  }

  /** Gives the session back. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lease[Symbol.asyncDispose]();
    await this.#options.user[Symbol.asyncDispose]?.();
  }

  #running(): Episode {
    const episode = this.#episode ?? notStarted();
    this.#requireRunning(episode);
    return episode;
  }

  #requireRunning(episode: Episode): void {
    if (episode === this.#episode && !episode.done) return;
    throw new Error(`Cannot step ${this.name} as the episode must not be over: reset it first`);
  }

  async #respond(episode: Episode, action: ToolUserAction, options: ToolUserStepOptions): Promise<string> {
    const kwargs = argumentsText(action);
    if (typeof kwargs !== "string") return `Error: ${kwargs.fault}`;
    const { content } = JSON.parse(kwargs);
    if (typeof content !== "string") {
      return `Error: ${RESPOND} must be given 'content', a text: current value is ${typeof content}`;
    }
    options.signal?.throwIfAborted();
    episode.said.push(content);
    const observation = await this.#options.user.step(content, options);
    options.signal?.throwIfAborted();
    return observation;
  }

  async #call(episode: Episode, action: ToolUserAction, options: ToolUserStepOptions): Promise<string> {
    if (typeof action.name !== "string") return `Unknown action ${JSON.stringify(action.name)}`;
    const kwargs = argumentsText(action);
    if (typeof kwargs !== "string") return `Error: ${kwargs.fault}`;
    const call = { name: action.name, kwargs };
    const { toolTimeoutMs: timeoutMs } = this.#options;
    const { observation, ended } = await this.#onItsData(
      episode,
      () => this.#desk.step(call, { ...options, timeoutMs }),
    );
    if (ended) episode.played.push(call);
    return observation;
  }

  async #end(episode: Episode): Promise<EpisodeEnd> {
    const { domain, split } = this.#options;
    const { index, task } = episode;
    const changes = episode.changes = await this.#changes(episode);
    const outputs = await this.#desk.outputs({ split, index }, episode.said);
    const truth = await domain.truth({ split, index }, this.#desk);
    return { task, truth, outputs, changes: changesText(changes) };
  }

  async #changes(episode: Episode): Promise<DomainRecords> {
    return episode.changes ?? await this.#onItsData(episode, () => this.#desk.changes());
  }

  /** Asks the desk; once more, on the episode's data, when it turns out to have lost them. */
  async #onItsData<T>(episode: Episode, ask: () => Promise<T>): Promise<T> {
    const answer = await ask();
    if (!this.#desk.takeRestarted() || episode.played.length === 0) return answer;
    await this.#restore(episode);
    return await ask();
  }

  /** Brings fresh data to where the episode is. */
  async #restore(episode: Episode): Promise<void> {
    await this.#desk.rewind();
    for (const call of episode.played) await this.#desk.step(call);
    if (!this.#desk.takeRestarted()) return;
    throw new SandboxError(
      `Cannot go on with ${this.name} as its data must be kept: its sandbox was lost twice`,
    );
  }
}

function notStarted(): never {
  throw new Error("Cannot use a tau-bench env as an episode must have been started: reset it first");
}

function plainTask({ user_id, instruction, actions, outputs }: DomainTask): Record<string, unknown> {
  return { user_id, actions: actions.map(({ name, kwargs }) => ({ name, kwargs })), instruction, outputs };
}
