import { Deadline } from "../../async/abort.ts";
import { attributeErrors, EnvError, ParserError, PolicyError } from "../../errors.ts";
import type { Action } from "../../envs/action.ts";
import { type Env, type Observation, type Step, truncateEnv } from "../../envs/env.ts";
import { History } from "../../history.ts";
import { parseMessage } from "../../parse_message.ts";
import {
  isAborted,
  isCutOff,
  isLengthReason,
  type Policy,
  type Reply,
  toReply,
} from "../../policy/policy.ts";
import { type PublicTask, type Task, withoutAnswer } from "../../task.ts";
import {
  emptyTrajectory,
  type EpisodeStart,
  identityOf,
  tokensOfEpisode,
  toToolRecord,
  toTurnRecord,
  type Trajectory,
  type TurnRecord,
} from "../trajectory.ts";
import { type CutScore, withCutScore, withReward } from "./episode_score.ts";
import type { EpisodeWriter } from "../tokens/episode_writer.ts";
import { requireSamePrompt } from "../tokens/prompt_difference.ts";

/** Limits of a whole episode. An episode that reaches a limit is truncated, and graded with the replies so far. */
export interface EpisodeLimits {
  /**
   * Maximum number of sampled tokens of all replies. The last reply gets the rest as a maximum.
   *
   * @default Infinity
   */
  readonly tokens?: number | undefined;
  /**
   * Maximum milliseconds from the first turn on. A reply that is requested when they are over is given up; code that
   * runs is not interrupted.
   *
   * @default Infinity
   */
  readonly timeMs?: number | undefined;
}

/** Options of an episode. */
export interface EpisodeRunOptions extends Omit<EpisodeStart, "policy"> {
  /** @default "grade" */
  cutScore?: CutScore | undefined;
  limits?: EpisodeLimits | undefined;
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode EpisodeRun}. */
export interface EpisodeSetup {
  readonly policy: Policy;
  readonly task: Task;
  readonly options: EpisodeRunOptions;
  /** Writes the episode's tokens and gives the policy prompts. By default, the env's own tokens are used, if any. */
  readonly writer?: EpisodeWriter | undefined;
}

/** Maximum length of the messages of an episode as JSON, in characters. Contexts of models are far smaller. */
const MAX_MESSAGE_CHARACTERS = 32 * 1024 * 1024;

/** Runs and records an episode. */
export class EpisodeRun {
  readonly #env: Env;
  readonly #policy: Policy;
  readonly #task: Task;
  readonly #options: EpisodeRunOptions;
  readonly #writer: EpisodeWriter | undefined;
  /** Start of the first turn that this run has played. */
  #startMs: number | undefined;
  /** Duration of the earlier turns, which the original of this copy has played. */
  #earlierMs = 0;
  readonly #steps: TurnRecord[] = [];
  #policyMs = 0;
  #envMs = 0;
  #history: History | undefined;
  /** Number of messages of {@linkcode #history} that are counted in {@linkcode #characters}. */
  #counted = 0;
  #characters = 0;
  /** Tokens of the env after the last step. */
  #ids: readonly number[] | undefined;
  /** Observation to which the policy responds next. */
  #observation: Observation | undefined;
  #trajectory: Trajectory;

  constructor(env: Env, { policy, task, options, writer }: EpisodeSetup) {
    this.#env = env;
    this.#policy = policy;
    this.#task = task;
    this.#options = options;
    this.#writer = writer;
    this.#trajectory = emptyTrajectory(task, { ...options, policy: policy.name });
  }

  /**
   * Runs the episode to the end, or until the episode has had `turns` turns. Returns true if the episode has ended.
   * Rejects with the first failure.
   */
  async play(maxTurns: number, turns = Infinity): Promise<boolean> {
    const { signal } = this.#options;
    this.#startMs ??= performance.now();
    let observation = this.#observation ??= await this.#start(maxTurns);
    while (!this.#isOver() && this.#trajectory.turns < turns) {
      signal?.throwIfAborted();
      observation = this.#observation = await this.#playTurn(observation, maxTurns);
    }
    return this.#isOver();
  }

  /** Returns a copy that continues in a copy of the env. With other options, the copy is another episode. */
  copy(env: Env, options: EpisodeRunOptions = this.#options): EpisodeRun {
    const writer = this.#writer?.copy();
    const copy = new EpisodeRun(env, { policy: this.#policy, task: this.#task, options, writer });
    copy.#earlierMs = this.#elapsedMs();
    copy.#steps.push(...this.#steps);
    copy.#policyMs = this.#policyMs;
    copy.#envMs = this.#envMs;
    copy.#history = this.#history;
    copy.#counted = this.#counted;
    copy.#characters = this.#characters;
    copy.#ids = this.#ids;
    copy.#observation = this.#observation;
    copy.#trajectory = { ...this.#trajectory, ...identityOf(options) };
    return copy;
  }

  async #start(maxTurns: number): Promise<Observation> {
    const { seed, signal } = this.#options;
    const observation = await this.#inEnv(() => this.#env.reset(this.#task, { seed, signal }));
    this.#extendHistory(observation.history.prompt);
    this.#recordInfo(observation);
    const { group } = observation.task;
    if (group !== this.#task.group) {
      this.#trajectory = { ...this.#trajectory, ...(group !== undefined && { group }) };
    }
    this.#writer?.start(observation);
    if (maxTurns < 1) this.#trajectory = { ...this.#trajectory, truncated: true };
    return observation;
  }

  async #playTurn(observation: Observation, maxTurns: number): Promise<Observation> {
    const { limits: { tokens = Infinity, timeMs = Infinity } = {}, signal } = this.#options;
    const isCut = isLengthReason(this.#steps.at(-1)?.finishReason);
    if (this.#replyTokens() >= tokens) {
      await this.#endEarly(
        observation,
        { truncated: true, ...(isCut && { cut: "length" }) },
        "no tokens are left",
      );
      return observation;
    }
    const leftMs = Math.max(0, timeMs - this.#elapsedMs());
    using deadline = leftMs === Infinity ? undefined : new Deadline(leftMs, { signal });
    let reply: Reply;
    try {
      reply = await this.#requestReply(observation, withoutAnswer(this.#task), deadline?.signal ?? signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (deadline?.isExpired) {
        await this.#endEarly(observation, { truncated: true }, `there was no reply within ${timeMs} ms`);
        return observation;
      }
      if (!(error instanceof PolicyError && error.fault === "context_overflow")) throw error;
      await this.#endEarly(observation, CUT_BY_CONTEXT, error.message);
      return observation;
    }
    const action = actionOf(reply);
    try {
      this.#extendHistory(observation.history.prompt.extend(action.history?.response ?? []));
    } catch (error) {
      this.#writer?.drop(); // the reply is not part of the episode
      throw error;
    }
    const step = await this.#step(action, observation);
    this.#record(step, { maxTurns, isCut: isCutOff(reply) });
    this.#writer?.step(step.history.prompt);
    this.#extendHistory(step.history.prompt);
    this.#ids = step.tokens?.prompt;
    return step;
  }

  /** Returns the number of sampled tokens of all replies so far. */
  #replyTokens(): number {
    return this.#steps.reduce(
      (sum, { tokens, usage }) => sum + (tokens?.ids.length ?? usage?.replyTokens ?? 0),
      0,
    );
  }

  /**
   * Ends the episode before the next reply, because the model cannot hold the prompt or a limit is reached. Without a
   * reply there is nothing to grade.
   */
  async #endEarly(
    observation: Observation,
    end: Pick<Trajectory, "truncated" | "cut">,
    unscored: string,
  ): Promise<void> {
    if (this.#trajectory.turns === 0) {
      this.#trajectory = { ...this.#trajectory, ...end, unscored };
      return;
    }
    const { signal } = this.#options;
    const start = performance.now();
    try {
      const step = await truncateEnv(this.#env, observation, { signal });
      if (step.reward !== null) {
        this.#updateLastStep({ reward: (this.#steps.at(-1)?.reward ?? 0) + step.reward });
      }
      this.#recordInfo(step);
      const ended = { ...withReward(this.#trajectory, step), ...end };
      this.#trajectory = withCutScore(ended, this.#options.cutScore);
    } finally {
      this.#envMs += performance.now() - start;
    }
  }

  #elapsedMs(): number {
    return this.#earlierMs + (this.#startMs === undefined ? 0 : performance.now() - this.#startMs);
  }

  #isOver(): boolean {
    return this.#trajectory.terminated || this.#trajectory.truncated;
  }

  /** Returns the record of the episode so far. */
  trajectory(): Trajectory {
    const { terminated, truncated, reward, cut } = this.#trajectory;
    const endsInReply = cut === "length" && this.#history?.last?.role === "assistant";
    const tokens = this.#writer?.tokens() ?? tokensOfEpisode(this.#ids, this.#steps, { endsInReply });
    return {
      ...this.#trajectory,
      // the rewards so far are not the reward of an episode that was stopped or failed before the end
      reward: terminated || truncated ? reward : null,
      ...(tokens !== undefined && { tokens }),
      messages: this.#history?.toChats() ?? [],
      steps: this.#steps,
      times: { totalMs: this.#elapsedMs(), policyMs: this.#policyMs, envMs: this.#envMs },
    };
  }

  async #requestReply(observation: Observation, task: PublicTask, signal?: AbortSignal): Promise<Reply> {
    const { history, tools, text, tokens, policyVersion } = observation;
    const { seed, limits: { tokens: tokenLimit } = {} } = this.#options;
    const maxTokens = tokenLimit === undefined ? undefined : tokenLimit - this.#replyTokens();
    const writer = this.#writer;
    const prompt = writer?.prompt ?? { text: text?.prompt, ids: tokens?.prompt };
    const recordedChat = writer && (() => writer.recordedChat());
    const context = {
      task,
      tools,
      text: prompt.text,
      tokens: prompt.ids,
      recordedChat,
      maxTokens,
      seed,
      signal,
    };
    const start = performance.now();
    try {
      const reply = await attributeErrors(
        async () => checkReply(toReply(await this.#policy.reply(history.prompt, context))),
        { error: PolicyError, failure: "Cannot get reply", signal },
      );
      if (tokenLimit !== undefined) requireCount(reply);
      const turn = this.#steps.length + 1;
      const turnStart = {
        turn,
        policyMs: performance.now() - start,
        promptTokens: writer ? undefined : prompt.ids?.length,
        policyVersion,
      };
      this.#steps.push(toTurnRecord(turnStart, reply));
      if (writer !== undefined) this.#updateLastStep({ tokens: sampledTokens(writer.reply(reply)) });
      else if (prompt.ids !== undefined && reply.promptIds !== undefined) {
        requireSamePrompt({ server: reply.promptIds, recorded: prompt.ids });
      }
      const { weightVersion: weights } = reply;
      if (weights) {
        this.#trajectory = { ...this.#trajectory, versions: { ...this.#trajectory.versions, weights } };
      }
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
        // the reply cannot be parsed, and is not part of the episode
        this.#history = history.prompt;
        this.#writer?.drop();
      }
      throw error;
    }
  }

  /**
   * Sets the history that is recorded.
   *
   * @throws {EnvError} if the new messages are too long; the earlier history is then recorded.
   */
  #extendHistory(history: History): void {
    for (const message of history.slice(this.#counted)) this.#characters += JSON.stringify(message).length;
    this.#counted = history.length;
    if (this.#characters > MAX_MESSAGE_CHARACTERS) {
      throw new EnvError(
        `Cannot continue episode as its messages must have at most ${MAX_MESSAGE_CHARACTERS} characters together: they have ${this.#characters}`,
      );
    }
    this.#history = history;
  }

  #recordInfo({ info }: Observation): void {
    if (info !== undefined) {
      this.#trajectory = { ...this.#trajectory, info: { ...this.#trajectory.info, ...info } };
    }
  }

  async #inEnv<T>(run: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await run();
    } finally {
      const durationMs = performance.now() - start;
      this.#envMs += durationMs;
      this.#updateLastStep({ envMs: durationMs });
    }
  }

  /** Records a step. An env that ends with a reply that was cut off has not reached a natural end. */
  #record(step: Step, { maxTurns, isCut }: { maxTurns: number; isCut: boolean }): void {
    const { toolResults } = this.#trajectory;
    const turns = this.#trajectory.turns + 1;
    const { policyVersion, blocksNotRun } = step;
    const terminated = step.terminated && !isCut;
    const truncated = step.truncated || (!terminated && (step.terminated || turns >= maxTurns));
    this.#updateLastStep({ reward: step.reward, ...(blocksNotRun && { blocksNotRun }) });
    this.#recordInfo(step);
    const recorded: Trajectory = {
      ...withReward(this.#trajectory, step),
      turns,
      terminated,
      truncated,
      ...(truncated && isCut && { cut: "length" }),
      ...(policyVersion !== undefined && { policyVersion }),
      toolResults: [...toolResults, ...step.toolResults.map((result) => toToolRecord(turns, result))],
    };
    this.#trajectory = withCutScore(recorded, this.#options.cutScore);
  }

  /** Updates the record of the last turn. */
  #updateLastStep(outcome: Partial<TurnRecord>): void {
    const record = this.#steps.pop();
    if (record !== undefined) this.#steps.push({ ...record, ...outcome });
  }
}

/** Checks that the tokens of a reply are known, as a limit of them needs. */
function requireCount({ tokens, usage }: Reply): void {
  if (tokens !== undefined || usage !== undefined) return;
  throw new PolicyError(
    "Cannot limit the tokens of the episode as the policy must count those of a reply: it did not",
  );
}

const CUT_BY_CONTEXT = { truncated: true, cut: "context" } as const;

/** Checks that the episode can continue with a reply. A message that was cut off says so. */
function checkReply(reply: Reply): Reply {
  if (!isAborted(reply)) {
    const { message } = reply;
    return {
      ...reply,
      message: parseMessage(isCutOff(reply) ? { ...message, is_complete: false } : message, 0),
    };
  }
  const detail = reply.finishMessage === undefined ? "" : `: ${reply.finishMessage}`;
  throw new PolicyError(`Cannot continue as the server aborted its reply${detail}`, { fault: "aborted" });
}

/** Returns the record of the sampled tokens. */
function sampledTokens(
  { ids, logProbs, start }: ReturnType<EpisodeWriter["reply"]>,
): NonNullable<TurnRecord["tokens"]> {
  return { ids, start, ...(logProbs && { logProbs }) };
}

/** Converts a reply to the env's action. */
function actionOf({ message, tokens }: Reply): Action {
  const history = { response: History.fromChats([message]) };
  if (tokens === undefined) return { history };
  const { ids, logProbs } = tokens;
  return { history, tokens: { response: ids, ...(logProbs && { logProbs }) } };
}
