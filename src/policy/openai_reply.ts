import * as z from "zod";
import { explanation } from "../http/request.ts";
import { completionMessage, toAssistantMessage } from "./completion_message.ts";
import { listOf } from "./model_server.ts";
import { isLengthReason, type Reply } from "./policy.ts";
import { isServerError } from "./server_error.ts";

/** Maximum number of issues that an error describes. */
const MAX_ISSUES = 10;

const ids = z.nullish(listOf(z.int()));
/** Data that only training needs, and that evaluation must not fail on. */
const promptIds = ids.catch(null);

const count = z.int().nonnegative();

/** Fields of both APIs. */
const choice = {
  finish_reason: z.string().nullish().catch(null),
  /** In gateways, beside the finish reason `error`. */
  error: z.unknown().optional(),
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
  message: completionMessage,
  logprobs: z.object({ content: z.nullish(listOf(z.object({ logprob: z.number().nullable() }))) }).nullish(),
  /** Set by SGLang, if the request has `return_meta_info`. */
  meta_info: z.object({
    output_token_logprobs: z.nullish(listOf(z.tuple([z.number().nullable(), z.int()], z.unknown()))),
  }).nullish().catch(null),
});

const textChoice = z.object({
  ...choice,
  text: z.string().nullable(),
  logprobs: z.object({ token_logprobs: z.nullish(listOf(z.number().nullable())) }).nullish(),
});

/** Fields of both APIs beside the choices. */
const response = {
  /** In vLLM's chat completions. */
  prompt_token_ids: promptIds,
  /** Evaluation does not need the counts, and some servers send only a part of them. */
  usage: z.object({ prompt_tokens: count, completion_tokens: count }).nullish().catch(null),
  /** Set by SGLang. */
  metadata: z.object({ weight_version: z.union([z.string(), z.number().transform(String)]).nullish() })
    .nullish().catch(null),
};

const chatResponse = z.object({ ...response, choices: z.tuple([chatChoice]) });
const textResponse = z.object({ ...response, choices: z.tuple([textChoice]) });

type Response = z.output<typeof chatResponse> | z.output<typeof textResponse>;

/**
 * Parses a chat completions response. `turn` is used to create ids for calls without an id.
 *
 * @throws {TypeError} if the value is not a chat completion; the message contains only the issues, or the error that the
 * server sent instead.
 */
export function parseOpenaiReply(response: unknown, turn: number): Reply {
  const parsed = parseResponse(chatResponse, response);
  const { choices: [choice] } = parsed;
  const sampled = choice.meta_info?.output_token_logprobs;
  const ids = choice.token_ids ?? sampled?.map(([, id]) => id);
  const logProbs = choice.logprobs?.content?.map(({ logprob }) => logprob) ??
    sampled?.map(([logProb]) => logProb);
  const data = replyData(parsed, { ids, logProbs });
  const isCut = isLengthReason(choice.finish_reason);
  return { message: toAssistantMessage(choice.message, { turn, isCut }), ...data };
}

/**
 * Parses a completions response, whose text is the reply. One `endOfTurn` is removed from the end of the text.
 *
 * @throws {TypeError} if the value is not a completion; the message contains only the issues.
 */
export function parseCompletionReply(response: unknown, options: { endOfTurn: string }): Reply {
  const parsed = parseResponse(textResponse, response);
  const { choices: [{ text, token_ids: ids, logprobs }] } = parsed;
  const data = replyData(parsed, { ids, logProbs: logprobs?.token_logprobs });
  const message = {
    role: "assistant",
    content: withoutEnd(text ?? "", options.endOfTurn),
    ...(isLengthReason(data.finishReason) && { is_complete: false }),
  };
  return { message, ...data };
}

/** Removes a single end of a turn from the end of a text. */
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
  const { finish_reason: finishReason, stop_reason, matched_stop, error } = choice;
  const stops = [stop_reason, matched_stop];
  const stopText = stops.find((stop) => typeof stop === "string");
  const stopId = stops.find((stop) => typeof stop === "number");
  const promptIds = prompt_token_ids ?? choice.prompt_token_ids;
  const known = logProbs?.filter((logProb) => logProb !== null);
  const weightVersion = metadata?.weight_version;
  return {
    ...(finishReason && { finishReason }),
    ...(error !== undefined && error !== null && { finishMessage: explanation({ error }).slice(2) }),
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
  if (isServerError(response)) throw new TypeError(`it is an error${explanation(response)}`);
  // the choices after the first choice are not validated
  const first = Array.isArray(choices) ? choices.slice(0, 1) : choices;
  const parsed = z.safeParse(schema, { choices: first, usage, prompt_token_ids, metadata });
  if (parsed.success) return parsed.data;
  throw new TypeError(
    parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => `${path.join(".")}: ${message}`)
      .join("; "),
  );
}
