import { z } from "zod";
import type { Reply } from "./policy.ts";

const finishSchema = z.union([
  z.string().transform((type) => ({ type, matched: null, message: null })),
  z.object({
    type: z.string(),
    /** The stop text that was found, which is then cut off the text, or the id of the token that ended it. */
    matched: z.unknown().optional(),
    /** Why it was aborted. */
    message: z.unknown().optional(),
  }),
]);

const answerSchema = z.object({
  text: z.string(),
  output_ids: z.array(z.int()).nullish(),
  meta_info: z.object({
    finish_reason: finishSchema.nullish(),
    prompt_tokens: z.int().nullish(),
    completion_tokens: z.int().nullish(),
    output_token_logprobs: z.array(z.tuple([z.number().nullable(), z.int()], z.unknown())).nullish(),
    weight_version: z.union([z.string(), z.number().transform(String)]).nullish(),
  }),
});

/** More of what a server says would hide the rest of an error. */
const MAX_MESSAGE = 300;

type Answer = z.output<typeof answerSchema>;

/**
 * Reads an answer of SGLang's `/generate`. One `endOfTurn` at the end of its text is taken off.
 *
 * @throws {TypeError} when it is none, with what is wrong and nothing before it.
 */
export function sglangReply(answer: unknown, options: { endOfTurn: string }): Reply {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) {
    throw new TypeError(
      parsed.error.issues.map(({ path, message }) => `${path.join(".") || "answer"}: ${message}`).join(
        "; ",
      ),
    );
  }
  const { text, meta_info: told } = parsed.data;
  const { finish_reason: finish, weight_version: weightVersion } = told;
  const finishReason = finish?.type;
  const { prompt_tokens: promptTokens, completion_tokens: replyTokens } = told;
  const tokens = tokensOf(parsed.data);
  return {
    message: {
      role: "assistant",
      content: withoutEnd(text, options.endOfTurn),
      ...(finishReason === "length" && { is_complete: false }),
    },
    ...(finishReason && { finishReason }),
    ...(typeof finish?.message === "string" && { finishMessage: finish.message.slice(0, MAX_MESSAGE) }),
    ...(typeof finish?.matched === "string" && { stopText: finish.matched }),
    ...(tokens && { tokens }),
    ...(typeof promptTokens === "number" && typeof replyTokens === "number" && {
      usage: { promptTokens, replyTokens },
    }),
    ...(weightVersion && { weightVersion }),
  };
}

/**
 * The ids that were sampled, in the order that they were; one without a log-probability leaves all without. A server
 * that sampled ahead may have more log-probabilities than ids: those beyond are of what it threw away.
 */
function tokensOf(
  { output_ids: ids, meta_info: { output_token_logprobs: sampled } }: Answer,
): Reply["tokens"] {
  if (!sampled || (sampled.length === 0 && ids)) return ids ? { ids } : undefined;
  const kept = ids ? sampled.slice(0, ids.length) : sampled;
  const named = kept.map(([, id]) => id);
  if (ids && ids.join() !== named.join()) {
    throw new TypeError("output_ids: must be the ids of meta_info.output_token_logprobs: they are others");
  }
  const logProbs = kept.map(([logProb]) => logProb).filter((logProb) => logProb !== null);
  return { ids: named, ...(logProbs.length === named.length && { logProbs }) };
}

function withoutEnd(text: string, end: string): string {
  return end !== "" && text.endsWith(end) ? text.slice(0, -end.length) : text;
}
