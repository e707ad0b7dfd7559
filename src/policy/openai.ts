import { z } from "zod";
import type { History } from "../history.ts";
import { serverUrl } from "../http/request.ts";
import { type ContentPart, type Message, messageText, type ToolCall, toOpenaiTool } from "../message.ts";
import { parseMessage } from "../parse_message.ts";
import { listOf, MAX_TOKEN_VALUES, ModelServer, type ModelServerOptions } from "./model_server.ts";
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

/** A message in the format of OpenAI's chat completions API. */
export interface OpenaiMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content: string | readonly object[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
}

/**
 * Content of the tool message for a call without result, since servers reject a conversation with an open
 * call.
 */
const NO_RESULT = "(no result)";

/**
 * Converts a conversation to the messages of a chat completions request.
 *
 * Servers accept a `tool` message only after the call that it answers. So a tool result, under any role,
 * becomes a `tool` message if it answers a call (by id, or else in order). Other tool results become `user`
 * messages; several in a row are joined to one.
 */
export function toOpenaiMessages(history: History): OpenaiMessage[] {
  const conversation = new Conversation();
  for (const message of history) conversation.add(message);
  return conversation.messages;
}

class Conversation {
  readonly messages: OpenaiMessage[] = [];
  /** Ids of the calls without result, in order. */
  #openCalls: string[] = [];
  #endsWithToolText = false;

  add(message: Message): void {
    const { role } = message;
    if (role === "system" || role === "developer" || role === "user" || role === "assistant") {
      this.#closeCalls();
      this.#endsWithToolText = false;
      this.messages.push(this.#toOpenaiMessage(message, role));
    } else {
      for (const text of resultsOf(message, this.#openCalls.length)) {
        this.#addResult(text, message.tool_call_id);
      }
    }
  }

  #toOpenaiMessage(message: Message, role: OpenaiMessage["role"]): OpenaiMessage {
    const { content, name, tool_calls: calls = [] } = message;
    const named = name === undefined ? {} : { name };
    if (role !== "assistant" || calls.length === 0) return { role, content: contentOf(content), ...named };
    const withIds = calls.map((call, index) => ({
      ...call,
      id: call.id ?? `call_${this.messages.length}_${index}`,
    }));
    this.#openCalls = withIds.map(({ id }) => id);
    return { role, content: messageText(message) || null, ...named, tool_calls: withIds.map(wireCall) };
  }

  #addResult(content: string, callId = this.#openCalls[0]): void {
    const last = this.messages.at(-1);
    if (callId !== undefined && this.#openCalls.includes(callId)) {
      this.#openCalls = this.#openCalls.filter((id) => id !== callId);
      this.messages.push({ role: "tool", tool_call_id: callId, content });
    } else if (this.#endsWithToolText && last?.role === "user") {
      this.messages[this.messages.length - 1] = { role: "user", content: `${last.content}\n\n${content}` };
    } else {
      this.#closeCalls();
      this.#endsWithToolText = true;
      this.messages.push({ role: "user", content });
    }
  }

  #closeCalls(): void {
    for (const id of this.#openCalls) {
      this.messages.push({ role: "tool", tool_call_id: id, content: NO_RESULT });
    }
    this.#openCalls = [];
  }
}

/**
 * Returns the results in a tool message: one for each open call if their numbers match, otherwise a single
 * one.
 */
function resultsOf(message: Message, openCalls: number): readonly string[] {
  const { tool_responses: responses = [] } = message;
  const answersAll = message.tool_call_id === undefined && responses.length > 0 &&
    responses.length === openCalls;
  return answersAll ? responses : [messageText(message) || responses.join("\n")];
}

function wireCall({ id, name, arguments: args, arguments_text }: ToolCall): object {
  const text = arguments_text ?? (typeof args === "string" ? args : JSON.stringify(args));
  return { id, type: "function", function: { name, arguments: text } };
}

function contentOf(content: Message["content"]): string | object[] {
  return typeof content === "string" ? content : content.map(wirePart);
}

function wirePart(part: ContentPart): object {
  const { type, text = "", data, mime_type: mime, url, name } = part;
  if (type === "text") return { type, text };
  if (type === "image") {
    const imageUrl = url ?? `data:${mime ?? "image/png"};base64,${data ?? ""}`;
    return { type: "image_url", image_url: { url: imageUrl } };
  }
  if (type === "audio" && data !== undefined) {
    return { type: "input_audio", input_audio: { data, format: mime?.replace(/^.*\//, "") ?? "wav" } };
  }
  return { type: "text", text: text || `[${[type, name ?? url].filter(Boolean).join(" ")}]` };
}

/** Maximum number of issues that an error describes. */
const MAX_ISSUES = 10;

const call = z.looseObject({ id: z.string().nullish() });

const logProbs = z.object({ content: listOf(z.object({ logprob: z.number().nullable() })).nullish() })
  .nullish();

const textParts = listOf(z.object({ type: z.literal("text"), text: z.string() }))
  .transform((parts) => parts.map(({ text }) => text).join(""));

const choiceSchema = z.object({
  message: z.object({
    content: z.union([z.string(), textParts]).nullish(),
    /** Set by vLLM, SGLang, DeepSeek and others; newer versions use `reasoning`. */
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    refusal: z.string().nullish(),
    tool_calls: listOf(call).nullish(),
  }),
  finish_reason: z.string().nullish(),
  /** The stop text or token id that ended the reply: `stop_reason` in vLLM, `matched_stop` in SGLang. */
  stop_reason: z.unknown().optional(),
  matched_stop: z.unknown().optional(),
  /** Set by vLLM, if the request has `return_token_ids`. */
  token_ids: listOf(z.int()).nullish(),
  logprobs: logProbs,
});

const responseSchema = z.object({
  choices: z.tuple([choiceSchema]),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }).nullish(),
});

type Choice = z.output<typeof choiceSchema>;

/**
 * Parses a chat completions response. `turn` is used to create ids for calls without one.
 *
 * @throws {TypeError} if it is not a chat completion; the message contains only the issues.
 */
export function parseOpenaiReply(response: unknown, turn: number): Reply {
  const parsed = responseSchema.safeParse(withFirstChoice(response));
  if (!parsed.success) {
    throw new TypeError(
      parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => `${path.join(".")}: ${message}`)
        .join("; "),
    );
  }
  const { choices: [choice], usage } = parsed.data;
  const { finish_reason: finishReason, token_ids: ids, logprobs } = choice;
  const stopText = [choice.stop_reason, choice.matched_stop].find((stop) => typeof stop === "string");
  const logProbEntries = logprobs?.content ?? [];
  const logProbs = logProbEntries.flatMap(({ logprob }) => logprob ?? []);
  const isComplete = logProbEntries.length === ids?.length && logProbs.length === ids.length;
  return {
    message: assistantMessage(choice, turn),
    ...(finishReason && { finishReason }),
    ...(stopText && { stopText }),
    ...(usage && { usage: { promptTokens: usage.prompt_tokens, replyTokens: usage.completion_tokens } }),
    ...(ids && { tokens: { ids, ...(isComplete && { logProbs }) } }),
  };
}

/** Drops all choices but the first, so that the others are not validated. */
function withFirstChoice(response: unknown): unknown {
  const { choices, usage } = Object(response);
  return { choices: Array.isArray(choices) ? choices.slice(0, 1) : choices, usage };
}

function assistantMessage({ message, finish_reason: finishReason }: Choice, turn: number): Reply["message"] {
  const { content, refusal, reasoning_content, reasoning, tool_calls: calls } = message;
  const reasoningText = reasoning_content || reasoning;
  const callsWithIds = calls?.map((call, index) => ({ ...call, id: call.id || `call_${turn}_${index}` }));
  const assistant = {
    role: "assistant",
    content: content ?? refusal ?? "",
    ...(reasoningText && { reasoning_content: reasoningText }),
    ...(finishReason === "length" && { is_complete: false }),
    ...(callsWithIds && callsWithIds.length > 0 && { tool_calls: callsWithIds }),
  };
  return parseMessage(assistant, turn);
}
