import type { EpisodeFailure } from "../errors.ts";
import type { Message } from "../message.ts";
import type { BlocksNotRun } from "../tools/code_blocks/blocks_not_run.ts";
import type { ToolStatus } from "../tools/tool_result.ts";

// Types only, so that a program with the client is checked without the schemas of the rows.

/**
 * End of an episode: by itself, by a limit on its steps, or by a failure or a stop, which `errors` describes.
 */
export type InteractionStatus = "completed" | "truncated" | "aborted";

/**
 * Limit of tokens that cut an episode off: the maximum `length` of the last reply, or the `context` of the model, which
 * could not hold the next prompt.
 */
export type EpisodeCut = "length" | "context";

/** A reply of an episode, with details that a trainer does not need. */
export interface InteractionTurn {
  /** Number of the turn, from 1. */
  readonly turn: number;
  /** Position of the sampled tokens in `tokens`; left out if unknown. */
  readonly sampled?: { readonly start: number; readonly length: number };
  /** Reason why the server stopped: `stop`, `length`, …. */
  readonly finish_reason?: string;
  /** Stop text that ended the reply. The sampled tokens may contain the stop text although the message does not. */
  readonly stop_text?: string;
  /** Version of the weights that sampled the reply, if the server reports a version. */
  readonly weight_version?: string;
  /** Version of the policy when the reply was requested, if the env tracks versions. */
  readonly policy_version?: number | string;
  readonly reward: number | null;
  /** Code blocks of the reply that the interpreter did not run; left out if there are none. */
  readonly blocks_not_run?: readonly BlocksNotRun[];
  /** Milliseconds of waiting for the policy. */
  readonly policy_ms: number;
  /** Milliseconds in the env; `null` if the env did not respond. */
  readonly env_ms: number | null;
}

/** A tool call of a reply. Some envs run only the first; the status of the others says why they were not run. */
export interface InteractionCall {
  readonly turn: number;
  /** Number of the call in the reply, from 1. */
  readonly call: number;
  readonly call_id: string;
  readonly tool: string;
  readonly status: ToolStatus;
  readonly duration_ms: number;
  /** Peak size of the interpreter's heap until the end of the call, in bytes, if the tool has an interpreter. */
  readonly peak_memory_bytes?: number;
  /** Digest of the exec, with a virtual clock. */
  readonly digest?: string;
  /** True if the result depends on the machine, although the clock is virtual. */
  readonly inexact?: true;
  /** Calls of tools that the code of a block made; left out if there were none. */
  readonly calls?: readonly InteractionCodeCall[];
}

/** A call of a tool by the code of a block. The row of `--out` also has the arguments and the result. */
export interface InteractionCodeCall {
  /** Number of the call in the block, from 1. */
  readonly call: number;
  readonly call_id: string;
  readonly tool: string;
  readonly status: ToolStatus;
  readonly duration_ms: number;
}

/**
 * An episode for a trainer: a JSON line. The fields up to `response_length` are the fields of slime's
 * `InteractionResult`. `tokens.length` is the number of prompt tokens plus `response_length`.
 */
export interface InteractionResult {
  /** First prompt as text, with tools and generation prompt. */
  readonly prompt: string;
  /** Reward of the episode; `null` without a score, which is not the same as 0. */
  readonly reward: number | null;
  readonly messages: readonly Message[];
  /** Further data of the env about the episode. */
  readonly info: Readonly<Record<string, unknown>>;
  /** Text of all the assistant's replies in the episode, concatenated. */
  readonly response: string;
  /** For each token after the prompt: 1 if the policy sampled it, else 0. */
  readonly loss_mask: readonly (0 | 1)[];
  /** Token ids of the prompt and the response. */
  readonly tokens: readonly number[];
  readonly status: InteractionStatus;
  /** Limit of tokens that cut the episode off. The status is then `truncated`, and no token ends the last reply. */
  readonly cut?: EpisodeCut;
  /** Number of tokens after the prompt. */
  readonly response_length: number;
  /**
   * Version of the format, which a line states.
   *
   * @default 1
   */
  readonly format?: number;
  /** For each token after the prompt: the log-probability of a sampled token, else 0; `null` if none are known. */
  readonly log_probs: readonly number[] | null;
  /** Parts of the reward by name; `null` for a part that was not scored or does not apply. */
  readonly reward_parts: Readonly<Record<string, number | null>>;
  readonly timings: { readonly total_ms: number; readonly policy_ms: number; readonly env_ms: number };
  /** Failures, each with a boundary. */
  readonly errors: readonly EpisodeFailure[];
  /** Id of the task. */
  readonly task_id: string;
  /** Hash of the task's query and answer, which distinguishes tasks with the same id. */
  readonly task_hash: string;
  /** Id of the episode's group, whose rewards a trainer compares with each other; older lines have no group. */
  readonly group?: string;
  /** Number of the episode among the task's episodes, from 1. */
  readonly sample: number;
  /** Seed of the episode's randomness. */
  readonly seed?: number;
  /** Id of the episode, if the episode belongs to a tree. */
  readonly id?: string;
  /**
   * Episode of the tree from which this episode branches, and this episode's first own turn; or the episode whose code has
   * asked the question that this episode answers, the turn, and the number of the question.
   */
  readonly parent?: { readonly id: string; readonly turn: number; readonly call?: number };
  readonly turns: readonly InteractionTurn[];
  readonly tool_calls: readonly InteractionCall[];
  /** Number of prompts that differ from the tokens before their reply, because the template rewrote them (`rerender`). */
  readonly rewritten_prompts: number;
  /** Factor of the limits of time of programs and of the grade, if the run had a factor. */
  readonly time_scale?: number;
  /** Version of the weights that sampled the last reply, if the server reports a version. */
  readonly weight_version?: string;
}
