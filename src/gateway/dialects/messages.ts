import * as z from "zod";
import type { Message } from "../../message.ts";
import type { GatewayError } from "../gateway_error.ts";
import type { ModelAnswer, ModelRequest } from "../model_request.ts";
import {
  anyObject,
  type Dialect,
  identityOf,
  joinTexts,
  number,
  parseBody,
  type ParseContext,
  refuseFields,
  refuseInput,
  toEvent,
  tokenLimit,
  toSampling,
  toToolSpec,
} from "./dialect.ts";
import { anthropicToolChoice } from "./tool_choice.ts";

const textBlocks = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
]);
const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  tool_use_id: z.string().optional(),
  content: z.unknown().optional(),
});
const message = z.looseObject({
  role: z.enum(["user", "assistant", "system"]),
  content: z.union([z.string(), z.array(block)]),
});
const tool = z.looseObject({
  type: z.string().nullish(),
  name: z.string(),
  description: z.string().nullish(),
  input_schema: anyObject.nullish(),
});
const schemaFormat = z.looseObject({ type: z.string(), schema: anyObject.nullish() }).nullish();

const messagesRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  system: textBlocks.nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.unknown().optional(),
  stream: z.boolean().nullish(),
  max_tokens: tokenLimit,
  stop_sequences: z.array(z.string()).nullish(),
  temperature: number,
  top_p: number,
  top_k: number,
  output_config: z.looseObject({ format: schemaFormat }).nullish(),
  output_format: schemaFormat,
});

type MessagesBody = z.output<typeof messagesRequest>;
type Block = z.output<typeof block>;

/** `POST /v1/messages`. */
export const messagesDialect: Dialect = {
  keepAlive: toEvent({ type: "ping" }, "ping"),
  parse: parseMessages,
  toJson: toMessageJson,
  toEvents,
  toErrorJson,
  toErrorEvent: (error) => toEvent(toErrorJson(error), "error"),
};

function parseMessages(value: unknown, { retry }: ParseContext): ModelRequest {
  const body = parseBody(messagesRequest, value);
  refuseFields(body, ["container", "mcp_servers"]);
  const tools = body.tools ?? [];
  const isOwn = ({ type }: (typeof tools)[number]) => (type ?? "custom") === "custom";
  const format = body.output_config?.format ?? body.output_format;
  const system = systemOf(body.system);
  const specs = tools.filter(isOwn).map((tool) => toToolSpec({ ...tool, parameters: tool.input_schema }));
  return {
    model: body.model,
    messages: [
      ...system === "" ? [] : [{ role: "system", content: system }],
      ...body.messages.flatMap(toMessages),
    ],
    tools: specs,
    toolChoice: anthropicToolChoice(body.tool_choice, specs),
    sampling: toSampling({
      temperature: body.temperature,
      topP: body.top_p,
      topK: body.top_k,
      maxTokens: body.max_tokens,
      stop: body.stop_sequences ?? undefined,
      jsonSchema: format?.schema ?? undefined,
    }),
    stream: body.stream ?? false,
    wantsLogProbs: false,
    ignoredTools: tools.filter((tool) => !isOwn(tool)).map(({ type, name }) => type ?? name),
    identity: identityOf({ ...body, system }),
    retry,
  };
}

/** Start of the first block of Claude Code's system prompt: its version, for the vendor's API and not for the model. */
const BILLING = "x-anthropic-billing-header:";

function systemOf(system: MessagesBody["system"]): string {
  if (typeof system === "string") return system;
  const texts = (system ?? []).map(({ text = "" }) => text);
  return joinTexts(texts.filter((text) => !text.startsWith(BILLING)));
}

/** Returns the messages of one: results of tools are messages of their own. */
function toMessages({ role, content }: MessagesBody["messages"][number]): Message[] {
  const blocks: readonly Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (role === "assistant") return [toAssistant(blocks)];
  const results = blocks.filter(({ type }) => type === "tool_result");
  const others = blocks.filter(({ type }) => type !== "tool_result");
  return [
    ...results.map(({ tool_use_id: id, content }) => ({
      role: "tool",
      content: resultText(content),
      ...(id !== undefined && { tool_call_id: id }),
    })),
    ...others.length === 0 && results.length > 0 ? [] : [{ role, content: joinTexts(others.map(textOf)) }],
  ];
}

function toAssistant(blocks: readonly Block[]): Message {
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const texts = blocks.filter(({ type }) => !["tool_use", "thinking", "redacted_thinking"].includes(type));
  return {
    role: "assistant",
    content: joinTexts(texts.map(textOf)),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name = "", input }) => ({
        ...(id !== undefined && { id }),
        name,
        arguments: JSON.stringify(input ?? {}),
      })),
    }),
  };
}

function textOf({ type, text }: { type: string; text?: string | undefined }): string {
  return text ?? refuseInput(`content of the type '${type.slice(0, 40)}'`);
}

function resultText(content: unknown): string {
  const parsed = parseBody(textBlocks.nullish(), content);
  return typeof parsed === "string" ? parsed : joinTexts((parsed ?? []).map(textOf));
}

/** Returns the blocks of an answer. An answer without any has an empty text, as clients need a block. */
function blocksOf({ id, text, thought, calls }: ModelAnswer): object[] {
  const blocks = [
    ...thought === "" ? [] : [{ type: "thinking", thinking: thought, signature: id }],
    ...text.trim() === "" && calls.length > 0 ? [] : [{ type: "text", text }],
  ];
  const uses = calls.map(({ id, name, arguments: args }) => ({
    type: "tool_use",
    id,
    name,
    input: JSON.parse(args),
  }));
  return [...blocks, ...uses];
}

function endOf({ finish, stopText }: ModelAnswer, { sampling: { stop = [] } }: ModelRequest) {
  if (finish === "calls") return { stop_reason: "tool_use", stop_sequence: null };
  if (finish === "length") return { stop_reason: "max_tokens", stop_sequence: null };
  if (stopText !== undefined && stop.includes(stopText)) {
    return { stop_reason: "stop_sequence", stop_sequence: stopText };
  }
  return { stop_reason: "end_turn", stop_sequence: null };
}

function usageOf({ usage: { promptTokens, replyTokens } }: ModelAnswer) {
  return {
    input_tokens: promptTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: replyTokens,
  };
}

function toMessageJson(answer: ModelAnswer, request: ModelRequest): object {
  return {
    id: `msg_${answer.id}`,
    type: "message",
    role: "assistant",
    model: request.model,
    content: blocksOf(answer),
    ...endOf(answer, request),
    usage: usageOf(answer),
  };
}

function toEvents(answer: ModelAnswer, request: ModelRequest): string[] {
  const event = (type: string, data: object) => toEvent({ type, ...data }, type);
  const start = { ...toMessageJson(answer, request), content: [], stop_reason: null, stop_sequence: null };
  return [
    event("message_start", { message: { ...start, usage: { ...usageOf(answer), output_tokens: 0 } } }),
    ...blocksOf(answer).flatMap((block, index) => {
      const [opening, delta] = openingOf(block);
      return [
        event("content_block_start", { index, content_block: opening }),
        ...delta.map((delta) => event("content_block_delta", { index, delta })),
        event("content_block_stop", { index }),
      ];
    }),
    event("message_delta", { delta: endOf(answer, request), usage: usageOf(answer) }),
    event("message_stop", {}),
  ];
}

/** Returns a block as it begins, and what is added to it. */
function openingOf(block: object): [object, object[]] {
  const { type, text, thinking, signature, input } = Object(block);
  if (type === "text") return [{ type, text: "" }, [{ type: "text_delta", text }]];
  if (type === "tool_use") {
    return [{ ...block, input: {} }, [{ type: "input_json_delta", partial_json: JSON.stringify(input) }]];
  }
  const deltas = [{ type: "thinking_delta", thinking }, { type: "signature_delta", signature }];
  return [{ type, thinking: "", signature: "" }, deltas];
}

/** Types of Anthropic's errors by fault. */
const TYPES = {
  invalid: "invalid_request_error",
  context_length: "invalid_request_error",
  rewritten: "invalid_request_error",
  ended: "invalid_request_error",
  unauthorized: "authentication_error",
  forbidden: "permission_error",
  not_found: "not_found_error",
  too_large: "request_too_large",
  busy: "rate_limit_error",
  bad_reply: "api_error",
  unavailable: "api_error",
  timeout: "timeout_error",
} as const;

function toErrorJson({ fault, message }: GatewayError): object {
  return { type: "error", error: { type: TYPES[fault], message } };
}
