import * as z from "zod";
import { TokenError } from "../errors.ts";
import type { History } from "../history.ts";
import { serverUrl } from "../http/request.ts";
import { requireKnownOptions } from "../options.ts";
import { ReplyLogProbs } from "./llama_cpp_log_probs.ts";
import {
  listOf,
  MAX_TOKEN_VALUES,
  MODEL_SERVER_OPTIONS,
  ModelServer,
  type ModelServerOptions,
} from "./model_server.ts";
// @ts-types="./openai_reply.d.ts"
import { withoutEnd } from "./openai_reply.ts";
import type { Policy, Reply, ReplyContext } from "./policy.ts";
import { cacheProbes, requireTokenData } from "./token_data.ts";

/** Options of {@linkcode llamaCppPolicy}. */
export interface LlamaCppPolicyOptions extends ModelServerOptions {
  /** URL of `llama-server`, such as `http://127.0.0.1:8080`, or of the server's `/completion`. */
  url: string | URL;
  /**
   * Name of the model: of the policy in trajectories, and of the field `model` of each request, by which a router of
   * several models chooses.
   *
   * @default "llama.cpp", and no field
   */
  model?: string | undefined;
  /**
   * Sampling parameters with llama.cpp's names: `{ temperature: 0.7, n_predict: 512, … }`. llama.cpp's own defaults cut
   * the distribution (`temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05`). The policy samples from the whole
   * distribution, to which the recorded log-probabilities belong.
   *
   * @default { temperature: 1, top_k: 0, top_p: 1, min_p: 0 }
   */
  samplingParams?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Text that is removed once from the end of a reply.
   *
   * @default "<|im_end|>"
   */
  endOfTurn?: string | undefined;
}

/**
 * Creates a policy that uses `/completion` of llama.cpp's server, whose replies include the sampled token ids.
 *
 * The prompt is the env's token ids, or else the env's text. Tool calls and thoughts stay in the text, where a transform
 * parses them. For training, the server must be of December 2024 or newer (`return_tokens`), without context shift. The
 * text of the prompt that the server reports is compared with the text of the ids that were sent, so that a model with
 * another vocabulary is found.
 *
 * llama.cpp reports no log-probability of a token that ends within a character or belongs to a stop text. The policy
 * requests each missing log-probability by a separate request, which evaluates the same prompt up to that token.
 *
 * For evaluation, `openaiPolicy()` with the same server sends messages and tools to `/v1/chat/completions`.
 *
 * @example
 * ```ts ignore
 * import { ChatEnv, llamaCppPolicy, loadTokenizer, rollout } from "@paddock/paddock";
 *
 * const tokenizer = await loadTokenizer("./SmolLM2-135M-Instruct");
 * await using env = new ChatEnv({ inputMode: "tokens", tokenizer });
 * const policy = llamaCppPolicy({ url: "http://127.0.0.1:8080", samplingParams: { n_predict: 512 } });
 * const trajectory = await rollout(env, policy, { id: "1", query: "What is 6 times 7?" });
 * ```
 *
 * @throws {TypeError} if the URL is not an http or https URL.
 * @throws {RangeError} if a limit is out of range.
 */
export function llamaCppPolicy(options: LlamaCppPolicyOptions): Policy {
  requireKnownOptions("call llamaCppPolicy", options, LLAMA_CPP_POLICY_OPTIONS);
  const { model, endOfTurn = "<|im_end|>" } = options;
  const server = new ModelServer(serverUrl(options.url, "/completion"), options);
  const reply = async (_history: History, context: ReplyContext): Promise<Reply> => {
    const { signal, recordedChat, tokens, text } = context;
    const request = completionRequest(context, options);
    const response = parseResponse(
      await server.post(request, { signal, maxValues: MAX_TOKEN_VALUES }),
      server,
    );
    const reply = toReply(response, endOfTurn);
    if (recordedChat === undefined || tokens === undefined) return reply;
    requireTokenData({ ...reply, promptIds: tokens });
    requireSameText(response.prompt, text);
    requireWholeContext(response);
    const logProbs = await new ReplyLogProbs(server, { model, prompt: tokens, signal })
      .of(response.tokens ?? [], response.completion_probabilities ?? []);
    return {
      ...reply,
      promptIds: tokens,
      tokens: { ids: response.tokens ?? [], ...(logProbs && { logProbs }) },
    };
  };
  return { name: model ?? "llama.cpp", reply, probe: cacheProbes(reply) };
}

/** The model's own distribution. */
const WHOLE_DISTRIBUTION = { temperature: 1, top_k: 0, top_p: 1, min_p: 0 };

function completionRequest(
  { tokens, text, recordedChat, maxTokens, seed }: ReplyContext,
  { model, samplingParams = {} }: LlamaCppPolicyOptions,
): object {
  const prompt = tokens ?? text;
  if (prompt === undefined) {
    throw new TypeError(
      "Cannot send prompt to llama.cpp as the env must provide text or token ids: found neither",
    );
  }
  const own = samplingParams.n_predict;
  const lowest = maxTokens === undefined || (typeof own === "number" && own >= 0 && own < maxTokens)
    ? undefined
    : maxTokens;
  return {
    ...WHOLE_DISTRIBUTION,
    ...(seed !== undefined && { seed }),
    ...samplingParams,
    ...(model !== undefined && { model }),
    ...(lowest !== undefined && { n_predict: lowest }),
    prompt,
    stream: false,
    return_tokens: true,
    // log-probabilities of the model's distribution, which samplers have not changed
    ...(recordedChat && { n_probs: 1, post_sampling_probs: false }),
  };
}

const count = z.int().nonnegative();

const responseSchema = z.object({
  content: z.string(),
  /** All sampled ids, if the request has `return_tokens`, also ids of a stop text, and the id that ends the turn. */
  tokens: z.nullish(listOf(z.int())),
  tokens_predicted: count,
  tokens_evaluated: count,
  /** Number of tokens in the cache at the end. */
  tokens_cached: count.nullish().catch(null),
  /** Text of the prompt's tokens. */
  prompt: z.string().nullish().catch(null),
  /** True if the context became full: the reply ended, or, with context shift, tokens of the prompt were dropped. */
  truncated: z.boolean().nullish().catch(null),
  stop_type: z.string().nullish().catch(null),
  stopping_word: z.string().nullish().catch(null),
  completion_probabilities: z.nullish(listOf(z.object({ id: z.int(), logprob: z.number().nullish() }))),
});

type CompletionResponse = z.output<typeof responseSchema>;

/** Maximum number of issues that an error describes. */
const MAX_ISSUES = 10;

/** @throws {PolicyError} if the value is not a response of `/completion`. */
function parseResponse(response: unknown, server: ModelServer): CompletionResponse {
  const parsed = responseSchema.safeParse(response);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${path.join(".") || "answer"}: ${message}`);
  throw server.badResponseError(`sent a response unlike that of /completion: ${issues.join("; ")}`);
}

/** Finish reasons of OpenAI's API for llama.cpp's. */
const FINISH_REASONS: Readonly<Record<string, string>> = { eos: "stop", word: "stop", limit: "length" };

function toReply(response: CompletionResponse, endOfTurn: string): Reply {
  const { content, tokens, tokens_evaluated, tokens_predicted, stop_type, stopping_word } = response;
  const finishReason = FINISH_REASONS[stop_type ?? ""];
  return {
    message: {
      role: "assistant",
      content: withoutEnd(content, endOfTurn),
      ...(finishReason === "length" && { is_complete: false }),
    },
    ...(finishReason && { finishReason }),
    ...(stop_type === "word" && stopping_word && { stopText: stopping_word }),
    ...(tokens && { tokens: { ids: tokens } }),
    usage: { promptTokens: tokens_evaluated, replyTokens: tokens_predicted },
  };
}

/**
 * Checks that the server's vocabulary has the texts of the recorded vocabulary. Spaces are not compared, which some
 * tokenizers add or remove when they decode.
 *
 * @throws {TokenError} if a text differs.
 */
function requireSameText(served: string | null | undefined, recorded: string | undefined): void {
  if (!served || recorded === undefined || comparable(served) === comparable(recorded)) return;
  throw new TokenError(
    "Cannot record reply as the server's model must have the tokenizer of the record: it reads the ids of the prompt as " +
      `${shown(served)}, which are ${shown(recorded)}`,
  );
}

function comparable(text: string): string {
  return text.normalize("NFC").replace(/[\s\ufffd]/g, "");
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/**
 * Checks that the server dropped no tokens of the context while sampling.
 *
 * @throws {TokenError} if the server dropped tokens, as with `--context-shift`.
 */
function requireWholeContext(response: CompletionResponse): void {
  const { truncated, tokens_cached: cached, tokens_evaluated, tokens_predicted } = response;
  // the last token is sampled, and not yet in the cache
  const all = tokens_evaluated + Math.max(0, tokens_predicted - 1);
  if (!truncated || typeof cached !== "number" || cached >= all) return;
  throw new TokenError(
    `Cannot record reply as its server must keep all ${all} tokens of the context: it kept ${cached}; start it without --context-shift`,
  );
}

/** Names of the options of {@linkcode llamaCppPolicy}. */
export const LLAMA_CPP_POLICY_OPTIONS: Readonly<Record<keyof LlamaCppPolicyOptions, true>> = {
  url: true,
  model: true,
  samplingParams: true,
  endOfTurn: true,
  ...MODEL_SERVER_OPTIONS,
};
