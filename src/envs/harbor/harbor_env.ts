import {
  type EpisodeCheckpointOptions,
  type EpisodeForkOptions,
  forkEpisode,
} from "../../episode_checkpoint.ts";
import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import { requireKnownOptions } from "../../options.ts";
import type { SessionLease } from "../../sandbox/contract/pool.ts";
import type { Task } from "../../task.ts";
import { type Action, historyAfter, requireAction } from "../action.ts";
import { type BranchingEnv, checkpointSession, type EnvCheckpoint } from "../branching_env.ts";
import type { EnvResetOptions, Observation, Step, StepOptions } from "../env.ts";
import { AgentSession } from "./session/agent_session.ts";
import type { HarborTasks } from "./harbor_tasks.ts";
import { harborSystem, oracleReplies, shellBlocks } from "./replies.ts";
import type { HarborTask } from "./task.ts";
import { type Verdict, verify } from "./verifier/verifier.ts";

/** Options of {@linkcode HarborEnv}. */
export interface HarborEnvOptions {
  /** Tasks and their sandboxes. The env does not dispose them. */
  readonly tasks: HarborTasks;
  /**
   * Maximum number of replies of an episode. The work is scored after the last one.
   *
   * @default 50
   */
  maxTurns?: number | undefined;
  /**
   * Timeout of a block of commands, in milliseconds.
   *
   * @default 120_000
   */
  timeoutMs?: number | undefined;
  /**
   * System message.
   *
   * @default a text that explains how to write commands
   */
  systemPrompt?: string | undefined;
}

/** Why an episode ended. */
export type HarborEnd = "done" | "turns" | "time" | "lost" | "cut";

interface Running {
  readonly task: HarborTask;
  readonly lease: SessionLease;
  readonly agent: AgentSession;
  readonly observation: Observation;
  readonly turn: number;
}

/**
 * Plays tasks in Harbor's format. An agent works in a sandboxed shell; the episode ends with a reply without commands, or
 * at a limit. The verifier then runs in a session of its own, and the reward comes from the reward file.
 *
 * @example
 * ```ts
 * import { replyAction } from "@paddock/paddock";
 * import { HarborEnv, harborEnvTask, HarborTasks, loadHarborTask } from "@paddock/paddock/envs";
 *
 * const task = await loadHarborTask("examples/harbor/word_count");
 * await using tasks = new HarborTasks({ tasks: [task] });
 * await using env = new HarborEnv({ tasks });
 * await env.reset(await harborEnvTask(task));
 * const { reward } = await env.step(replyAction("Nothing to do."));
 * if (reward !== 0) throw new Error(String(reward));
 * ```
 */
export class HarborEnv implements BranchingEnv {
  readonly #options: HarborEnvOptions;
  #running: Running | undefined;
  #disposed = false;

  /** @throws {RangeError} if `maxTurns` is not a whole number >= 1. */
  constructor(options: HarborEnvOptions) {
    requireKnownOptions("create HarborEnv", options, OPTIONS);
    const { maxTurns = 1 } = options;
    if (!Number.isSafeInteger(maxTurns) || maxTurns < 1) {
      throw new RangeError(
        `Cannot create Harbor env as 'maxTurns' must be a whole number > 0: current value is ${maxTurns}`,
      );
    }
    this.#options = options;
  }

  /** Starts an episode of the Harbor task with the id of `task`. */
  async reset(task: Task, { seed, signal }: EnvResetOptions = {}): Promise<Observation> {
    if (this.#disposed) throw new Error("Cannot reset env as it is disposed");
    await this.#release();
    const { tasks, timeoutMs, systemPrompt } = this.#options;
    const harborTask = tasks.task(task.id);
    const { agents } = await tasks.sandboxes(harborTask);
    await using stack = new AsyncDisposableStack();
    const lease = stack.use(await agents.acquire({ seed, signal }));
    const agent = await AgentSession.start(lease.session, harborTask, { timeoutMs, signal });
    const system = { role: "system", content: systemPrompt ?? harborSystem(harborTask) } as const;
    const prompt = History.fromChats([system, { role: "user", content: harborTask.instruction }]);
    const observation = { task, history: { prompt } };
    if (this.#disposed) throw new Error("Cannot reset env as it was disposed during the reset");
    stack.move();
    this.#running = { task: harborTask, lease, agent, observation, turn: 0 };
    return observation;
  }

  /** Runs the commands of a reply, or scores the work after a reply without commands. */
  async step(action: Action, { signal }: StepOptions = {}): Promise<Step> {
    if (this.#disposed) throw new Error("Cannot step as the env is disposed");
    const running = this.#requireRunning();
    requireAction(action);
    const { agent, observation, turn: before } = running;
    const { prompt } = observation.history;
    const history = action.history ? historyAfter(prompt, action) : prompt;
    const reply = action.history && history.last ? messageText(history.last) : undefined;
    const commands = action.command === undefined ? shellBlocks(reply ?? "") : [action.command];
    const turn = before + 1;
    const isCut = history.last?.is_complete === false;
    if (commands.length === 0 && !isCut) return await this.#end(running, { history, end: "done", signal });
    const output = commands.length === 0 ? CUT_OFF : await agent.run(commands, { signal });
    const next = history.append({ role: "user", content: output });
    const end = this.#endAfter(agent, turn);
    if (end !== undefined) return await this.#end(running, { history: next, end, signal });
    const followed = { ...observation, history: { prompt: next } };
    if (this.#running !== running) throw noEpisodeError();
    this.#running = { ...running, observation: followed, turn };
    return { ...followed, reward: null, terminated: false, truncated: false, toolResults: [] };
  }

  /** Scores the work of an episode that a limit outside of the env ends. */
  async truncate({ history: { prompt } }: Observation, { signal }: StepOptions = {}): Promise<Step> {
    return await this.#end(this.#requireRunning(), { history: prompt, end: "cut", signal });
  }

  /** {@inheritDoc BranchingEnv.checkpoint} */
  async checkpoint({ signal }: EpisodeCheckpointOptions = {}): Promise<EnvCheckpoint> {
    if (this.#disposed) throw new Error("Cannot checkpoint env as it is disposed");
    const running = this.#running;
    if (running === undefined) return { copy: () => new HarborEnv(this.#options) };
    const { agents } = await this.#options.tasks.sandboxes(running.task);
    const acquire = (signal: AbortSignal | undefined) => agents.acquire({ signal });
    const state = await checkpointSession(running.lease.session, { acquire, signal });
    const { agent } = running;
    const kept = agent.copyFor(running.lease.session);
    return {
      copy: async (options) => {
        const copy = new HarborEnv(this.#options);
        const lease = await state.copy(options);
        copy.#running = { ...running, lease, agent: kept.copyFor(lease.session) };
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
    await this.#release();
  }

  #requireRunning(): Running {
    if (this.#running === undefined) throw noEpisodeError();
    return this.#running;
  }

  #endAfter(agent: AgentSession, turn: number): HarborEnd | undefined {
    if (agent.isLost) return "lost";
    if (agent.remainingMs <= 0) return "time";
    return turn >= (this.#options.maxTurns ?? 50) ? "turns" : undefined;
  }

  async #end(
    running: Running,
    { history, end, signal }: { history: History; end: HarborEnd; signal: AbortSignal | undefined },
  ): Promise<Step> {
    const { task, agent, observation } = running;
    const work = await agent.work({ signal });
    if (this.#running !== running) throw noEpisodeError();
    await this.#release();
    const { verifiers: pool } = await this.#options.tasks.sandboxes(task);
    const verdict = await verify(task, { pool, work, signal });
    const isOver = end === "done" || end === "lost";
    return {
      ...observation,
      history: { prompt: history },
      ...scoreOf(verdict),
      info: { harbor: { end, leftOut: verdict.leftOut, output: verdict.output } },
      terminated: isOver,
      truncated: !isOver,
      toolResults: [],
    };
  }

  async #release(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.lease[Symbol.asyncDispose]();
  }
}

const CUT_OFF = "Nothing was run, as the reply was cut off at its maximum number of tokens.";

function scoreOf({ outcome }: Verdict): Pick<Step, "reward" | "rewardParts" | "unscored"> {
  if ("unscored" in outcome) return { reward: null, unscored: outcome.unscored };
  const { reward, parts } = outcome;
  return { reward, ...(Object.keys(parts).length > 0 && { rewardParts: parts }) };
}

/** Returns the task that makes a {@linkcode HarborEnv} play a Harbor task. The replies come from an oracle. */
export async function harborEnvTask(task: HarborTask): Promise<Task> {
  const replies = await oracleReplies(task);
  return { id: task.id, query: task.instruction, ...(replies !== undefined && { replies }) };
}

function noEpisodeError(): Error {
  return new Error("Cannot step as no episode is running: call reset() first");
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof HarborEnvOptions, true>> = {
  tasks: true,
  maxTurns: true,
  timeoutMs: true,
  systemPrompt: true,
};
