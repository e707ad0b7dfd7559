import { requireKnownOptions } from "../options.ts";
import type { History } from "../history.ts";
import { DefaultMaxTokens } from "./default_max_tokens.ts";
import { serverUrl } from "../http/request.ts";
import { toOpenaiTool } from "../message.ts";
import {
  MAX_TOKEN_VALUES,
  MODEL_SERVER_OPTIONS,
  ModelServer,
  type ModelServerOptions,
} from "./model_server.ts";
import { toOpenaiMessages, toRecordedMessages } from "./openai_messages.ts";
// @ts-types="./openai_reply.d.ts"
import { parseCompletionReply, parseOpenaiReply } from "./openai_reply.ts";
import { countAssistantTurns, type Policy, type Reply, type ReplyContext } from "./policy.ts";
import { cacheProbes, requireTokenData } from "./token_data.ts";

/** API of a server: `chat` is `/chat/completions`, `completions` is `/completions`. */
export type OpenaiApi = "chat" | "completions";

/** Options of {@linkcode openaiPolicy}. */
export interface OpenaiPolicyOptions extends ModelServerOptions {
  /**
   * URL of the server, such as `http://localhost:8000` or `https://api.openai.com/v1`, or of the endpoint
   * itself.
   */
  url: string | URL;
  /** Name of the model. */
  model: string;
  /**
   * Sampling temperature.
   *
   * @default the server's default
   */
  temperature?: number | undefined;
  /**
   * Maximum number of tokens in a reply.
   *
   * @default the server's default for `/chat/completions`; until the context is full for `/completions`
   */
  maxTokens?: number | undefined;
  /**
   * Maximum number of tokens in a reply without `maxTokens`. A server that refuses the number gets the request again
   * without the number.
   *
   * @default none
   */
  defaultMaxTokens?: number | undefined;
  /**
   * API to use. With `chat` the server renders the messages with the server's template. With `completions` the env's
   * prompt is sent as token ids, or else as text, and tool calls and thoughts stay in the reply's text.
   *
   * @default "completions" if the reply's tokens are recorded for a trainer, else "chat"
   */
  api?: OpenaiApi | undefined;
  /**
   * Text that is removed once from the end of a reply of `/completions`.
   *
   * @default "<|im_end|>"
   */
  endOfTurn?: string | undefined;
  /** Additional request fields, such as `{ top_p: 0.9 }`. They override the fields of the other options. */
  body?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Creates a policy that uses a server of OpenAI's API: vLLM, SGLang, llama.cpp, Ollama, OpenAI and others.
 *
 * For evaluation the messages are sent to `/chat/completions`. The env's tools are sent as functions, and calls of them
 * become the message's `tool_calls`. Reasoning that the server returns separately is stored in the message's
 * `reasoning_content`.
 *
 * For training, which records tokens, the server must be vLLM or SGLang. The recorded prompt is sent as token ids to
 * `/completions`, so that the model gets exactly the recorded tokens; thoughts and tool calls stay in the text, where a
 * transform parses them. The server returns the ids of the prompt, which are compared with the record, the sampled ids
 * and their log-probabilities. A server that returns no ids is refused before the first episode.
 *
 * @example
 * ```ts
 * import { ChatEnv, openaiPolicy, rollout } from "@paddock/paddock";
 *
 * const policy = openaiPolicy({ url: "http://localhost:8000", model: "Qwen/Qwen3-0.6B", temperature: 1 });
 * await using env = new ChatEnv();
 * const play = () => rollout(env, policy, { id: "1", query: "What is 6 times 7?" });
 * ```
 *
 * @throws {TypeError} if the URL is not an http or https URL.
 * @throws {RangeError} if a limit is out of range.
 */
export function openaiPolicy(options: OpenaiPolicyOptions): Policy {
  requireKnownOptions("call openaiPolicy", options, OPENAI_POLICY_OPTIONS);
  const { endOfTurn = "<|im_end|>" } = options;
  const chatUrl = serverUrl(options.url, "/chat/completions", { root: "/v1" });
  const completionsUrl = new URL(chatUrl);
  completionsUrl.pathname = chatUrl.pathname.replace(/\/chat\/completions$/, "/completions");
  const servers = {
    chat: new ModelServer(chatUrl, options),
    completions: new ModelServer(completionsUrl, options),
  };
  const isLimited = options.maxTokens !== undefined || "max_tokens" in (options.body ?? {});
  const limit = new DefaultMaxTokens(isLimited ? undefined : options.defaultMaxTokens);
  const reply = async (history: History, context: ReplyContext): Promise<Reply> => {
    const { recordedChat, signal } = context;
    const { api = recordedChat === undefined ? "chat" : "completions" } = options;
    const server = servers[api];
    const maxValues = recordedChat || asksForTokens(options) ? MAX_TOKEN_VALUES : undefined;
    const response = await limit.apply((defaultTokens) => {
      const sampling = { ...options, maxTokens: options.maxTokens ?? defaultTokens };
      const request = api === "chat"
        ? chatRequest(history, context, sampling)
        : completionRequest(context, sampling);
      return server.post(request, { signal, maxValues });
    });
    const reply = parseReply(
      () =>
        api === "chat"
          ? parseOpenaiReply(response, countAssistantTurns(history) + 1)
          : parseCompletionReply(response, { endOfTurn }),
      server,
    );
    if (recordedChat === undefined) return withoutUnusableTokens(reply, context);
    requireTokenData(reply);
    return reply;
  };
  return { name: options.model, reply, probe: cacheProbes(reply) };
}

function parseReply(parse: () => Reply, server: ModelServer): Reply {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw server.badResponseError(`sent a response that is no chat completion: ${error.message}`);
  }
}

function asksForTokens({ body = {} }: OpenaiPolicyOptions): boolean {
  const { logprobs, return_token_ids } = Object(body);
  return Boolean(logprobs || return_token_ids);
}

/**
 * Drops log-probabilities whose number differs from the ids, and, if the env has token ids, sampled ids whose prompt is
 * unknown: nothing shows that they continue the env's tokens.
 */
function withoutUnusableTokens(reply: Reply, context: ReplyContext): Reply {
  const { tokens, ...rest } = reply;
  if (tokens === undefined) return reply;
  if (context.tokens !== undefined && reply.promptIds === undefined) return rest;
  const { ids, logProbs } = tokens;
  return logProbs === undefined || logProbs.length === ids.length ? reply : { ...rest, tokens: { ids } };
}

/** Fields by which vLLM, SGLang, and SGLang 0.5.13 return token data of a chat. */
const CHAT_TOKEN_DATA = {
  logprobs: true,
  return_token_ids: true,
  return_prompt_token_ids: true,
  return_meta_info: true,
};

function chatRequest(history: History, context: ReplyContext, options: OpenaiPolicyOptions): object {
  const { recordedChat } = context;
  const recorded = recordedChat?.();
  const tools = recorded?.tools ?? (context.tools ?? []).map(toOpenaiTool);
  return {
    model: options.model,
    messages: recorded ? toRecordedMessages(recorded.messages) : toOpenaiMessages(history),
    ...(tools.length > 0 && { tools }),
    ...(recordedChat && CHAT_TOKEN_DATA),
    ...samplingFields(context, options),
  };
}

function completionRequest(context: ReplyContext, options: OpenaiPolicyOptions): object {
  const { tokens, text, recordedChat } = context;
  const prompt = tokens ?? text;
  if (prompt === undefined) {
    throw new TypeError(
      "Cannot send prompt to /completions as the env must provide text or token ids: found neither",
    );
  }
  return {
    model: options.model,
    // without this limit, servers sample only 16 tokens
    max_tokens: null,
    ...(recordedChat && { logprobs: 1 }),
    ...samplingFields(context, options),
    prompt,
    ...(recordedChat && { return_token_ids: true }),
  };
}

function samplingFields(context: ReplyContext, options: OpenaiPolicyOptions): object {
  const { seed, maxTokens: limit } = context;
  const { temperature, maxTokens, body } = options;
  const own = body?.max_tokens ?? maxTokens;
  const lowest = limit === undefined || (typeof own === "number" && own < limit) ? undefined : limit;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(seed !== undefined && { seed }),
    ...body,
    ...(lowest !== undefined && { max_tokens: lowest }),
  };
}

/** Names of the options. */
export const OPENAI_POLICY_OPTIONS: Readonly<Record<keyof OpenaiPolicyOptions, true>> = {
  url: true,
  model: true,
  temperature: true,
  maxTokens: true,
  defaultMaxTokens: true,
  api: true,
  endOfTurn: true,
  body: true,
  ...MODEL_SERVER_OPTIONS,
};
