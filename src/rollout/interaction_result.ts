import { createHash } from "node:crypto";
import * as z from "zod";
import { formatVersion } from "../format_version.ts";
import { toWellFormedJson } from "../json.ts";
import { type Message, messageText } from "../message.ts";
import type { Task } from "../task.ts";
import type { CodeCall } from "../tools/tool_result.ts";
import type {
  InteractionCodeCall,
  InteractionResult,
  InteractionStatus,
  InteractionTurn,
} from "./interaction.ts";
import { groupOfEpisode, identityOf, type Trajectory } from "./trajectory.ts";
import { blocksNotRunSchema, branchOrigin, chatSchema, describeIssues } from "./trajectory_schema.ts";

/**
 * Version of the format of {@linkcode InteractionResult}. The version rises when older readers cannot read newer lines.
 */
export const INTERACTION_FORMAT = 1;

export type {
  EpisodeCut,
  InteractionCall,
  InteractionCodeCall,
  InteractionResult,
  InteractionStatus,
  InteractionTurn,
} from "./interaction.ts";

/**
 * Converts a trajectory to an episode for a trainer.
 *
 * @throws {TypeError} if the trajectory has no tokens.
 */
export function toInteractionResult(trajectory: Trajectory): InteractionResult {
  const { tokens, reward, messages, info = {}, rewardParts = {}, error, times } = trajectory;
  const { task, cut, versions: { weights } } = trajectory;
  if (tokens?.promptLength === undefined || tokens.promptText === undefined) {
    throw new TypeError(
      "Cannot convert trajectory to an interaction result as it has no tokens: set the option 'tokens' of rollout()",
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
    ...(cut !== undefined && { cut }),
    response_length: ids.length - promptLength,
    format: INTERACTION_FORMAT,
    log_probs: logProbs?.slice(promptLength) ?? null,
    reward_parts: rewardParts,
    timings: { total_ms: times.totalMs, policy_ms: times.policyMs, env_ms: times.envMs },
    errors: error === undefined ? [] : [error],
    task_id: task.id,
    task_hash: hashTask(task),
    group: groupOfEpisode(trajectory),
    ...identityOf(trajectory),
    turns: trajectory.steps.map((step) => turnOf(step, ids.length)),
    tool_calls: trajectory.toolResults.map(callOf),
    rewritten_prompts: rewrittenPrompts,
    ...(weights !== undefined && { weight_version: weights }),
    ...(trajectory.timeScale !== undefined && { time_scale: trajectory.timeScale }),
  };
}

function statusOf({ error, terminated, truncated }: Trajectory): InteractionStatus {
  if (error !== undefined) return "aborted";
  return terminated ? "completed" : truncated ? "truncated" : "aborted";
}

function assistantText(messages: readonly Message[]): string {
  return messages.filter(({ role }) => role === "assistant").map(messageText).join("");
}

/** Converts a turn of an episode with `length` tokens. The tokens of a dropped reply are not among them. */
function turnOf(step: Trajectory["steps"][number], length: number): InteractionTurn {
  const { turn, tokens, finishReason, stopText, weightVersion, policyVersion } = step;
  const { reward, policyMs, envMs, blocksNotRun } = step;
  const { start = Infinity, ids = [] } = tokens ?? {};
  return {
    turn,
    ...(start + ids.length <= length && { sampled: { start, length: ids.length } }),
    ...(finishReason !== undefined && { finish_reason: finishReason }),
    ...(stopText !== undefined && { stop_text: stopText }),
    ...(weightVersion !== undefined && { weight_version: weightVersion }),
    ...(policyVersion !== undefined && { policy_version: policyVersion }),
    reward,
    ...(blocksNotRun && { blocks_not_run: blocksNotRun }),
    policy_ms: policyMs,
    env_ms: envMs,
  };
}

function callOf(record: Trajectory["toolResults"][number]) {
  const { turn, call, callId, tool, status, durationMs, peakMemoryBytes, digest, inexact, calls } = record;
  return {
    turn,
    call,
    call_id: callId,
    tool,
    status,
    duration_ms: durationMs,
    ...(peakMemoryBytes !== undefined && { peak_memory_bytes: peakMemoryBytes }),
    ...(digest !== undefined && { digest }),
    ...(inexact && { inexact }),
    ...(calls && { calls: calls.map(codeCallOf) }),
  };
}

/** Converts a call of code. The rows of `--out` also have the arguments and the result. */
function codeCallOf({ call, callId, tool, status, durationMs }: CodeCall): InteractionCodeCall {
  return { call, call_id: callId, tool, status, duration_ms: durationMs };
}

const count = z.int().min(0);
const scores = z.record(z.string(), z.number().nullable());

const turn = z.looseObject({
  turn: count,
  sampled: z.object({ start: count, length: count }).optional(),
  finish_reason: z.string().optional(),
  stop_text: z.string().optional(),
  blocks_not_run: z.optional(blocksNotRunSchema),
  weight_version: z.string().optional(),
  reward: z.number().nullable(),
});

/** Schema of a line for a trainer. Further keys are kept. */
export const interactionSchema: z.core.$ZodType = z.looseObject({
  prompt: z.string(),
  reward: z.number().nullable(),
  messages: chatSchema,
  info: z.record(z.string(), z.unknown()),
  response: z.string(),
  loss_mask: z.array(z.union([z.literal(0), z.literal(1)])),
  tokens: z.array(z.int()),
  status: z.enum(["completed", "truncated", "aborted"]),
  cut: z.string().optional(),
  response_length: count,
  format: formatVersion(INTERACTION_FORMAT),
  log_probs: z.array(z.number()).nullable(),
  reward_parts: scores,
  errors: z.array(z.looseObject({ boundary: z.string(), name: z.string(), message: z.string() })),
  task_id: z.string(),
  task_hash: z.string(),
  group: z.string().optional(),
  sample: z.int().min(1),
  seed: z.int().optional(),
  id: z.string().optional(),
  parent: z.optional(branchOrigin),
  turns: z.array(turn),
}).superRefine(({ loss_mask, tokens, response_length, log_probs, turns }, context) => {
  const lengths = [loss_mask.length, ...log_probs ? [log_probs.length] : []];
  if (lengths.some((length) => length !== response_length) || response_length > tokens.length) {
    context.addIssue({
      code: "custom",
      message: `'loss_mask' and 'log_probs' must have ${response_length} items: they have ${
        lengths.join(", ")
      }`,
    });
  }
  const outside = turns.find(({ sampled: { start, length } = { start: 0, length: 0 } }) =>
    start + length > tokens.length
  );
  if (outside !== undefined) {
    context.addIssue({
      code: "custom",
      message: `turn ${outside.turn} must be within 'tokens': it ends after token ${tokens.length}`,
    });
  }
});

/**
 * Parses the value of a line as an episode for a trainer, for example to resume the episode.
 *
 * @throws {SyntaxError} if the value is invalid; the message is only the list of issues.
 */
export function parseInteraction(value: unknown): InteractionResult {
  const parsed = z.safeParse(interactionSchema, value);
  // Unknown values of newer versions, such as another call status, are accepted: they are displayed, not acted upon.
  if (parsed.success) return parsed.data as unknown as InteractionResult;
  throw new SyntaxError(describeIssues(parsed.error));
}

/**
 * Returns a hash (SHA-256, base64url) of a task's query and answer. The hash distinguishes tasks with the same id.
 */
export function hashTask({ query, answer }: Task): string {
  const json = toWellFormedJson([typeof query === "string" ? query : [...query], answer]);
  return createHash("sha256").update(json).digest("base64url");
}
