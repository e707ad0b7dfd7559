import type { EpisodeCheckpoint, EpisodeCheckpointOptions } from "../../episode_checkpoint.ts";
import { ArgumentRangeError, SandboxError } from "../../errors.ts";
import { requireKnownOptions } from "../../options.ts";
import { checkpointUser, USER_STOP, type UserSimulator } from "../../users/user_simulator.ts";
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
import { textOfChanges } from "./domain_data.ts";
import type { DomainTask } from "./domain_description.ts";
import {
  type DomainCall,
  type DomainRecords,
  DomainSession,
  type LeasedDomain,
  toArgumentsText,
} from "./domain_session.ts";
import { type DomainEpisodeEnd, rewardOf } from "./reward.ts";
import { parseJson } from "../../tools/parsers/json_scan.ts";
import type { TauBenchDomain } from "./tau_bench_domain.ts";

/** Options of {@linkcode TauBenchEnv.open}. */
export interface TauBenchEnvOptions {
  readonly domain: TauBenchDomain;
  /** Name of the split, such as `test`. */
  readonly split: string;
  /** Simulator of the user. The env disposes it. */
  readonly user: UserSimulator;
  /**
   * Timeout of a tool call, in milliseconds.
   *
   * @default 10_000
   */
  readonly toolTimeoutMs?: number | undefined;
  /** Cancels the wait for a session. */
  signal?: AbortSignal | undefined;
}

/** State of the current episode. */
interface Episode {
  readonly index: number;
  readonly task: DomainTask;
  /** Messages of the agent to the user. */
  readonly messages: string[];
  /** Calls that changed the data, in order. They are replayed if the sandbox is lost. */
  readonly calls: DomainCall[];
  done: boolean;
  /** Changes at the end, kept because computing the reward rewinds the data. */
  changes?: DomainRecords;
}

/**
 * Plays tau-bench's episodes with tau-bench's own Python. The reward is 1 if the data end up as the task's own
 * actions would leave them and the agent gave the user all the task's outputs; else 0.
 *
 * The tools work on data in a sandbox, which a reset rewinds. The user is simulated on the host. The expected end
 * state is computed on fresh data. If a tool crashes its interpreter, the next step finds the data as they were
 * before that tool.
 *
 * @example
 * ```ts ignore
 * import { scriptedUser, TauBenchDomain, TauBenchEnv } from "@paddock/paddock/tau-bench";
 *
 * await using domain = await TauBenchDomain.open({ path: "tau-bench", domain: "retail" });
 * await using env = await TauBenchEnv.open({ domain, split: "test", user: scriptedUser(["Hello", "###STOP###"]) });
 * const { observation } = await env.reset(0); // "Hello"
 * ```
 */
export class TauBenchEnv implements ToolUserEnv {
  readonly name: string;
  readonly #options: TauBenchEnvOptions;
  readonly #tasks: readonly DomainTask[];
  /** Session of the running episode, or of the next one. */
  #leased: LeasedDomain | undefined;
  #episode: Episode | undefined;
  #disposed = false;
  /** Pending end of an episode, which uses the session exclusively. */
  #ending: Promise<DomainEpisodeEnd> | undefined;

  private constructor(
    options: TauBenchEnvOptions,
    parts: { tasks: readonly DomainTask[]; leased: LeasedDomain | undefined },
  ) {
    this.name = `${options.domain.name}/${options.split}`;
    this.#options = options;
    this.#tasks = parts.tasks;
    this.#leased = parts.leased;
  }

  /**
   * Leases one of the domain's sessions, until the env is disposed or its episode ends. A reset leases another one.
   *
   * @throws {RangeError} if the domain has no such split.
   */
  static async open(options: TauBenchEnvOptions): Promise<TauBenchEnv> {
    requireKnownOptions("open TauBenchEnv", options, {
      domain: true,
      split: true,
      user: true,
      toolTimeoutMs: true,
      signal: true,
    });
    const { domain, split, signal } = options;
    const tasks = domain.tasks(split);
    return new TauBenchEnv(options, { tasks, leased: await leaseSession(domain, signal) });
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
      throw new ArgumentRangeError(
        `Cannot reset ${this.name} as the task index must be a whole number from 0 to ${
          this.taskCount - 1
        }: current value is ${taskIndex}`,
      );
    }
    this.#episode = undefined;
    await this.#ending?.catch(() => {}); // the step that ended the episode reports it
    const { signal } = options;
    this.#leased ??= await leaseSession(this.#options.domain, signal);
    if (this.#disposed) {
      await this.#release();
      throw new Error(`Cannot reset ${this.name} as it was disposed during the reset`);
    }
    await this.#session.rewind(options);
    const { instruction } = task;
    const observation = await this.#options.user.reset({ index: taskIndex, instruction }, { signal });
    this.#episode = { index: taskIndex, task, messages: [], calls: [], done: false };
    return { observation, info: { task: taskInfo(task), source: "user" } };
  }

  /** {@inheritDoc ToolUserEnv.step} */
  async step(action: ToolUserAction, options: ToolUserStepOptions = {}): Promise<ToolUserStep> {
    const episode = this.#runningEpisode();
    const responds = action.name === RESPOND;
    const observation = responds
      ? await this.#respond(episode, action, options)
      : await this.#call(episode, action, options);
    this.#requireRunning(episode);
    const done = responds ? observation.includes(USER_STOP) : this.terminateTools.includes(action.name);
    const info = { task: taskInfo(episode.task), source: responds ? "user" : String(action.name) };
    if (!done) return { observation, reward: 0, done, info };
    episode.done = true;
    this.#ending = this.#end(episode).finally(() => this.#release());
    const { rewardParts, ...reward_info } = rewardOf(await this.#ending);
    const { reward } = reward_info;
    const user_cost = this.#options.user.cost;
    return { observation, reward, rewardParts, done, info: { ...info, reward_info, user_cost } };
  }

  /** {@inheritDoc ToolUserEnv.checkpoint} */
  async checkpoint({ signal }: EpisodeCheckpointOptions = {}): Promise<EpisodeCheckpoint<TauBenchEnv>> {
    await this.#ending?.catch(() => {}); // the step that ended the episode reports it
    const { domain } = this.#options;
    const episode = this.#episode && copyEpisode(this.#episode);
    const user = checkpointUser(this.#options.user);
    const acquire = (signal: AbortSignal | undefined) => domain.acquire({ signal });
    const state = await this.#leased?.session.checkpoint({ acquire, signal });
    return {
      copy: async (options) => {
        const env = { ...this.#options, user: await user.copy(options) };
        const copy = new TauBenchEnv(env, { tasks: this.#tasks, leased: await state?.copy(options) });
        copy.#episode = episode && copyEpisode(episode);
        return copy;
      },
    };
  }

  /** Returns tau-bench's hash of the episode's data, now or at its end. It reads all data, so it is slow. */
  async dataHash(): Promise<string> {
    return await this.#options.domain.dataHash(await this.#changes(this.#episode ?? notStarted()));
  }

  /** Releases the session. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await this.#release();
    await this.#options.user[Symbol.asyncDispose]?.();
  }

  get #session(): DomainSession {
    return this.#leased?.session ?? notStarted();
  }

  async #release(): Promise<void> {
    const leased = this.#leased;
    this.#leased = undefined;
    await leased?.lease[Symbol.asyncDispose]();
  }

  #runningEpisode(): Episode {
    const episode = this.#episode ?? notStarted();
    this.#requireRunning(episode);
    return episode;
  }

  #requireRunning(episode: Episode): void {
    if (episode === this.#episode && !episode.done) return;
    throw new Error(`Cannot step ${this.name} as the episode is over: call reset() first`);
  }

  async #respond(episode: Episode, action: ToolUserAction, options: ToolUserStepOptions): Promise<string> {
    const kwargs = toArgumentsText(action);
    if (typeof kwargs !== "string") return `Error: ${kwargs.fault}`;
    const { content } = parseJson(kwargs) as { readonly content?: unknown };
    if (typeof content !== "string") {
      return `Error: ${RESPOND} must be given 'content', a text: current value is ${typeof content}`;
    }
    options.signal?.throwIfAborted();
    episode.messages.push(content);
    const observation = await this.#options.user.step(content, options);
    options.signal?.throwIfAborted();
    return observation;
  }

  async #call(episode: Episode, action: ToolUserAction, options: ToolUserStepOptions): Promise<string> {
    if (typeof action.name !== "string") return `Unknown action ${JSON.stringify(action.name)}`;
    const kwargs = toArgumentsText(action);
    if (typeof kwargs !== "string") return `Error: ${kwargs.fault}`;
    const call = { name: action.name, kwargs };
    const { toolTimeoutMs: timeoutMs } = this.#options;
    const { observation, ended } = await this.#withRestore(
      episode,
      () => this.#session.step(call, { ...options, timeoutMs }),
    );
    if (ended) episode.calls.push(call);
    return observation;
  }

  async #end(episode: Episode): Promise<DomainEpisodeEnd> {
    const { domain, split } = this.#options;
    const { index, task } = episode;
    const changes = episode.changes = await this.#changes(episode);
    const outputs = await this.#session.outputs({ split, index }, episode.messages);
    const expected = await domain.expectedEnd({ split, index }, this.#session);
    return { task, expected, outputs, changes: textOfChanges(changes) };
  }

  async #changes(episode: Episode): Promise<DomainRecords> {
    return episode.changes ?? await this.#withRestore(episode, () => this.#session.changes());
  }

  /** Runs a request; if the sandbox has lost the episode's data, restores them and runs it again. */
  async #withRestore<T>(episode: Episode, request: () => Promise<T>): Promise<T> {
    const response = await request();
    if (!this.#session.consumeRestarted() || episode.calls.length === 0) return response;
    await this.#restore(episode);
    return await request();
  }

  /** Replays the episode's calls on fresh data. */
  async #restore(episode: Episode): Promise<void> {
    await this.#session.rewind();
    for (const call of episode.calls) await this.#session.step(call);
    if (!this.#session.consumeRestarted()) return;
    throw new SandboxError(
      `Cannot continue ${this.name} as its data could not be restored: the sandbox was lost twice`,
    );
  }
}

async function leaseSession(domain: TauBenchDomain, signal: AbortSignal | undefined): Promise<LeasedDomain> {
  const lease = await domain.acquire({ signal });
  return { lease, session: new DomainSession(lease.session) };
}

function copyEpisode(episode: Episode): Episode {
  return { ...episode, messages: [...episode.messages], calls: [...episode.calls] };
}

function notStarted(): never {
  throw new Error("Cannot use TauBenchEnv before the first reset: call reset() first");
}

function taskInfo({ user_id, instruction, actions, outputs }: DomainTask): Record<string, unknown> {
  return { user_id, actions: actions.map(({ name, kwargs }) => ({ name, kwargs })), instruction, outputs };
}
