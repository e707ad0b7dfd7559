import * as z from "zod";
import { parseMessage } from "../parse_message.ts";
import { listOf } from "./model_server.ts";
import type { Reply } from "./policy.ts";

/** Maximum number of issues that an error describes. */
const MAX_ISSUES = 10;

const call = z.looseObject({ id: z.string().nullish() });

const textParts = z.pipe(
  listOf(z.object({ type: z.literal("text"), text: z.string() })),
  z.transform((parts) => parts.map(({ text }) => text).join("")),
);

const ids = z.nullish(listOf(z.int()));
/** Data that only training needs, and that evaluation must not fail on. */
const promptIds = ids.catch(null);

/** Fields of both APIs. */
const choice = {
  finish_reason: z.string().nullish(),
  /** The stop text or token id that ended the reply: `stop_reason` in vLLM, `matched_stop` in SGLang. */
  stop_reason: z.unknown().optional(),
  matched_stop: z.unknown().optional(),
  /** Sampled ids, if the request has `return_token_ids`. */
  token_ids: ids,
  /** In SGLang, and in vLLM's completions. */
  prompt_token_ids: promptIds,
};

const chatChoice = z.object({
  ...choice,
  message: z.object({
    content: z.union([z.string(), textParts]).nullish(),
    /** Set by vLLM, SGLang, DeepSeek and others; newer versions use `reasoning`. */
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.nullish(listOf(call)),
  }),
  logprobs: z.object({ content: z.nullish(listOf(z.object({ logprob: z.number().nullable() }))) }).nullish(),
  /** Set by SGLang, if the request has `return_meta_info`. */
  meta_info: z.object({
    output_token_logprobs: z.nullish(listOf(z.tuple([z.number().nullable(), z.int()], z.unknown()))),
  }).nullish().catch(null),
});

const textChoice = z.object({
  ...choice,
  text: z.string(),
  logprobs: z.object({ token_logprobs: z.nullish(listOf(z.number().nullable())) }).nullish(),
});

/** Fields of both APIs beside the choices. */
const response = {
  /** In vLLM's chat completions. */
  prompt_token_ids: promptIds,
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }).nullish(),
  /** Set by SGLang. */
  metadata: z.object({ weight_version: z.union([z.string(), z.number().transform(String)]).nullish() })
    .nullish().catch(null),
};

const chatResponse = z.object({ ...response, choices: z.tuple([chatChoice]) });
const textResponse = z.object({ ...response, choices: z.tuple([textChoice]) });

type Response = z.output<typeof chatResponse> | z.output<typeof textResponse>;
type ChatChoice = z.output<typeof chatChoice>;

/**
 * Parses a chat completions response. `turn` is used to create ids for calls without one.
 *
 * @throws {TypeError} if it is not a chat completion; the message contains only the issues.
 */
export function parseOpenaiReply(response: unknown, turn: number): Reply {
  const parsed = parseResponse(chatResponse, response);
  const { choices: [choice] } = parsed;
  const sampled = choice.meta_info?.output_token_logprobs;
  const ids = choice.token_ids ?? sampled?.map(([, id]) => id);
  const logProbs = choice.logprobs?.content?.map(({ logprob }) => logprob) ??
    sampled?.map(([logProb]) => logProb);
  return { message: assistantMessage(choice, turn), ...replyData(parsed, { ids, logProbs }) };
}

/**
 * Parses a completions response, whose text is the reply. One `endOfTurn` is removed from the end of the text.
 *
 * @throws {TypeError} if it is not a completion; the message contains only the issues.
 */
export function parseCompletionReply(response: unknown, options: { endOfTurn: string }): Reply {
  const parsed = parseResponse(textResponse, response);
  const { choices: [{ text, token_ids: ids, logprobs, finish_reason: finishReason }] } = parsed;
  const message = {
    role: "assistant",
    content: withoutEnd(text, options.endOfTurn),
    ...(finishReason === "length" && { is_complete: false }),
  };
  return { message, ...replyData(parsed, { ids, logProbs: logprobs?.token_logprobs }) };
}

/** Removes one end of a turn from the end of a text. */
export function withoutEnd(text: string, end: string): string {
  return end !== "" && text.endsWith(end) ? text.slice(0, -end.length) : text;
}

interface SampledData {
  readonly ids: readonly number[] | null | undefined;
  readonly logProbs: readonly (number | null)[] | null | undefined;
}

function replyData(
  { choices: [choice], usage, prompt_token_ids, metadata }: Response,
  { ids, logProbs }: SampledData,
): Omit<Reply, "message"> {
  const { finish_reason: finishReason, stop_reason, matched_stop } = choice;
  const stops = [stop_reason, matched_stop];
  const stopText = stops.find((stop) => typeof stop === "string");
  const stopId = stops.find((stop) => typeof stop === "number");
  const promptIds = prompt_token_ids ?? choice.prompt_token_ids;
  const known = logProbs?.filter((logProb) => logProb !== null);
  const weightVersion = metadata?.weight_version;
  return {
    ...(finishReason && { finishReason }),
    ...(stopText && { stopText }),
    ...(stopId !== undefined && { stopId }),
    ...(usage && { usage: { promptTokens: usage.prompt_tokens, replyTokens: usage.completion_tokens } }),
    ...(promptIds && { promptIds }),
    ...(ids && { tokens: { ids, ...(known && known.length === logProbs?.length && { logProbs: known }) } }),
    ...(weightVersion && { weightVersion }),
  };
}

function parseResponse<T>(schema: z.core.$ZodType<T>, response: unknown): T {
  const { choices, usage, prompt_token_ids, metadata } = Object(response);
  // the choices after the first one are not validated
  const first = Array.isArray(choices) ? choices.slice(0, 1) : choices;
  const parsed = z.safeParse(schema, { choices: first, usage, prompt_token_ids, metadata });
  if (parsed.success) return parsed.data;
  throw new TypeError(
    parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => `${path.join(".")}: ${message}`)
      .join("; "),
  );
}

function assistantMessage(
  { message, finish_reason: finishReason }: ChatChoice,
  turn: number,
): Reply["message"] {
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
