import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import type { Env } from "../envs/env.ts";
import { ToolUserChat, toolUserTask } from "../envs/tool_user_chat.ts";
import { isToolUserEnv, type ToolUserEnv } from "../envs/tool_user_env.ts";
import type { Policy } from "../policy/policy.ts";
import { type Task, type TaskInput, toTask } from "../task.ts";
import { qwen25Calls } from "../tools/parsers/qwen25_calls.ts";
import type { ToolCallParser } from "../tools/parsers/tool_call_parser.ts";
import { EpisodeRun } from "./episode/episode_run.ts";
import type { CutScore } from "./episode/episode_score.ts";
import { type InteractionResult, toInteractionResult } from "./interaction_result.ts";
import { resumedPolicy } from "./resumed_policy.ts";
import { EPISODE_TOKEN_OPTIONS, EpisodeWriter, type TokenOptions } from "./tokens/episode_writer.ts";
import { requireTrainable } from "./tokens/require_trainable.ts";
import { TOKEN_FORMAT_OPTIONS, TokenFormat } from "./tokens/token_format.ts";
import type { TokenMode } from "./tokens/turn_writers.ts";
import { withFailure } from "./trajectory.ts";

/** Options of {@linkcode trainingRollout}. */
export interface TrainingRolloutOptions extends Omit<TokenOptions, "tokenizer" | "mode"> {
  /** Task to play. Required unless the env is a `ToolUserEnv`. */
  task?: TaskInput | undefined;
  /**
   * Index of the task to play, for a `ToolUserEnv`.
   *
   * @default 0
   */
  taskIndex?: number | undefined;
  /**
   * Maximum number of replies. With 0 the episode ends after the prompt.
   *
   * @default 30
   */
  maxSteps?: number | undefined;
  /**
   * Mode of writing tokens.
   *
   * @default "append"
   */
  tokenMode?: TokenMode | undefined;
  /**
   * Parser of tool calls, for a `ToolUserEnv`.
   *
   * @default `qwen25Calls()`
   */
  toolCalls?: ToolCallParser | undefined;
  /** Saved partial episode, which is replayed and then continued. */
  resume?: InteractionResult | undefined;
  /** Seed for the env's reset and the policy. */
  seed?: number | undefined;
  /**
   * Number of the episode among the task's episodes, from 1. The result records the number.
   *
   * @default 1
   */
  sample?: number | undefined;
  /**
   * Score of an episode that a limit of tokens cut off, as for {@linkcode rollout}.
   *
   * @default "grade"
   */
  cutScore?: CutScore | undefined;
  /** Ends the episode. The partial result is returned with the status `aborted`. */
  signal?: AbortSignal | undefined;
}

/** Default maximum number of replies, as in slime. */
const MAX_STEPS = 30;

/**
 * Plays an episode to the end and returns the data for a trainer: tokens, loss mask, log-probabilities if the policy's
 * server gives them, messages and reward. Resets the env first, and does not dispose the env.
 *
 * Failures do not reject: they are in `errors`, beside the earlier part of the episode.
 *
 * @example
 * ```ts ignore
 * import { ChatEnv, EndOnFinalReply, loadTokenizer, sglangPolicy } from "@paddock/paddock";
 * import { trainingRollout, TransformedEnv } from "@paddock/paddock";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply()]);
 * const policy = sglangPolicy({ url: "http://localhost:30000" });
 * const tokenizer = await loadTokenizer("Qwen3-8B");
 * const { tokens, loss_mask } = await trainingRollout(env, policy, tokenizer, {
 *   task: { id: "sum", query: "What is 2 + 2?" },
 * });
 * ```
 *
 * Tokens are exactly the tokens that the model got and sampled. A policy that uses a server must therefore return token
 * ids: `sglangPolicy`, or `openaiPolicy` with vLLM or SGLang. See `docs/trainers.md`.
 *
 * @throws {TypeError} before anything starts, if the task or the tokenizer is missing, or if the policy's server returns
 * no token ids.
 * @throws {RangeError} before anything starts, if `maxSteps` is below 0, or the mode or the template is unknown.
 * @throws {SyntaxError} before anything starts, if the template is not valid Jinja.
 */
export async function trainingRollout(
  env: Env | ToolUserEnv,
  policy: Policy,
  tokenizer: Tokenizer,
  options: TrainingRolloutOptions = {},
): Promise<InteractionResult> {
  requireKnownOptions("call trainingRollout", options, OPTIONS);
  const { maxSteps = MAX_STEPS, tokenMode: mode, resume, signal } = options;
  requireMaxSteps(maxSteps);
  const { format = new TokenFormat({ ...pickKnownOptions(options, TOKEN_FORMAT_OPTIONS), tokenizer }) } =
    options;
  const writer = new EpisodeWriter({ ...options, ...editOf(env, options), tokenizer, mode, format });
  const replayingPolicy = resume === undefined ? policy : resumedPolicy(resume, policy);
  const setup = { policy: replayingPolicy, task: taskOf(env, options), options, writer };
  const episode = new EpisodeRun(chatOf(env, options), setup);
  await requireTrainable(policy, { format, signal });
  try {
    await episode.play(maxSteps);
  } catch (error) {
    if (!signal?.aborted) return toInteractionResult(withFailure(episode.trajectory(), error));
  }
  return toInteractionResult(episode.trajectory());
}

function requireMaxSteps(maxSteps: number): void {
  if (maxSteps >= 0) return;
  throw new RangeError(
    `Cannot roll out for training as 'maxSteps' must be >= 0: current value is ${maxSteps}`,
  );
}

function chatOf(env: Env | ToolUserEnv, { toolCalls = qwen25Calls() }: TrainingRolloutOptions): Env {
  return isToolUserEnv(env) ? new ToolUserChat(env, { toolCalls }) : env;
}

function taskOf(env: Env | ToolUserEnv, { task, taskIndex = 0 }: TrainingRolloutOptions): Task {
  if (isToolUserEnv(env)) return toolUserTask(env, taskIndex);
  if (task !== undefined) return toTask(task);
  throw new TypeError("Cannot roll out for training as 'task' must be given: it is missing");
}

/** By default, the prompt of a `ToolUserEnv` tells the policy to make a single call per reply. */
function editOf(
  env: Env | ToolUserEnv,
  { editPrompt }: TrainingRolloutOptions,
): Pick<TokenOptions, "editPrompt"> {
  return { editPrompt: editPrompt ?? (isToolUserEnv(env) ? limitToOneCall : undefined) };
}

/** Sentence of Qwen's chat templates about tool calls. */
const MANY_CALLS = "You may call one or more functions to assist with the user query.";

/** Replacement by slime's tau-bench agent, word for word. */
const ONE_CALL =
  " At each turn, you are allowed to call one or no function to assist with task execution using " +
  "<tools></tools> XML tags.\n" +
  "YOU MUST EXECUTE TOOLS TO MAKE ANY MODIFICATIONS OR CANCELLATIONS. " +
  "Each tool call leads to a message returned by the system.\n" +
  "NEVER confirm execution to the user without seeing confirmation from the tool system.\n";

/** Changes a prompt that allows several calls per reply to allow a single call. Other prompts stay unchanged. */
export function limitToOneCall(prompt: string): string {
  return prompt.replaceAll(MANY_CALLS, ONE_CALL);
}

const { mode: _tokenMode, ...TOKEN_OPTIONS } = EPISODE_TOKEN_OPTIONS;

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof TrainingRolloutOptions, true>> = {
  ...TOKEN_OPTIONS,
  task: true,
  taskIndex: true,
  maxSteps: true,
  tokenMode: true,
  toolCalls: true,
  resume: true,
  seed: true,
  sample: true,
  cutScore: true,
  signal: true,
};
