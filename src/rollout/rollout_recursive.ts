import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { ChatEnv } from "../envs/chat_env.ts";
import type { RecursiveEnv, SubCall } from "../envs/rlm/recursive_env.ts";
import { ToolError } from "../errors.ts";
import { messageText } from "../message.ts";
import type { Policy } from "../policy/policy.ts";
import { parseTaggedReply } from "../rewards/final_reply.ts";
import { deriveSeed } from "../seeded_random.ts";
import { groupOf, type Task, type TaskInput, toTask } from "../task.ts";
import { EndOnFinalReply } from "../transforms/end_episode.ts";
import type { Transform } from "../transforms/transform.ts";
import { TransformedEnv } from "../transforms/transformed_env.ts";
import { EpisodeRun } from "./episode/episode_run.ts";
import { requireMaxTurns, ROLLOUT_OPTIONS, type RolloutOptions } from "./rollout.ts";
import { EpisodeWriter, type TokenOptions } from "./tokens/episode_writer.ts";
import { requireTrainable } from "./tokens/require_trainable.ts";
import { TOKEN_FORMAT_OPTIONS, TokenFormat } from "./tokens/token_format.ts";
import { type Trajectory, withFailure } from "./trajectory.ts";

/** Options of {@linkcode rolloutRecursive}. */
export interface RolloutRecursiveOptions extends RolloutOptions {
  /**
   * Id of the episode. A question of the code has this id with a number.
   *
   * @default a random UUID
   */
  id?: string | undefined;
}

/**
 * Plays an episode whose code asks the policy, and returns the trajectories: first the
 * episode's trajectory, then a trajectory of a single turn for each question, in order. A question has the id of the
 * episode and the asking turn as `parent`, separate tokens and loss mask, and the reward of the episode.
 *
 * Failures are recorded on the trajectories; a failure of a question is also raised in the asking code. The promise
 * rejects as in `rollout`.
 */
export async function rolloutRecursive(
  env: RecursiveEnv,
  policy: Policy,
  input: TaskInput,
  options: RolloutRecursiveOptions = {},
): Promise<Trajectory[]> {
  requireKnownOptions("call rolloutRecursive", options, { ...ROLLOUT_OPTIONS, id: true });
  const { maxTurns = 64, tokens, id = crypto.randomUUID(), onAborted, signal } = options;
  requireMaxTurns(maxTurns);
  const format = tokens && (tokens.format ?? new TokenFormat(pickKnownOptions(tokens, TOKEN_FORMAT_OPTIONS)));
  if (format !== undefined) await requireTrainable(policy, { format, signal });
  const task = toTask(input);
  const shared = { ...options, id, tokens: tokens && { ...tokens, format } };
  const questions = new Questions(policy, task, shared);
  env.answerSubCalls((call) => questions.answer(call));
  const { seed, sample, envName, cutScore, limits } = options;
  const own = { id, seed, sample, envName, cutScore, limits, signal };
  const run = new EpisodeRun(env, { policy, task, options: own, writer: writerOf(shared.tokens) });
  try {
    await run.play(maxTurns);
  } catch (error) {
    if (signal?.aborted) {
      onAborted?.(run.trajectory());
      throw error;
    }
    return questions.all(withFailure(run.trajectory(), error));
  }
  return questions.all(run.trajectory());
}

/** The questions of an episode, and their trajectories. */
class Questions {
  readonly #policy: Policy;
  readonly #task: Task;
  readonly #options: RolloutRecursiveOptions & { id: string };
  readonly #asked = new Map<number, Trajectory>();

  constructor(policy: Policy, task: Task, options: RolloutRecursiveOptions & { id: string }) {
    this.#policy = policy;
    this.#task = task;
    this.#options = options;
  }

  /** Plays a question and returns the reply without thoughts. */
  async answer({ prompt, number, turn, signal, policyVersion }: SubCall): Promise<string> {
    const { id, seed, sample, cutScore, tokens } = this.#options;
    const task = { id: `${this.#task.id}/${number}`, query: prompt, group: groupOf(this.#task) };
    await using env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply(), withVersion(policyVersion)]);
    const run = new EpisodeRun(env, {
      policy: this.#policy,
      task,
      options: {
        id: `${id}.${number}`,
        parent: { id, turn, call: number },
        seed: seed === undefined ? undefined : deriveSeed(seed, number),
        sample,
        envName: "llm_query",
        cutScore,
        signal,
      },
      writer: writerOf(tokens),
    });
    let trajectory: Trajectory;
    try {
      await run.play(1);
      trajectory = run.trajectory();
    } catch (error) {
      trajectory = withFailure(run.trajectory(), error);
    }
    this.#asked.set(number, trajectory);
    return replyOfQuestion(trajectory);
  }

  /** Returns the trajectory of the episode, and the questions' trajectories with the episode's reward. */
  all(episode: Trajectory): Trajectory[] {
    const asked = [...this.#asked].sort(([one], [other]) => one - other);
    const { reward } = episode;
    return [episode, ...asked.map(([, trajectory]) => ({ ...trajectory, reward }))];
  }
}

/** Records the version of the weights on the turn of a question, if there is a turn. */
function withVersion(policyVersion: number | string | undefined): Transform {
  const version = { ...(policyVersion !== undefined && { policyVersion }) };
  return {
    reset: (observation) => ({ ...observation, ...version }),
    step: (step) => ({ ...step, ...version }),
  };
}

function writerOf(tokens: TokenOptions | undefined): EpisodeWriter | undefined {
  return tokens && new EpisodeWriter(tokens);
}

/** Returns the reply of a question, without thoughts. @throws {ToolError} if there is no reply. */
export function replyOfQuestion({ messages, error, cut, turns }: Trajectory): string {
  if (error !== undefined) throw new ToolError(`the model gave no reply: ${error.message}`);
  const last = messages.at(-1);
  if (turns === 0 || last?.role !== "assistant") {
    throw new ToolError(`the model gave no reply${cut === undefined ? "" : `, as its ${cut} is exceeded`}`);
  }
  return parseTaggedReply(messageText(last)).visibleText.trim();
}
