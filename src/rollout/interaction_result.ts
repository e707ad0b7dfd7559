import type { EpisodeFailure } from "../episode_failure.ts";
import { type Message, messageText } from "../message.ts";
import { taskHash } from "../task_hash.ts";
import type { ToolStatus } from "../tools/tool_result.ts";
import type { Trajectory } from "./trajectory.ts";

/** Version of the format of {@linkcode InteractionResult}. It rises when older readers cannot read newer lines. */
export const INTERACTION_FORMAT = 1;

/**
 * How an episode ended: by itself, by a limit on its steps, or because something failed or it was stopped, which
 * `errors` tells.
 */
export type InteractionStatus = "completed" | "truncated" | "aborted";

/** One reply of an episode, for whoever wants to look closer than a trainer does. */
export interface InteractionTurn {
  /** From 1. */
  readonly turn: number;
  /** Where in `tokens` that which was sampled begins, and how many they are; left out where they are not known. */
  readonly sampled?: { readonly start: number; readonly length: number };
  /** Why the server stopped: `stop`, `length`, …; a reply cut off by `length` is taken as it is. */
  readonly finish_reason?: string;
  /** The stop text that ended it: what was sampled may say it though the message does not. */
  readonly stop_text?: string;
  readonly reward: number | null;
  readonly policy_ms: number;
  /** `null` when the env did not answer. */
  readonly env_ms: number | null;
}

/** One call that a reply held: the first was run, and the status of the others says why they were not. */
export interface InteractionCall {
  readonly turn: number;
  /** Which of the reply's calls it was, from 1. */
  readonly call: number;
  readonly call_id: string;
  readonly tool: string;
  readonly status: ToolStatus;
  readonly duration_ms: number;
}

/**
 * An episode as a trainer reads it: one JSON line. The fields down to `response_length` are those of slime's
 * `InteractionResult`; lengths are related by `tokens.length == prompt's tokens + response_length`.
 */
export interface InteractionResult {
  /** The first prompt, as the template writes it with tools and generation prompt. */
  readonly prompt: string;
  /** What the episode was worth; `null` when nothing scored it, which is not the same as 0. */
  readonly reward: number | null;
  readonly messages: readonly Message[];
  /** What the env told of the episode. */
  readonly info: Readonly<Record<string, unknown>>;
  /** All that the assistant said in the episode, one reply behind the other. */
  readonly response: string;
  /** For each token behind the prompt: 1 when the policy sampled it, else 0. */
  readonly loss_mask: readonly (0 | 1)[];
  /** The prompt's ids and the response's. */
  readonly tokens: readonly number[];
  readonly status: InteractionStatus;
  /** How many tokens stand behind the prompt. */
  readonly response_length: number;
  /**
   * Version of the format, which a line states.
   *
   * @default 1
   */
  readonly format?: number;
  /** For each token behind the prompt: its log-probability where it was sampled, else 0; `null` where none are known. */
  readonly log_probs: readonly number[] | null;
  /** What the reward was made of, by name; `null` for a part that was not scored or does not apply. */
  readonly reward_parts: Readonly<Record<string, number | null>>;
  readonly timings: { readonly total_ms: number; readonly policy_ms: number; readonly env_ms: number };
  /** What failed, with the boundary that it failed at. */
  readonly errors: readonly EpisodeFailure[];
  /** The task's id, which of its episodes this is, from 1, and what its chance was seeded with. */
  readonly task_id: string;
  /** Made of what the task asks and what answers it: tells apart tasks that have one id. */
  readonly task_hash: string;
  readonly sample: number;
  readonly seed?: number;
  readonly turns: readonly InteractionTurn[];
  readonly tool_calls: readonly InteractionCall[];
  /** How many prompts were not the tokens before their reply, as `rerender` let the template write them anew. */
  readonly rewritten_prompts: number;
  /** The version of the weights that sampled the last reply, where the server tells it. */
  readonly weight_version?: string;
}

/**
 * The episode as a trainer reads it.
 *
 * @throws {TypeError} when it was played without its tokens being written.
 */
export function interactionResult(trajectory: Trajectory): InteractionResult {
  const { tokens, reward, messages, info = {}, rewardParts = {}, error, times } = trajectory;
  const { task, sample, seed, versions: { weights } } = trajectory;
  if (tokens?.promptLength === undefined || tokens.promptText === undefined) {
    throw new TypeError(
      "Cannot give the result of an episode as its tokens must have been written: they were not",
    );
  }
  const { promptLength, promptText, ids, lossMask, logProbs, rewrittenPrompts = 0 } = tokens;
  const { promptMessages = 0 } = tokens;
  return {
    prompt: promptText,
    reward,
    messages,
    info,
    response: assistantText(messages.slice(promptMessages)),
    loss_mask: lossMask.slice(promptLength),
    tokens: ids,
    status: statusOf(trajectory),
    response_length: ids.length - promptLength,
    format: INTERACTION_FORMAT,
    log_probs: logProbs?.slice(promptLength) ?? null,
    reward_parts: rewardParts,
    timings: { total_ms: times.totalMs, policy_ms: times.policyMs, env_ms: times.envMs },
    errors: error === undefined ? [] : [error],
    task_id: task.id,
    task_hash: taskHash(task),
    sample,
    ...(seed !== undefined && { seed }),
    turns: trajectory.steps.map((step) => turnOf(step, ids.length)),
    tool_calls: trajectory.toolResults.map(callOf),
    rewritten_prompts: rewrittenPrompts,
    ...(weights !== undefined && { weight_version: weights }),
  };
}

function statusOf({ error, terminated, truncated }: Trajectory): InteractionStatus {
  if (error !== undefined) return "aborted";
  return terminated ? "completed" : truncated ? "truncated" : "aborted";
}

function assistantText(messages: readonly Message[]): string {
  return messages.filter(({ role }) => role === "assistant").map(messageText).join("");
}

/** A turn of an episode with so many tokens; a reply that counts as not said has no place among them. */
function turnOf(
  { turn, tokens, finishReason, stopText, reward, policyMs, envMs }: Trajectory["steps"][number],
  length: number,
) {
  const { start = Infinity, ids = [] } = tokens ?? {};
  return {
    turn,
    ...(start + ids.length <= length && { sampled: { start, length: ids.length } }),
    ...(finishReason !== undefined && { finish_reason: finishReason }),
    ...(stopText !== undefined && { stop_text: stopText }),
    reward,
    policy_ms: policyMs,
    env_ms: envMs,
  };
}

function callOf({ turn, call, callId, tool, status, durationMs }: Trajectory["toolResults"][number]) {
  return { turn, call, call_id: callId, tool, status, duration_ms: durationMs };
}
