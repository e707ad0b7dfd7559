import * as z from "zod";
import type { Message, ToolCall } from "../../message.ts";
import { GatewayError } from "../gateway_error.ts";
import type { ModelRequest } from "../model_request.ts";
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
  toOpenaiError,
  toSampling,
  toToolSpec,
} from "./dialect.ts";
import type { ResponseItem, ResponseItems } from "./response_items.ts";
import { openaiToolChoice } from "./tool_choice.ts";
import { outputOf, type ResponsesRequest, toResponse, toResponseEvents } from "./response_answer.ts";

const part = z.looseObject({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });
const content = z.union([z.string(), z.array(part)]);
const messageItem = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant"]),
  content: content.nullish(),
});
const callItem = z.looseObject({ call_id: z.string(), name: z.string(), arguments: z.string() });
const resultItem = z.looseObject({ call_id: z.string(), output: content });
const tool = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  description: z.string().nullish(),
  parameters: anyObject.nullish(),
});

const responsesRequest = z.looseObject({
  model: z.string(),
  input: z.union([z.string(), z.array(anyObject)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z.looseObject({
    format: z.looseObject({ type: z.string(), schema: anyObject.nullish() }).nullish(),
  }).nullish(),
  include: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
  max_output_tokens: tokenLimit,
  temperature: number,
  top_p: number,
  background: z.boolean().nullish(),
});

type ResponsesBody = z.output<typeof responsesRequest>;

/** `POST /v1/responses`. */
export const responsesDialect: Dialect = {
  keepAlive: ": sampling\n\n",
  parse: parseResponses,
  remember(answer, request, items) {
    const { input } = request as ResponsesRequest;
    items.add(`resp_${answer.id}`, { input, output: outputOf(answer) });
  },
  toJson: (answer, request) => toResponse(answer, request as ResponsesRequest),
  toEvents: (answer, request) => toResponseEvents(answer, request as ResponsesRequest),
  toErrorJson: toOpenaiError,
  toErrorEvent: (error) => {
    const { error: { message, code, type } } = toOpenaiError(error);
    return toEvent({ type: "error", code: code ?? type, message, param: null, sequence_number: 0 }, "error");
  },
};

function parseResponses(value: unknown, { retry, items }: ParseContext): ResponsesRequest {
  const body = parseBody(responsesRequest, value);
  if (body.background) refuseInput("'background', as an answer belongs to its request");
  refuseFields(body, ["conversation", "prompt"]);
  const input = inputOf(body, items);
  const tools = body.tools ?? [];
  const isFunction = ({ type, name }: (typeof tools)[number]) => type === "function" && name !== undefined;
  const specs = tools.filter(isFunction).map((tool) => toToolSpec({ ...tool, name: tool.name ?? "" }));
  return {
    model: body.model,
    messages: [
      ...body.instructions ? [{ role: "system", content: body.instructions }] : [],
      ...toMessages(input),
    ],
    tools: specs,
    toolChoice: openaiToolChoice(body.tool_choice, {
      tools: specs,
      isSingle: body.parallel_tool_calls === false,
    }),
    sampling: samplingOf(body),
    stream: body.stream ?? false,
    wantsLogProbs: body.include?.includes("message.output_text.logprobs") ?? false,
    ignoredTools: tools.filter((tool) => !isFunction(tool)).map(({ type }) => type),
    identity: identityOf(body),
    retry,
    input,
    echo: {
      instructions: body.instructions ?? null,
      tools,
      tool_choice: body.tool_choice ?? "auto",
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      previous_response_id: body.previous_response_id ?? null,
      temperature: body.temperature ?? null,
      top_p: body.top_p ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      text: body.text ?? { format: { type: "text" } },
    },
  };
}

function samplingOf(body: ResponsesBody): ModelRequest["sampling"] {
  const format = body.text?.format;
  const jsonSchema = format?.type === "json_object" ? { type: "object" } : format?.schema ?? undefined;
  return toSampling({
    temperature: body.temperature,
    topP: body.top_p,
    maxTokens: body.max_output_tokens,
    jsonSchema,
  });
}

/** Returns the whole chat of a request, with the items that the request names by their ids. */
function inputOf({ input, previous_response_id: previous }: ResponsesBody, items: ResponseItems) {
  const given = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
  const earlier = previous ? items.chat(previous) : [];
  return [
    ...earlier,
    ...given.map((item) => item.type === "item_reference" ? items.item(String(item.id)) : item),
  ];
}

/** Converts items to messages. Text and calls of the assistant that follow one another are one message. */
function toMessages(items: readonly ResponseItem[]): Message[] {
  const messages: Message[] = [];
  let texts: string[] = [];
  let calls: ToolCall[] = [];
  let isOpen = false;
  const close = () => {
    if (!isOpen) return;
    messages.push({
      role: "assistant",
      content: joinTexts(texts),
      ...(calls.length > 0 && { tool_calls: calls }),
    });
    [texts, calls, isOpen] = [[], [], false];
  };
  for (const item of items) {
    const type = item.type ?? "message";
    if (type === "reasoning") continue;
    if (type === "function_call") {
      const { call_id: id, name, arguments: args } = parseBody(callItem, item);
      calls.push({ id, name, arguments: args });
      isOpen = true;
      continue;
    }
    const message = toMessage(String(type), item);
    if (message.role === "assistant") {
      texts.push(String(message.content));
      isOpen = true;
    } else {
      close();
      messages.push(message);
    }
  }
  close();
  return messages;
}

function toMessage(type: string, item: ResponseItem): Message {
  if (type === "function_call_output") {
    const { call_id: id, output } = parseBody(resultItem, item);
    return { role: "tool", content: textOf(output), tool_call_id: id };
  }
  if (type !== "message") {
    throw new GatewayError("invalid", `The gateway does not take items of the type '${type.slice(0, 40)}'`);
  }
  const { role, content } = parseBody(messageItem, item);
  return { role: role === "developer" ? "system" : role, content: textOf(content ?? "") };
}

function textOf(content: z.output<typeof resultItem>["output"]): string {
  if (typeof content === "string") return content;
  return joinTexts(
    content.map(({ type, text, refusal }) =>
      text ?? refusal ?? refuseInput(`content of the type '${type.slice(0, 40)}'`)
    ),
  );
}
