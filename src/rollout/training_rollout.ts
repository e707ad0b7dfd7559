import type { Tokenizer } from "../chat/tokenizer.ts";
import type { Env } from "../envs/env.ts";
import { ToolUserChat, toolUserTask } from "../envs/tool_user_chat.ts";
import { isToolUserEnv, type ToolUserEnv } from "../envs/tool_user_env.ts";
import type { Policy } from "../policy/policy.ts";
import type { Task } from "../task.ts";
import { qwen25Calls } from "../tools/qwen25_calls.ts";
import type { ToolCallParser } from "../tools/tool_call_parser.ts";
import { EpisodeRun } from "./episode_run.ts";
import { type InteractionResult, interactionResult } from "./interaction_result.ts";
import { oneCallInstruction } from "./one_call_instruction.ts";
import { resumedPolicy } from "./resumed_policy.ts";
import { EpisodeWriter, type TokenMode, type TokenOptions } from "./tokens/episode_writer.ts";
import { withFailure } from "./trajectory.ts";

/** How {@linkcode trainingRollout} plays, and how it writes tokens. */
export interface TrainingRolloutOptions extends Omit<TokenOptions, "tokenizer" | "mode"> {
  /** What is played, where the env is played by tasks. */
  task?: Task | undefined;
  /** Which of its tasks is played, where the env is one with tools and a user; 0 unless given. */
  taskIndex?: number | undefined;
  /** Replies that the episode may take; 30 unless given. With 0 it ends behind the prompt. */
  maxSteps?: number | undefined;
  /** `append` unless given. */
  tokenMode?: TokenMode | undefined;
  /** How calls are written, for an env with tools and a user; as Qwen 2.5 does unless given. */
  toolCalls?: ToolCallParser | undefined;
  /** An episode that was saved before its end: it is played again up to there, and goes on. */
  resume?: InteractionResult | undefined;
  /** Goes to the env's reset and to the policy. */
  seed?: number | undefined;
  /** Which of the task's episodes it is, from 1; it is written down. */
  sample?: number | undefined;
  /** Ends the episode: what there is of it is given, with the status `aborted`. */
  signal?: AbortSignal | undefined;
}

/** Replies that an episode may take unless told otherwise: slime's number. */
const MAX_STEPS = 30;

/**
 * Plays one episode to its end and gives what a trainer needs of it: tokens, loss mask, log-probabilities where
 * the policy's server gives them, messages and reward. The env is reset first, and stays the caller's.
 *
 * Whatever happens on the way, it resolves: what failed is in `errors`, and what was played before is there.
 *
 * @throws {TypeError} before anything starts when there is no task to play, or no tokenizer.
 * @throws {RangeError} before anything starts when `maxSteps` is below 0, or mode or template have no such name.
 * @throws {SyntaxError} before anything starts when the template is no Jinja.
 */
export async function trainingRollout(
  env: Env | ToolUserEnv,
  policy: Policy,
  tokenizer: Tokenizer,
  options: TrainingRolloutOptions = {},
): Promise<InteractionResult> {
  const { maxSteps = MAX_STEPS, tokenMode: mode, resume, signal } = options;
  requireMaxSteps(maxSteps);
  const writer = new EpisodeWriter({ ...options, ...editOf(env, options), tokenizer, mode });
  const played = resume === undefined ? policy : resumedPolicy(resume, policy);
  const game = { policy: played, task: taskOf(env, options), options, writer };
  const episode = new EpisodeRun(chatOf(env, options), game);
  try {
    await episode.play(maxSteps);
  } catch (error) {
    if (!signal?.aborted) return interactionResult(withFailure(episode.trajectory(), error));
  }
  return interactionResult(episode.trajectory());
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
  if (task !== undefined) return task;
  throw new TypeError("Cannot roll out for training as 'task' must be given: it is missing");
}

/** Envs with tools and a user allow one call in a reply, and the prompt says so unless told otherwise. */
function editOf(
  env: Env | ToolUserEnv,
  { editPrompt }: TrainingRolloutOptions,
): Pick<TokenOptions, "editPrompt"> {
  return { editPrompt: editPrompt ?? (isToolUserEnv(env) ? oneCallInstruction : undefined) };
}
