import { crossBoundary } from "../boundary.ts";
import type { Action, Env, Observation, Step } from "../envs/env.ts";
import { ParserError, PolicyError } from "../errors.ts";
import { History } from "../history.ts";
import { parseMessage } from "../message.ts";
import { type Policy, type Reply, wholeReply } from "../policy/policy.ts";
import { type OpenTask, type Task, withoutAnswer } from "../task.ts";
import { episodeTokens } from "./episode_tokens.ts";
import type { EpisodeWriter } from "./tokens/episode_writer.ts";
import { emptyTrajectory, toolRecord, type Trajectory } from "./trajectory.ts";
import { type TurnRecord, turnRecord } from "./turn_record.ts";

/** What is played, and how. */
export interface Game {
  readonly policy: Policy;
  readonly task: Task;
  readonly options: {
    readonly seed?: number | undefined;
    readonly sample?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  };
  /** Writes the tokens of the episode, and gives the policy its prompts; without it the env does, if it can. */
  readonly writer?: EpisodeWriter | undefined;
}

/** One episode while it is played, and what is written of it so far. */
export class EpisodeRun {
  readonly #env: Env;
  readonly #policy: Policy;
  readonly #task: Task;
  readonly #options: Game["options"];
  readonly #writer: EpisodeWriter | undefined;
  readonly #startMs = performance.now();
  readonly #steps: TurnRecord[] = [];
  #policyMs = 0;
  #envMs = 0;
  #history: History | undefined;
  /** The env's tokens after the newest step. */
  #ids: readonly number[] | undefined;
  #played: Trajectory;

  constructor(env: Env, { policy, task, options, writer }: Game) {
    this.#env = env;
    this.#policy = policy;
    this.#task = task;
    this.#options = options;
    this.#writer = writer;
    this.#played = emptyTrajectory(task, { ...options, policy: policy.name });
  }

  /** Plays to the end; rejects with what failed on the way. */
  async play(maxTurns: number): Promise<void> {
    const { seed, signal } = this.#options;
    const task = withoutAnswer(this.#task);
    let observation = await this.#inEnv(() => this.#env.reset(this.#task, { seed, signal }));
    this.#history = observation.history.prompt;
    this.#tell(observation);
    this.#writer?.start(observation);
    if (maxTurns < 1) this.#played = { ...this.#played, truncated: true };
    while (!this.#played.terminated && !this.#played.truncated) {
      signal?.throwIfAborted();
      const reply = await this.#reply(observation, task);
      const action = actionOf(reply);
      this.#history = observation.history.prompt.extend(action.history?.response ?? []);
      const step = await this.#step(action, observation);
      this.#record(step, maxTurns);
      this.#writer?.step(step.history.prompt);
      observation = step;
      this.#history = step.history.prompt;
      this.#ids = step.tokens?.prompt;
    }
  }

  /** The episode as far as it was played. */
  trajectory(): Trajectory {
    const tokens = this.#writer?.tokens() ?? episodeTokens(this.#ids, this.#steps);
    return {
      ...this.#played,
      ...(tokens !== undefined && { tokens }),
      messages: this.#history?.toChats() ?? [],
      steps: this.#steps,
      times: { totalMs: performance.now() - this.#startMs, policyMs: this.#policyMs, envMs: this.#envMs },
    };
  }

  async #reply({ history, tools, text, tokens }: Observation, task: OpenTask): Promise<Reply> {
    const { seed, signal } = this.#options;
    const prompt = this.#writer?.prompt ?? { text: text?.prompt, ids: tokens?.prompt };
    const context = { task, tools, text: prompt.text, tokens: prompt.ids, seed, signal };
    const start = performance.now();
    try {
      const reply = await crossBoundary(
        async () => checkedReply(wholeReply(await this.#policy.reply(history.prompt, context))),
        { error: PolicyError, failure: "Cannot get reply", signal },
      );
      const turn = this.#steps.length + 1;
      const begun = {
        turn,
        policyMs: performance.now() - start,
        promptTokens: this.#writer ? undefined : prompt.ids?.length,
      };
      this.#steps.push(turnRecord(begun, reply));
      if (this.#writer !== undefined) this.#mendStep({ tokens: sampledTokens(this.#writer.reply(reply)) });
      const { weightVersion: weights } = reply;
      if (weights) this.#played = { ...this.#played, versions: { ...this.#played.versions, weights } };
      return reply;
    } finally {
      this.#policyMs += performance.now() - start;
    }
  }

  async #step(action: Action, { history }: Observation): Promise<Step> {
    const { signal } = this.#options;
    try {
      return await this.#inEnv(() => this.#env.step(action, { signal }));
    } catch (error) {
      if (error instanceof ParserError) {
        // nobody can say what was said, so it counts as not said
        this.#history = history.prompt;
        this.#writer?.drop();
      }
      throw error;
    }
  }

  #tell({ info }: Observation): void {
    if (info !== undefined) this.#played = { ...this.#played, info: { ...this.#played.info, ...info } };
  }

  async #inEnv<T>(run: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await run();
    } finally {
      const tookMs = performance.now() - start;
      this.#envMs += tookMs;
      this.#mendStep({ envMs: tookMs });
    }
  }

  #record(step: Step, maxTurns: number): void {
    const { reward, toolResults, rewardParts } = this.#played;
    const turns = this.#played.turns + 1;
    const { terminated, policyVersion, unscored } = step;
    this.#mendStep({ reward: step.reward });
    this.#tell(step);
    this.#played = {
      ...this.#played,
      turns,
      terminated,
      truncated: step.truncated || (!terminated && turns >= maxTurns),
      reward: step.reward === null ? reward : (reward ?? 0) + step.reward,
      ...(step.rewardParts && { rewardParts: { ...rewardParts, ...step.rewardParts } }),
      ...(unscored !== undefined && { unscored }),
      ...(policyVersion !== undefined && { policyVersion }),
      toolResults: [...toolResults, ...step.toolResults.map((result) => toolRecord(turns, result))],
    };
  }

  /** Writes what came of the newest turn on its record. */
  #mendStep(outcome: Partial<TurnRecord>): void {
    const record = this.#steps.pop();
    if (record !== undefined) this.#steps.push({ ...record, ...outcome });
  }
}

/** The reply, when it is one that an episode can go on with. */
function checkedReply(reply: Reply): Reply {
  if (reply.finishReason !== "abort") return { ...reply, message: parseMessage(reply.message, 0) };
  const said = reply.finishMessage === undefined ? "" : `: ${reply.finishMessage}`;
  throw new PolicyError(`Cannot go on as the server aborted its reply${said}`, { fault: "aborted" });
}

/** What is written down of what was sampled. */
function sampledTokens(
  { ids, logProbs, start }: ReturnType<EpisodeWriter["reply"]>,
): NonNullable<TurnRecord["tokens"]> {
  return { ids, start, ...(logProbs && { logProbs }) };
}

/** What an env is given of a reply. */
function actionOf({ message, tokens }: Reply): Action {
  const history = { response: History.fromChats([message]) };
  if (tokens === undefined) return { history };
  const { ids, logProbs } = tokens;
  return { history, tokens: { response: ids, ...(logProbs && { logProbs }) } };
}
