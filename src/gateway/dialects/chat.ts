import * as z from "zod";
import type { Message } from "../../message.ts";
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
  toOpenaiError,
  toSampling,
  toToolSpec,
} from "./dialect.ts";
import { openaiToolChoice } from "./tool_choice.ts";

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  refusal: z.string().optional(),
});
const content = z.union([z.string(), z.array(part)]).nullish();
const call = z.looseObject({
  id: z.string().nullish(),
  type: z.string().nullish(),
  function: z.looseObject({ name: z.string(), arguments: z.union([z.string(), anyObject]).nullish() }),
});
const message = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content,
  name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  tool_calls: z.array(call).nullish(),
});
const tool = z.looseObject({
  type: z.string().nullish(),
  function: z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: anyObject.nullish(),
  }).optional(),
});
const format = z.looseObject({
  type: z.enum(["text", "json_object", "json_schema"]),
  json_schema: z.looseObject({ schema: anyObject.nullish() }).nullish(),
}).nullish();

const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  tools: z.array(tool).nullish(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: format,
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  max_tokens: tokenLimit,
  max_completion_tokens: tokenLimit,
  temperature: number,
  top_p: number,
  top_k: number,
  min_p: number,
  frequency_penalty: number,
  presence_penalty: number,
  seed: number,
  logprobs: z.boolean().nullish(),
  n: z.int().nullish(),
  audio: z.unknown().optional(),
  modalities: z.array(z.string()).nullish(),
});

type ChatBody = z.output<typeof chatRequest>;

/** A request of OpenAI's chat completions. */
interface ChatRequest extends ModelRequest {
  readonly includesUsage: boolean;
}

/** `POST /v1/chat/completions`. */
export const chatDialect: Dialect = {
  keepAlive: ": sampling\n\n",
  parse: parseChat,
  toJson: toCompletion,
  toEvents: toChunks,
  toErrorJson: toOpenaiError,
  toErrorEvent: (error) => toEvent(toOpenaiError(error)),
};

function parseChat(value: unknown, { retry }: ParseContext): ChatRequest {
  const body = parseBody(chatRequest, value);
  if ((body.n ?? 1) > 1) refuseInput("'n' above 1, as each answer is a turn of its own");
  if (body.audio || body.modalities?.includes("audio")) refuseInput("audio");
  refuseFields(body, ["functions"]);
  const tools = body.tools ?? [];
  const specs = tools.flatMap((tool) => tool.function === undefined ? [] : [toToolSpec(tool.function)]);
  return {
    model: body.model,
    messages: body.messages.map(toMessage),
    tools: specs,
    toolChoice: openaiToolChoice(body.tool_choice, {
      tools: specs,
      isSingle: body.parallel_tool_calls === false,
    }),
    sampling: samplingOf(body),
    stream: body.stream ?? false,
    wantsLogProbs: body.logprobs ?? false,
    ignoredTools: tools.flatMap((tool) => tool.function === undefined ? [tool.type ?? "unknown"] : []),
    identity: identityOf(body),
    retry,
    includesUsage: body.stream_options?.include_usage ?? false,
  };
}

function samplingOf(body: ChatBody): ModelRequest["sampling"] {
  const { response_format: format, stop } = body;
  const jsonSchema = format?.type === "json_object"
    ? { type: "object" }
    : format?.type === "json_schema"
    ? format.json_schema?.schema ?? undefined
    : undefined;
  return toSampling({
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    minP: body.min_p,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
    seed: body.seed,
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    stop: typeof stop === "string" ? [stop] : stop ?? undefined,
    jsonSchema,
  });
}

function toMessage(message: ChatBody["messages"][number]): Message {
  const { role, name, tool_call_id: callId, tool_calls: calls } = message;
  return {
    role: role === "developer" ? "system" : role === "function" ? "tool" : role,
    content: textOf(message.content),
    ...(typeof name === "string" && { name }),
    ...(typeof callId === "string" && { tool_call_id: callId }),
    ...(role === "assistant" && calls && calls.length > 0 && {
      tool_calls: calls.map(({ id, function: { name, arguments: args } }) => ({
        ...(typeof id === "string" && { id }),
        name,
        arguments: args ?? "{}",
      })),
    }),
  };
}

function textOf(content: z.output<typeof message>["content"]): string {
  if (typeof content === "string") return content;
  return joinTexts(
    (content ?? []).map(({ type, text, refusal }) =>
      text ?? refusal ?? refuseInput(`content of the type '${type.slice(0, 40)}'`)
    ),
  );
}

const FINISH = { stop: "stop", length: "length", calls: "tool_calls" } as const;

function headOf({ id, created }: ModelAnswer, { model }: ModelRequest, object: string): object {
  return { id: `chatcmpl-${id}`, object, created, model };
}

function usageOf({ usage: { promptTokens, replyTokens } }: ModelAnswer): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: replyTokens,
    total_tokens: promptTokens + replyTokens,
  };
}

function toCompletion(answer: ModelAnswer, request: ModelRequest): object {
  const { text, thought, calls, finish } = answer;
  return {
    ...headOf(answer, request, "chat.completion"),
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: text === "" && calls.length > 0 ? null : text,
        ...(thought !== "" && { reasoning_content: thought }),
        ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
      },
      logprobs: logProbsOf(answer),
      finish_reason: FINISH[finish],
    }],
    usage: usageOf(answer),
  };
}

function toCall({ id, name, arguments: args }: ModelAnswer["calls"][number]): object {
  return { id, type: "function", function: { name, arguments: args } };
}

function logProbsOf({ logProbs }: ModelAnswer): object | null {
  if (logProbs === undefined) return null;
  const content = logProbs.map(({ token, logProb: logprob }) => ({
    token,
    logprob,
    bytes: [...new TextEncoder().encode(token)],
    top_logprobs: [],
  }));
  return { content, refusal: null };
}

function toChunks(answer: ModelAnswer, request: ModelRequest): string[] {
  const { text, thought, calls, finish } = answer;
  const head = headOf(answer, request, "chat.completion.chunk");
  const chunk = (delta: object, more: object = {}) =>
    toEvent({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }] });
  const { includesUsage } = request as ChatRequest;
  return [
    chunk({ role: "assistant", content: "" }),
    ...thought === "" ? [] : [chunk({ reasoning_content: thought })],
    ...text === "" ? [] : [chunk({ content: text }, { logprobs: logProbsOf(answer) })],
    ...calls.map((call, index) => chunk({ tool_calls: [{ index, ...toCall(call) }] })),
    chunk({}, { finish_reason: FINISH[finish] }),
    ...includesUsage ? [toEvent({ ...head, choices: [], usage: usageOf(answer) })] : [],
    "data: [DONE]\n\n",
  ];
}
