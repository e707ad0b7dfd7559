import { z } from "zod";
import { parseMessage } from "../parse_message.ts";
import { listOf } from "./model_server.ts";
import type { Reply } from "./policy.ts";

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
