import type { History } from "../../history.ts";
import { parseMessage } from "../../parse_message.ts";
import { openaiPolicy } from "../../policy/openai.ts";
import {
  isAborted,
  isCutOff,
  type Policy,
  type Reply,
  type ReplyContext,
  toReply,
} from "../../policy/policy.ts";
import { sglangPolicy } from "../../policy/sglang.ts";
import { PolicyError } from "../../errors.ts";
import { Semaphore } from "../../async/semaphore.ts";
import type { Sampling, ToolChoice } from "../model_request.ts";

/** A prompt. Without `tokens`, the server gets the messages. */
export interface SamplerPrompt extends Pick<ReplyContext, "tokens" | "text" | "tools" | "recordedChat"> {
  readonly history: History;
}

/** Options of one sample. */
export interface SampleOptions {
  readonly sampling: Sampling;
  /** Choice of tools, for a server that gets messages. @default the model chooses */
  readonly toolChoice?: ToolChoice | undefined;
  readonly signal: AbortSignal;
}

/** A model server. For training, the server takes prompts as token ids and returns the sampled ids. */
export interface ModelSampler {
  /** Name of the model in rows. */
  readonly name: string;
  /**
   * Samples one reply.
   *
   * @throws {PolicyError} if the server gives no reply.
   * @throws {TokenError} if the server returns no ids, or fewer than the server counted.
   */
  sample(prompt: SamplerPrompt, options: SampleOptions): Promise<Reply>;
}

/** Options of {@linkcode modelSampler}. */
export interface ModelSamplerOptions {
  /**
   * API of the server: SGLang's `/generate`, `/v1/completions` of vLLM, or for evaluation the
   * `/v1/chat/completions` of any server, which gets messages and need not return token ids.
   */
  api: "sglang" | "openai" | "chat";
  url: string;
  /** Name of the model. `openai` needs the name that the server has. */
  model: string;
  apiKey?: string | undefined;
  /** Milliseconds that one reply may take. @default 600_000 */
  timeoutMs?: number | undefined;
  /** Requests that the server gets at once. Others wait. @default 256 */
  concurrency?: number | undefined;
  /**
   * True to keep special tokens in the text of a reply, in which a syntax of calls has them.
   *
   * @default false
   */
  keepsSpecialTokens?: boolean | undefined;
  /** Text that ends a reply. @default "<|im_end|>" */
  endOfTurn?: string | undefined;
}

/** Task of the requests: the server does not get the task. */
const TASK = { id: "gateway", query: "" };

/** Creates the sampler of a model server. */
export function modelSampler(options: ModelSamplerOptions): ModelSampler {
  const { concurrency = 256 } = options;
  policyOf(options, {}); // a wrong address is an error at once
  const slots = new Semaphore(concurrency);
  return {
    name: options.model,
    async sample({ history, ...prompt }, { sampling, toolChoice, signal }) {
      using _slot = await slots.acquire(signal);
      const { seed } = sampling;
      const context = { ...prompt, task: TASK, seed, signal };
      return checkReply(toReply(await policyOf(options, sampling, toolChoice).reply(history, context)));
    },
  };
}

/** Returns a policy for one request. The parameters are the request's; making a policy costs microseconds. */
function policyOf(options: ModelSamplerOptions, sampling: Sampling, toolChoice?: ToolChoice): Policy {
  const { api, url, model, apiKey, timeoutMs = 600_000, endOfTurn, keepsSpecialTokens = false } = options;
  const server = { url, model, apiKey, timeoutMs, endOfTurn, retries: 2, concurrency: 1 };
  const kept = keepsSpecialTokens && { skip_special_tokens: false };
  if (api === "sglang") {
    return sglangPolicy({ ...server, samplingParams: { ...sglangParameters(sampling), ...kept } });
  }
  const own = api === "openai" ? kept : toolChoice && toolChoiceFields(toolChoice);
  const body = { ...openaiParameters(sampling), ...own };
  return openaiPolicy({ ...server, api: api === "chat" ? "chat" : "completions", body });
}

/** Fields of a chat request, of which a server has the defaults without them. */
function toolChoiceFields({ mode, names, isSingle }: ToolChoice): object {
  const functions = names?.map((name) => ({ type: "function", function: { name } }));
  const [only, ...others] = functions ?? [];
  const choice = functions === undefined
    ? mode
    : mode === "required" && others.length === 0
    ? only
    : { type: "allowed_tools", allowed_tools: { mode, tools: functions } };
  return {
    ...(choice !== "auto" && { tool_choice: choice }),
    ...(isSingle && { parallel_tool_calls: false }),
  };
}

function sglangParameters({ jsonSchema, grammar, maxTokens, seed: _seed, ...sampling }: Sampling): object {
  return withoutUndefined({
    ...commonParameters(sampling),
    max_new_tokens: maxTokens,
    json_schema: jsonSchema && JSON.stringify(jsonSchema),
    ebnf: grammar,
  });
}

function openaiParameters({ jsonSchema, grammar, maxTokens, seed: _seed, ...sampling }: Sampling): object {
  const format = jsonSchema && {
    type: "json_schema",
    json_schema: { name: "answer", schema: jsonSchema, strict: true },
  };
  return withoutUndefined({
    ...commonParameters(sampling),
    max_tokens: maxTokens,
    response_format: format,
    structured_outputs: grammar === undefined ? undefined : { grammar },
  });
}

function commonParameters(sampling: Sampling) {
  const { temperature, topP, topK, minP, frequencyPenalty, presencePenalty, stop } = sampling;
  return {
    temperature,
    top_p: topP,
    top_k: topK,
    min_p: minP,
    frequency_penalty: frequencyPenalty,
    presence_penalty: presencePenalty,
    ...(stop && stop.length > 0 && { stop }),
  };
}

function withoutUndefined(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Returns a reply whose message says if the reply was cut off.
 *
 * @throws {PolicyError} if the server gave the reply up.
 */
function checkReply(reply: Reply): Reply {
  if (isAborted(reply)) {
    throw new PolicyError("Cannot answer as the model server gave up its reply", { fault: "aborted" });
  }
  const { message } = reply;
  const marked = isCutOff(reply) ? { ...message, is_complete: false } : message;
  return { ...reply, message: parseMessage(marked, 0) };
}
