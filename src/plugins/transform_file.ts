import { requireKnownOptions } from "../options.ts";
import * as z from "zod";
import type { Step } from "../envs/env.ts";
import { EnvError } from "../errors.ts";
import { type Message, messageText } from "../message.ts";
import type { Task } from "../task.ts";
import type { Transform, TransformContext } from "../transforms/transform.ts";
import type { RewardHookInput, StepHookInput, TaskHookInput } from "./definitions.ts";
import {
  plainMessages,
  plainTask,
  PLUGIN_FILE_OPTIONS,
  type PluginFileOptions,
  PluginHost,
  type PluginKind,
} from "./plugin_host.ts";

/** The two transforms of a file, for a single env. */
export interface FileTransforms {
  /**
   * Runs `task` and `step`. Append this transform after the tools, and before transforms that tokenize, end or grade
   * episodes.
   */
  readonly step: Transform;
  /** Runs `reward`. Append this transform after the transforms that grade. */
  readonly reward: Transform;
}

/** A transform that runs in a separate process. Disposing the transform ends the process; envs do not end the process. */
export interface TransformFile extends AsyncDisposable {
  readonly name: string;
  /** Returns the transforms for an env. */
  makeTransforms(): FileTransforms;
}

const TRANSFORM: PluginKind = {
  noun: "transform",
  helper: "defineTransform",
  hooks: ["task", "step", "reward"],
  needsResult: false,
  maxResultBytes: 16 * 1024 * 1024,
  defaultTimeoutMs: 10_000,
  toError: (message, { cause }) => new EnvError(message, { cause }),
};
const MAX_PARTS = 100;

const taskSchema = z.union([z.null(), z.strictObject({ query: z.string() })]);
const stepSchema = z.union([
  z.null(),
  z.strictObject({ results: z.array(z.string()).optional(), end: z.boolean().optional() }),
]);
const rewardSchema = z.union([
  z.null(),
  z.number().transform((reward) => ({ reward, parts: undefined })),
  z.strictObject({
    reward: z.number().nullable(),
    parts: z.record(z.string().max(200), z.number().nullable())
      .refine((parts) => Object.keys(parts).length <= MAX_PARTS).optional(),
  }),
]);

/**
 * Runs a transform of a TypeScript file in its own Deno process, with only the permissions that are granted. The file's
 * default export is a definition of `defineTransform`.
 *
 * The file sees texts. The file can change the query of a task, the texts of the messages that answer a reply, and the
 * reward of the last step, and can end an episode. The file cannot change replies, tokens, earlier messages, tools or the
 * records of tool results.
 *
 * The process has the permissions and the end of a `toolFile`. Results are checked: a wrong result, a call that takes more
 * than `timeoutMs` (10 seconds by default), and an ended process are an `EnvError` that names the file, and end the
 * episode. The next call starts a new process.
 *
 * @example
 * ```ts
 * import { ChatEnv, EndOnFinalReply, GradeEpisode, gsm8k, TransformedEnv } from "@paddock/paddock";
 * import { type TransformFile } from "@paddock/paddock/transforms";
 *
 * function makeEnv(shorten: TransformFile) {
 *   const { step, reward } = shorten.makeTransforms();
 *   const grade = new GradeEpisode({ grader: gsm8k() });
 *   return new TransformedEnv(new ChatEnv(), [step, new EndOnFinalReply(), grade, reward]);
 * }
 * ```
 *
 * @throws {TypeError} when a permission cannot be granted.
 * @throws {RangeError} when `timeoutMs` is out of range.
 * @throws {SandboxError} when the file does not start or the default export is no transform.
 */
export async function transformFile(
  file: string | URL,
  options: PluginFileOptions = {},
): Promise<TransformFile> {
  requireKnownOptions("call transformFile", options, PLUGIN_FILE_OPTIONS);
  const host = await PluginHost.open(file, { ...options, kind: TRANSFORM });
  const has = (hook: string) => host.hooks.has(hook);
  return {
    name: host.name,
    makeTransforms: () => ({
      step: {
        ...(has("task") && { task: (task, options) => changeTask(host, task, options) }),
        ...(has("step") && { step: (step, context) => changeStep(host, step, context) }),
      },
      reward: has("reward") ? { step: (step, context) => changeReward(host, step, context) } : {},
    }),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

async function changeTask(
  host: PluginHost,
  task: Task,
  { seed, signal }: { seed?: number | undefined; signal?: AbortSignal | undefined },
): Promise<Task> {
  const input: TaskHookInput = { task: plainTask(task), ...(seed !== undefined && { seed }) };
  const needs = "nothing or { query }";
  const result = await host.call("task", input, { schema: taskSchema, needs, signal });
  return result === null ? task : { ...task, query: result.query };
}

async function changeStep(host: PluginHost, step: Step, context: TransformContext): Promise<Step> {
  const { task, observation, turn, signal } = context;
  const messages = [...step.history.prompt];
  const reply = messages.findLastIndex(({ role }) => role === "assistant");
  const start = Math.max(reply + 1, observation?.history.prompt.length ?? 0); // a skipped step has no new messages
  const answers = messages.slice(start);
  const input: StepHookInput = {
    task: plainTask(task),
    turn,
    messages: plainMessages(messages.slice(0, start)),
    results: answers.map((message) => ({ role: message.role, text: messageText(message) })),
    calls: step.toolResults.map(({ tool, status, text, durationMs }) => ({ tool, status, text, durationMs })),
  };
  const needs = `nothing or { results?, end? } with ${answers.length} results`;
  const schema = stepSchema.refine((result) =>
    (result?.results?.length ?? answers.length) === answers.length
  );
  const result = await host.call("step", input, { schema, needs, signal });
  const changed = withTexts(step, { start, texts: result?.results ?? [] });
  return result?.end === true ? { ...changed, terminated: true } : changed;
}

/** Returns the step with other texts of the last messages, from `start`. */
function withTexts(step: Step, { start, texts }: { start: number; texts: readonly string[] }): Step {
  const messages = [...step.history.prompt];
  const changed = texts.map((text, index) => withText(messages[start + index], text));
  if (changed.every((message, index) => message === messages[start + index])) return step;
  const prompt = step.history.prompt.slice(0, start).extend(
    changed.filter((message) => message !== undefined),
  );
  return { ...step, history: { ...step.history, prompt } };
}

/** Returns the message with another text. Other content of the message, such as images, follows the text. */
function withText(message: Message | undefined, text: string): Message | undefined {
  if (message === undefined || messageText(message) === text) return message;
  const { tool_responses: _responses, content, ...rest } = message; // the text replaces them
  if (typeof content === "string") return { ...rest, content: text };
  return { ...rest, content: [{ type: "text", text }, ...content.filter(({ type }) => type !== "text")] };
}

async function changeReward(host: PluginHost, step: Step, context: TransformContext): Promise<Step> {
  const { terminated, truncated, reward, rewardParts = {}, history } = step;
  if (!terminated && !truncated) return step;
  const { task, turn, signal } = context;
  const input: RewardHookInput = {
    task: plainTask(task),
    turn,
    messages: plainMessages(history.prompt),
    reward,
    rewardParts,
    terminated,
    truncated,
  };
  const needs = `nothing, a number, or { reward, parts? } with at most ${MAX_PARTS} parts`;
  const result = await host.call("reward", input, { schema: rewardSchema, needs, signal });
  if (result === null) return step;
  const { unscored: _unscored, ...scored } = step;
  const parts = { ...rewardParts, ...result.parts, [host.name]: result.reward };
  return { ...(result.reward === null ? step : scored), reward: result.reward, rewardParts: parts };
}
