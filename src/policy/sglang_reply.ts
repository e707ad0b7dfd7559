import { z } from "zod";
import type { Reply } from "./policy.ts";

const finishSchema = z.union([
  z.string().transform((type) => ({ type, matched: null, message: null })),
  z.object({
    type: z.string(),
    /** The stop text, which the server removes from the text, or the id of the end token. */
    matched: z.unknown().optional(),
    /** The reason of an abort. */
    message: z.unknown().optional(),
  }),
]);

const responseSchema = z.object({
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

/** Maximum length of the server's message, in characters, so that it does not hide the rest of an error. */
const MAX_MESSAGE_LENGTH = 300;

type GenerateResponse = z.output<typeof responseSchema>;

/**
 * Parses a response of SGLang's `/generate`. One `endOfTurn` is removed from the end of its text.
 *
 * @throws {TypeError} if it is not such a response; the message contains only the issues.
 */
export function parseSglangReply(response: unknown, options: { endOfTurn: string }): Reply {
  const parsed = responseSchema.safeParse(response);
  if (!parsed.success) {
    throw new TypeError(
      parsed.error.issues.map(({ path, message }) => `${path.join(".") || "answer"}: ${message}`).join(
        "; ",
      ),
    );
  }
  const { text, meta_info: metaInfo } = parsed.data;
  const { finish_reason: finish, weight_version: weightVersion } = metaInfo;
  const finishReason = finish?.type;
  const { prompt_tokens: promptTokens, completion_tokens: replyTokens } = metaInfo;
  const tokens = tokensOf(parsed.data);
  return {
    message: {
      role: "assistant",
      content: withoutEnd(text, options.endOfTurn),
      ...(finishReason === "length" && { is_complete: false }),
    },
    ...(finishReason && { finishReason }),
    ...(typeof finish?.message === "string" &&
      { finishMessage: finish.message.slice(0, MAX_MESSAGE_LENGTH) }),
    ...(typeof finish?.matched === "string" && { stopText: finish.matched }),
    ...(tokens && { tokens }),
    ...(typeof promptTokens === "number" && typeof replyTokens === "number" && {
      usage: { promptTokens, replyTokens },
    }),
    ...(weightVersion && { weightVersion }),
  };
}

/**
 * Returns the sampled ids in order, with their log-probabilities unless one is missing. A server that sampled
 * ahead may return more log-probabilities than ids; the surplus belongs to discarded tokens.
 */
function tokensOf(
  { output_ids: ids, meta_info: { output_token_logprobs: sampled } }: GenerateResponse,
): Reply["tokens"] {
  if (!sampled || (sampled.length === 0 && ids)) return ids ? { ids } : undefined;
  const kept = ids ? sampled.slice(0, ids.length) : sampled;
  const sampledIds = kept.map(([, id]) => id);
  if (ids && ids.join() !== sampledIds.join()) {
    throw new TypeError("output_ids: must equal the ids of meta_info.output_token_logprobs: found other ids");
  }
  const logProbs = kept.map(([logProb]) => logProb).filter((logProb) => logProb !== null);
  return { ids: sampledIds, ...(logProbs.length === sampledIds.length && { logProbs }) };
}

function withoutEnd(text: string, end: string): string {
  return end !== "" && text.endsWith(end) ? text.slice(0, -end.length) : text;
}
