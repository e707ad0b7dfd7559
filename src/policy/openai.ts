import type { History } from "../history.ts";
import { serverUrl } from "../http/request.ts";
import { toOpenaiTool } from "../message.ts";
import { MAX_TOKEN_VALUES, ModelServer, type ModelServerOptions } from "./model_server.ts";
import { toOpenaiMessages } from "./openai_messages.ts";
import { parseOpenaiReply } from "./openai_reply.ts";
import { countAssistantTurns, type Policy, type Reply, type ReplyContext } from "./policy.ts";

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
   * Maximum number of tokens in one reply.
   *
   * @default the server's default
   */
  maxTokens?: number | undefined;
  /** Additional request fields, such as `{ top_p: 0.9 }`. They override the fields of the other options. */
  body?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Creates a policy that uses a server of OpenAI's chat completions API: vLLM, SGLang, llama.cpp, Ollama,
 * OpenAI and others.
 *
 * The env's tools are sent as functions, and calls of them become the message's `tool_calls`. With vLLM and
 * `body: { return_token_ids: true, logprobs: true }` the reply includes its token ids. Reasoning that the
 * server returns separately is stored in the message's `reasoning_content`.
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
  const server = new ModelServer(serverUrl(options.url, "/chat/completions", { root: "/v1" }), options);
  return {
    name: options.model,
    async reply(history, context): Promise<Reply> {
      const response = await server.post(requestOf(history, context, options), {
        signal: context.signal,
        maxValues: asksForTokens(options) ? MAX_TOKEN_VALUES : undefined,
      });
      try {
        return parseOpenaiReply(response, countAssistantTurns(history) + 1);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        throw server.badResponseError(`sent a response that is no chat completion: ${error.message}`);
      }
    },
  };
}

function asksForTokens({ body = {} }: OpenaiPolicyOptions): boolean {
  const { logprobs, return_token_ids } = Object(body);
  return Boolean(logprobs || return_token_ids);
}

function requestOf(history: History, context: ReplyContext, options: OpenaiPolicyOptions): object {
  const { tools = [], seed } = context;
  const { model, temperature, maxTokens, body } = options;
  return {
    model,
    messages: toOpenaiMessages(history),
    ...(tools.length > 0 && { tools: tools.map(toOpenaiTool) }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(seed !== undefined && { seed }),
    ...body,
  };
}
