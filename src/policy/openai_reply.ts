import { z } from "zod";
import { parseMessage } from "../message.ts";
import type { Reply } from "./policy.ts";

const call = z.looseObject({ id: z.string().nullish() });

const logProbs = z.object({ content: z.array(z.object({ logprob: z.number().nullable() })).nullish() })
  .nullish();

const textParts = z.array(z.object({ type: z.literal("text"), text: z.string() }))
  .transform((parts) => parts.map(({ text }) => text).join(""));

const choiceSchema = z.object({
  message: z.object({
    content: z.union([z.string(), textParts]).nullish(),
    /** Of vLLM, SGLang, DeepSeek and others; newer ones leave out the second word. */
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.array(call).nullish(),
  }),
  finish_reason: z.string().nullish(),
  /** The stop text that was found, or the id of a token: vLLM's word, and SGLang's. */
  stop_reason: z.unknown().optional(),
  matched_stop: z.unknown().optional(),
  /** Of vLLM, when the request has `return_token_ids`. */
  token_ids: z.array(z.int()).nullish(),
  logprobs: logProbs,
});

const answerSchema = z.object({
  choices: z.tuple([choiceSchema], choiceSchema),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }).nullish(),
});

type Choice = z.output<typeof choiceSchema>;

/**
 * Reads an answer of chat completions; `turn` makes names for calls that came without.
 *
 * @throws {TypeError} when it is none, with what is wrong and nothing before it.
 */
export function openaiReply(answer: unknown, turn: number): Reply {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) {
    throw new TypeError(
      parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "),
    );
  }
  const { choices: [choice], usage } = parsed.data;
  const { finish_reason: finishReason, token_ids: ids, logprobs } = choice;
  const stopText = [choice.stop_reason, choice.matched_stop].find((stop) => typeof stop === "string");
  const scored = logprobs?.content ?? [];
  const logProbs = scored.flatMap(({ logprob }) => logprob ?? []);
  const isComplete = scored.length === ids?.length && logProbs.length === ids.length;
  return {
    message: assistantMessage(choice, turn),
    ...(finishReason && { finishReason }),
    ...(stopText && { stopText }),
    ...(usage && { usage: { promptTokens: usage.prompt_tokens, replyTokens: usage.completion_tokens } }),
    ...(ids && { tokens: { ids, ...(isComplete && { logProbs }) } }),
  };
}

function assistantMessage({ message, finish_reason: finishReason }: Choice, turn: number): Reply["message"] {
  const { content, refusal, reasoning_content, reasoning, tool_calls: calls } = message;
  const thought = reasoning_content || reasoning;
  const named = calls?.map((call, index) => ({ ...call, id: call.id || `call_${turn}_${index}` }));
  const whole = {
    role: "assistant",
    content: content ?? refusal ?? "",
    ...(thought && { reasoning_content: thought }),
    ...(finishReason === "length" && { is_complete: false }),
    ...(named && named.length > 0 && { tool_calls: named }),
  };
  return parseMessage(whole, turn);
}
