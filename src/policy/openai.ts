import type { History } from "../history.ts";
import { openaiTool } from "../tool_spec.ts";
import { ModelServer, type ModelServerOptions } from "./model_server.ts";
import { openaiMessages } from "./openai_messages.ts";
import { openaiReply } from "./openai_reply.ts";
import type { Policy, Reply, ReplyContext } from "./policy.ts";
import { serverUrl } from "./server_url.ts";
import { assistantTurns } from "./turns.ts";

/** Which model answers, and how it samples. */
export interface OpenaiPolicyOptions extends ModelServerOptions {
  /** The server: `http://localhost:8000`, `https://api.openai.com/v1`, or the endpoint in full. */
  url: string | URL;
  model: string;
  /** The server's default unless given. */
  temperature?: number | undefined;
  /** Tokens of one reply; the server's default unless given. */
  maxTokens?: number | undefined;
  /** Further fields of the request, such as `{ top_p: 0.9 }`; they win over those above. */
  body?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * A policy behind a server of OpenAI's chat completions: vLLM, SGLang, llama.cpp, Ollama, OpenAI and others.
 *
 * The env's tools are offered as functions, and calls of them become the message's `tool_calls`. With vLLM and
 * `body: { return_token_ids: true, logprobs: true }` the reply carries its token ids.
 *
 * @throws {TypeError} when the url is none of http or https.
 * @throws {RangeError} when a limit cannot be kept.
 */
export function openaiPolicy(options: OpenaiPolicyOptions): Policy {
  const server = new ModelServer(serverUrl(options.url, "/chat/completions", { root: "/v1" }), options);
  return {
    name: options.model,
    async reply(history, context): Promise<Reply> {
      const answer = await server.post(requestOf(history, context, options), { signal: context.signal });
      try {
        return openaiReply(answer, assistantTurns(history) + 1);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        throw server.badAnswer(`must answer with a chat completion: ${error.message}`);
      }
    },
  };
}

function requestOf(history: History, context: ReplyContext, options: OpenaiPolicyOptions): object {
  const { tools = [], seed } = context;
  const { model, temperature, maxTokens, body } = options;
  return {
    model,
    messages: openaiMessages(history),
    ...(tools.length > 0 && { tools: tools.map(openaiTool) }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(seed !== undefined && { seed }),
    ...body,
  };
}
