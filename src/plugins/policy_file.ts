import { requireKnownOptions } from "../options.ts";
import * as z from "zod";
import { PolicyError } from "../errors.ts";
import type { History } from "../history.ts";
import { type Policy, type Reply, type ReplyContext, toReply } from "../policy/policy.ts";
import type { PolicyInput } from "./definitions.ts";
import {
  plainMessages,
  plainTask,
  PLUGIN_FILE_OPTIONS,
  type PluginFileOptions,
  PluginHost,
  type PluginKind,
} from "./plugin_host.ts";

/** A policy that runs in a separate process. Disposing the policy ends the process. */
export type PolicyFile = Policy & AsyncDisposable;

/** Options of {@linkcode policyFile}. */
export interface PolicyFileOptions extends PluginFileOptions {
  /** Name of a model, for the file. */
  model?: string | undefined;
  /** Sampling temperature, for the file. */
  temperature?: number | undefined;
  /** Maximum number of tokens of a reply, for the file. */
  maxTokens?: number | undefined;
}

const MIB = 1024 * 1024;
const POLICY: PluginKind = {
  noun: "policy",
  helper: "definePolicy",
  hooks: ["reply"],
  needsResult: true,
  maxResultBytes: 32 * MIB,
  // a reply may have the ids of a long prompt
  jsonLimits: { depth: 64, values: 2_000_000 },
  defaultTimeoutMs: 300_000,
  toError: (message, { fault, cause }) => new PolicyError(message, { fault, cause }),
};

const MAX_SHORT = 1_000;
const MAX_CALLS = 1_000;
const shortText = z.string().max(MAX_SHORT);
const id = z.int().nonnegative();
const count = z.int().nonnegative();
const callSchema = z.strictObject({
  id: shortText.optional(),
  name: shortText,
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]),
  arguments_text: z.string().optional(),
});
const replySchema = z.union([
  z.string(),
  z.strictObject({
    message: z.strictObject({
      role: z.literal("assistant"),
      content: z.string(),
      reasoning_content: z.string().optional(),
      is_complete: z.boolean().optional(),
      tool_calls: z.array(callSchema).max(MAX_CALLS).optional(),
    }),
    tokens: z.strictObject({ ids: z.array(id), logProbs: z.array(z.number()).optional() })
      .refine(({ ids, logProbs = ids }) => logProbs.length === ids.length).optional(),
    promptIds: z.array(id).optional(),
    finishReason: shortText.optional(),
    finishMessage: shortText.optional(),
    stopText: shortText.optional(),
    stopId: id.optional(),
    usage: z.strictObject({ promptTokens: count, replyTokens: count }).optional(),
    weightVersion: shortText.optional(),
  }),
]);
const NEEDS = "a string or { message: { role: 'assistant', content, … }, tokens?, promptIds?, … }";

/**
 * Runs a policy of a TypeScript file in its own Deno process, with only the permissions that are granted. The file's
 * default export is a definition of `definePolicy`.
 *
 * The process has the permissions and the end of a `toolFile`. Replies are checked: a wrong reply (`bad_answer`),
 * a call that takes more than `timeoutMs` (300 seconds by default, `timeout`), and an ended process (`unavailable`) are a
 * `PolicyError` that names the file. Nothing is retried. The next call starts a new process.
 *
 * @example
 * ```ts
 * import { type Env, rollout, type Task } from "@paddock/paddock";
 * import { policyFile } from "@paddock/paddock/rollout";
 *
 * async function play(env: Env, task: Task) {
 *   await using policy = await policyFile("./my_policy.ts", { permissions: { net: ["localhost:8000"] } });
 *   return await rollout(env, policy, task);
 * }
 * ```
 *
 * @throws {TypeError} when a permission cannot be granted.
 * @throws {RangeError} when `timeoutMs` is out of range.
 * @throws {SandboxError} when the file does not start or the default export is no policy.
 */
export async function policyFile(file: string | URL, options: PolicyFileOptions = {}): Promise<PolicyFile> {
  requireKnownOptions("call policyFile", options, {
    ...PLUGIN_FILE_OPTIONS,
    model: true,
    temperature: true,
    maxTokens: true,
  });
  const { model, temperature, maxTokens, ...program } = options;
  const host = await PluginHost.open(file, { ...program, kind: POLICY });
  const defaults = { model, temperature, maxTokens };
  const reply = async (history: History, context: ReplyContext): Promise<Reply> => {
    const input = { ...defaults, ...inputOf(history, context) };
    const { signal } = context;
    const value = await host.call("reply", input, { schema: replySchema, needs: NEEDS, signal });
    return toReply(value as Reply | string); // with `exactOptionalPropertyTypes`, zod's optional keys differ
  };
  return {
    name: host.name,
    reply,
    probe: reply,
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

function inputOf(history: History, context: ReplyContext): PolicyInput {
  const { task, tools = [], text, tokens, recordedChat, maxTokens, seed } = context;
  return {
    messages: plainMessages(history),
    task: plainTask(task),
    tools,
    ...(text !== undefined && { text }),
    ...(tokens !== undefined && { tokens }),
    ...(recordedChat !== undefined && { recordedChat: recordedChat() }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(seed !== undefined && { seed }),
  };
}
