import type { ModelAnswer, ModelRequest } from "../model_request.ts";
import { toEvent } from "./dialect.ts";
import type { ResponseItem } from "./response_items.ts";

/** A request of the Responses API. */
export interface ResponsesRequest extends ModelRequest {
  /** The whole chat as items. */
  readonly input: readonly ResponseItem[];
  /** Fields of the request that its response repeats. */
  readonly echo: Readonly<Record<string, unknown>>;
}

/** Returns the items of an answer. Equal answers have equal ids. */
export function outputOf({ id, text, thought, calls, logProbs }: ModelAnswer): ResponseItem[] {
  const content = {
    type: "output_text",
    text,
    annotations: [],
    logprobs: (logProbs ?? []).map(({ token, logProb: logprob }) => ({
      token,
      logprob,
      bytes: [...new TextEncoder().encode(token)],
      top_logprobs: [],
    })),
  };
  const message = {
    id: `msg_${id}`,
    type: "message",
    status: "completed",
    role: "assistant",
    content: [content],
  };
  return [
    ...thought === "" ? [] : [{
      id: `rs_${id}`,
      type: "reasoning",
      summary: [],
      content: [{ type: "reasoning_text", text: thought }],
      encrypted_content: null,
      status: "completed",
    }],
    ...text.trim() === "" && calls.length > 0 ? [] : [message],
    ...calls.map(({ id: call_id, name, arguments: args }, at) => ({
      id: `fc_${id}_${at}`,
      type: "function_call",
      status: "completed",
      call_id,
      name,
      arguments: args,
    })),
  ];
}

/** Returns the response to a request. */
export function toResponse(answer: ModelAnswer, request: ResponsesRequest): Record<string, unknown> {
  const { usage: { promptTokens, replyTokens }, finish } = answer;
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: answer.created,
    status: finish === "length" ? "incomplete" : "completed",
    background: false,
    error: null,
    incomplete_details: finish === "length" ? { reason: "max_output_tokens" } : null,
    ...request.echo,
    model: request.model,
    output: outputOf(answer),
    reasoning: { effort: null, summary: null },
    store: true,
    truncation: "disabled",
    metadata: {},
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: replyTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + replyTokens,
    },
  };
}

/** An event of a response, without its number. */
type ResponseEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** Returns the events of a streamed response. */
export function toResponseEvents(answer: ModelAnswer, request: ResponsesRequest): string[] {
  const response = toResponse(answer, request);
  const begun = { ...response, status: "in_progress", output: [], usage: null, incomplete_details: null };
  const events: ResponseEvent[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...outputOf(answer).flatMap(itemEvents),
    { type: `response.${response.status}`, response },
  ];
  return events.map((event, at) => toEvent({ ...event, sequence_number: at }, event.type));
}

function itemEvents(item: ResponseItem, output_index: number): ResponseEvent[] {
  const { type } = item;
  const parts = type === "message" ? messageEvents(item) : type === "function_call" ? callEvents(item) : [];
  const at = { output_index, item_id: item.id };
  const empty = type === "function_call" ? { arguments: "" } : { content: [] };
  return [
    { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress", ...empty } },
    ...parts.map((part) => ({ ...part, ...at })),
    { type: "response.output_item.done", output_index, item },
  ];
}

function messageEvents({ content }: ResponseItem): ResponseEvent[] {
  const [part] = content as [{ readonly text: string; readonly logprobs: unknown }];
  const { text, logprobs } = part;
  const at = { content_index: 0 };
  return [
    { type: "response.content_part.added", ...at, part: { ...part, text: "", logprobs: [] } },
    ...text === "" ? [] : [{ type: "response.output_text.delta", ...at, delta: text, logprobs }],
    { type: "response.output_text.done", ...at, text, logprobs },
    { type: "response.content_part.done", ...at, part },
  ];
}

function callEvents({ name, arguments: args }: ResponseItem): ResponseEvent[] {
  return [
    { type: "response.function_call_arguments.delta", delta: args },
    { type: "response.function_call_arguments.done", name, arguments: args },
  ];
}
