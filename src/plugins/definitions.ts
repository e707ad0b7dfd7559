import type { Message, ToolSpec } from "../message.ts";
import type { RecordedChat, Reply } from "../policy/policy.ts";
import type { Task } from "../task.ts";
import type { Score } from "../rewards/grader.ts";
import type { CodeCall, ToolStatus } from "../tools/tool_result.ts";

// A file that runs in its own process imports this module in place of the package, so it must import types only.

/** Second argument of each function of a definition. */
export interface PluginContext {
  /** Aborted when the call exceeds its time limit or is cancelled. */
  readonly signal: AbortSignal;
}

/** A task as plain data. */
export type PluginTask = Omit<Task, "query"> & { readonly query: string | readonly Message[] };

/** Input of a grader in its own file. */
export interface GraderInput {
  /** Text of the last assistant message; empty if there is none. */
  readonly completion: string;
  /** The task's answer. */
  readonly answer?: string;
  readonly task: PluginTask;
  /** The whole conversation, without the assistant's separate reasoning. */
  readonly messages: readonly Message[];
  /** Calls of tools that the code of the episode made, in their order. */
  readonly codeCalls?: readonly CodeCall[];
}

/** A grader in its own file: the default export of the file of `--grader`. */
export interface GraderDefinition {
  /**
   * Name of the score in rewards.
   * @default the file name without its extension
   */
  readonly name?: string;
  /** Returns the score, usually from 0 to 1; `null` if no score can be computed, which is different from 0. */
  grade(input: GraderInput, context: PluginContext): Score | number | null | Promise<Score | number | null>;
}

/**
 * Returns a definition unchanged, with checked types.
 *
 * @example A file for `--grader ./my_grader.ts`
 * ```ts
 * import { defineGrader } from "@paddock/paddock/rewards";
 *
 * export default defineGrader({
 *   name: "short_answer",
 *   grade: ({ completion, answer }) => answer !== undefined && completion.includes(answer) ? 1 : 0,
 * });
 * ```
 */
export function defineGrader(definition: GraderDefinition): GraderDefinition {
  return definition;
}

/** Input of a policy in its own file. */
export interface PolicyInput {
  /** The conversation so far, without the assistant's separate reasoning. */
  readonly messages: readonly Message[];
  /** The task, without answer and `fields`. */
  readonly task: Omit<PluginTask, "answer" | "fields" | "group">;
  /** Tools that the policy may call. */
  readonly tools: readonly ToolSpec[];
  /** The prompt as text, if the env renders the prompt. */
  readonly text?: string;
  /** The prompt as token ids, if the env encodes the prompt. */
  readonly tokens?: readonly number[];
  /**
   * The chat in the form that is recorded for a trainer. If present, the reply needs `tokens` and `promptIds` of a server.
   */
  readonly recordedChat?: RecordedChat;
  readonly model?: string;
  readonly temperature?: number;
  /** Maximum number of tokens of this reply. */
  readonly maxTokens?: number;
  readonly seed?: number;
}

/** A policy in its own file: the default export of the file of `--policy`. */
export interface PolicyDefinition {
  /**
   * Name of the policy in trajectories.
   * @default the file name without its extension
   */
  readonly name?: string;
  /** Returns the assistant's next message, or only the text. */
  reply(input: PolicyInput, context: PluginContext): Reply | string | Promise<Reply | string>;
}

/**
 * Returns a definition unchanged, with checked types.
 *
 * @example A file for `--policy ./my_policy.ts`
 * ```ts
 * import { definePolicy } from "@paddock/paddock/rollout";
 *
 * export default definePolicy({
 *   name: "echo",
 *   reply: ({ messages }) => `You wrote: ${messages.at(-1)?.content}`,
 * });
 * ```
 */
export function definePolicy(definition: PolicyDefinition): PolicyDefinition {
  return definition;
}

/** Input of a transform's `task`. */
export interface TaskHookInput {
  readonly task: PluginTask;
  readonly seed?: number;
}

/** Input of a transform's `step`. */
export interface StepHookInput {
  readonly task: PluginTask;
  /** Number of the step, from 1. */
  readonly turn: number;
  /** The conversation up to the policy's reply, without separate reasoning. */
  readonly messages: readonly Message[];
  /** Messages that answer the reply: results of tool calls and Python blocks. */
  readonly results: readonly { readonly role: string; readonly text: string }[];
  /** The calls behind them, in order. */
  readonly calls: readonly {
    readonly tool: string;
    readonly status: ToolStatus;
    /** Text of the result before truncation. */
    readonly text: string;
    readonly durationMs: number;
  }[];
}

/** Result of a transform's `step`. */
export interface StepHookResult {
  /** New texts of all `results`, in order. */
  readonly results?: readonly string[];
  /** True to end the episode after this step. */
  readonly end?: boolean;
}

/** Input of a transform's `reward`. */
export interface RewardHookInput {
  readonly task: PluginTask;
  /** Number of the last step, from 1. */
  readonly turn: number;
  /** The whole conversation, without the assistant's separate reasoning. */
  readonly messages: readonly Message[];
  /** The reward so far; `null` if the episode is not scored. */
  readonly reward: number | null;
  readonly rewardParts: Readonly<Record<string, number | null>>;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** Result of a transform's `reward`: the new reward, with parts that are recorded and not added up. */
export type RewardHookResult = number | {
  readonly reward: number | null;
  readonly parts?: Readonly<Record<string, number | null>>;
};

/** The result of a hook, or nothing if the hook changes nothing. */
type HookResult<Result> = Result | null | undefined | void | Promise<Result | null | undefined | void>;

/**
 * A transform in its own file: the default export of the file of `--transform`. A definition has at least one function. A
 * function that returns nothing changes nothing.
 */
export interface TransformDefinition {
  /**
   * Name of the transform's part of rewards.
   * @default the file name without its extension
   */
  readonly name?: string;
  /** Called before an episode starts. Returns the text of another query. */
  task?(input: TaskHookInput, context: PluginContext): HookResult<{ readonly query: string }>;
  /** Called after each reply, when all tool calls and Python blocks have run. */
  step?(input: StepHookInput, context: PluginContext): HookResult<StepHookResult>;
  /** Called once when the episode has ended and is graded. */
  reward?(input: RewardHookInput, context: PluginContext): HookResult<RewardHookResult>;
}

/**
 * Returns a definition unchanged, with checked types.
 *
 * @example A file for `--transform ./my_transform.ts`
 * ```ts
 * import { defineTransform } from "@paddock/paddock/transforms";
 *
 * export default defineTransform({
 *   step: ({ results }) => ({ results: results.map(({ text }) => text.slice(0, 1_000)) }),
 * });
 * ```
 */
export function defineTransform(definition: TransformDefinition): TransformDefinition {
  return definition;
}

/** Second argument of each function of an env. */
export interface EnvContext extends PluginContext {
  /** Plain data of the episode, empty at `reset`. Later functions see the changes of earlier functions. */
  readonly state: Record<string, unknown>;
}

/** Input of an env's `reset`. */
export interface EnvResetInput {
  readonly task: PluginTask;
  readonly seed?: number;
}

/** Input of an env's `step`. */
export interface EnvStepInput {
  readonly task: PluginTask;
  /** Text of the policy's reply. */
  readonly reply: string;
  /** The conversation with the reply, without separate reasoning. */
  readonly messages: readonly Message[];
  /** Number of the step, from 1. */
  readonly turn: number;
}

/** Result of an env's `step`. */
export interface EnvStepResult {
  /** Text of the user's next message. */
  readonly message?: string | null;
  /** Reward of this step. The reward of an episode is the sum of the rewards of all steps and of `reward`. */
  readonly reward?: number | null;
  /** True to end the episode. @default true without a `message` */
  readonly done?: boolean;
  /** Parts of the reward by name. They are recorded and not added up. */
  readonly parts?: Readonly<Record<string, number | null>>;
}

/** A tool of an env. */
export interface EnvTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of the arguments, which are checked before `run`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Returns text or another value of JSON. The model reads the message of a thrown error. */
  run(args: Record<string, unknown>, context: EnvContext): unknown;
}

/** An env in its own file: the default export of the file of `--env`. A definition has at least a function or a tool. */
export interface EnvDefinition {
  /**
   * Name of the env in trajectories, and of the env's reward.
   * @default the file name without its extension
   */
  readonly name?: string;
  /** System message of tasks that have none. */
  readonly system?: string;
  /** True if Python blocks of replies run in the sandbox. @default false */
  readonly python?: boolean;
  /** Tools that the policy may call. */
  readonly tools?: readonly EnvTool[];
  /** Called when an episode starts. Returns another query, as text or messages, or nothing. */
  reset?(
    input: EnvResetInput,
    context: EnvContext,
  ): HookResult<string | readonly { readonly role: string; readonly content: string }[]>;
  /**
   * Called after each reply that called no tool and ran no code. Returns the user's next message, or nothing to end the
   * episode. Without this function, such a reply ends the episode.
   */
  step?(input: EnvStepInput, context: EnvContext): HookResult<string | EnvStepResult>;
  /** Scores an episode at the end, as a grader does. */
  reward?(
    input: GraderInput,
    context: EnvContext,
  ): Score | number | null | Promise<Score | number | null>;
}

/**
 * Returns a definition unchanged, with checked types.
 *
 * @example A file for `--env ./my_env.ts`
 * ```ts
 * import { defineEnv } from "@paddock/paddock/envs";
 *
 * export default defineEnv({
 *   system: "Guess a number from 1 to 9.",
 *   step: ({ reply, task }) => reply.trim() === task.answer ? null : "Wrong. Guess again.",
 *   reward: ({ completion, answer }) => completion.trim() === answer ? 1 : 0,
 * });
 * ```
 */
export function defineEnv(definition: EnvDefinition): EnvDefinition {
  return definition;
}
