import { requireKnownOptions } from "../options.ts";
import * as z from "zod";
import type { History } from "../history.ts";
import { DefaultMaxTokens } from "./default_max_tokens.ts";
import { postJson, serverUrl } from "../http/request.ts";
import type { ToolSpec } from "../message.ts";
import {
  listOf,
  MAX_TOKEN_VALUES,
  MODEL_SERVER_OPTIONS,
  ModelServer,
  type ModelServerOptions,
} from "./model_server.ts";
import { TokenError } from "../errors.ts";
import { isContextOverflow } from "./context_overflow.ts";
// @ts-types="./openai_reply.d.ts"
import { withoutEnd } from "./openai_reply.ts";
import { isAborted, isLengthReason, type Policy, type Reply, type ReplyContext } from "./policy.ts";
import { cacheProbes, requireTokenData } from "./token_data.ts";

/** Options of {@linkcode sglangPolicy}. */
export interface SglangPolicyOptions extends Omit<ModelServerOptions, "retryOn"> {
  /** URL of the server or router, such as `http://127.0.0.1:30000`, or of the server's `/generate`. */
  url: string | URL;
  /**
   * Name of the policy in trajectories.
   *
   * @default "sglang"
   */
  model?: string | undefined;
  /** Renders a conversation to the prompt text. Required if the env provides neither text nor token ids. */
  render?: ((history: History, tools: readonly ToolSpec[]) => string) | undefined;
  /** Sampling parameters with SGLang's names: `{ temperature: 1, max_new_tokens: 512, … }`. */
  samplingParams?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Value of `max_new_tokens` if `samplingParams` has none. A server that refuses the value gets the request again
   * without the value.
   *
   * @default none: the server samples 128 tokens
   */
  defaultMaxTokens?: number | undefined;
  /**
   * Requests the log-probability of each token. Without log-probabilities, the server may return no token ids.
   *
   * @default true
   */
  returnLogProb?: boolean | undefined;
  /**
   * The form of the prompt to send if the env provides both. Servers use ids unchanged, but may tokenize
   * `text` differently. For training it must be `ids`.
   *
   * @default "ids"
   */
  input?: "ids" | "text" | undefined;
  /**
   * Text that is removed once from the end of a reply.
   *
   * @default "<|im_end|>"
   */
  endOfTurn?: string | undefined;
}

/** Timeout of the request that cancels a reply, in milliseconds. */
const CANCEL_TIMEOUT_MS = 5_000;

/**
 * Creates a policy that uses SGLang's `/generate` endpoint, whose replies include the sampled token ids.
 *
 * The prompt is the env's token ids, or else the env's text, or else the result of `render`. Tool calls stay
 * in the text, where a transform parses them.
 *
 * Only failed connections are retried; every response counts. If the context's signal is aborted, the request
 * is cancelled on the server with `/abort_request`. For this, a request with a signal has an id, `rid`.
 *
 * @example
 * ```ts ignore
 * import { ChatEnv, loadTokenizer, rollout, sglangPolicy } from "@paddock/paddock";
 *
 * const tokenizer = await loadTokenizer("./Qwen3-0.6B");
 * await using env = new ChatEnv({ inputMode: "tokens", tokenizer });
 * const policy = sglangPolicy({ url: "http://127.0.0.1:30000", samplingParams: { max_new_tokens: 512 } });
 * const trajectory = await rollout(env, policy, { id: "1", query: "What is 6 times 7?" });
 * ```
 *
 * @throws {TypeError} if the URL is not an http or https URL.
 * @throws {RangeError} if a limit is out of range.
 */
export function sglangPolicy(options: SglangPolicyOptions): Policy {
  requireKnownOptions("call sglangPolicy", options, OPTIONS);
  const { url, model = "sglang", samplingParams = {}, returnLogProb = true, input = "ids" } = options;
  const { endOfTurn = "<|im_end|>" } = options;
  const endpoint = serverUrl(url, "/generate");
  const server = new ModelServer(endpoint, { ...options, retryOn: "connection" });
  const isLimited = samplingParams.max_new_tokens !== undefined;
  const limit = new DefaultMaxTokens(isLimited ? undefined : options.defaultMaxTokens);
  const reply = async (history: History, context: ReplyContext): Promise<Reply> => {
    const { signal, recordedChat, maxTokens, verifiesPrompt = false } = context;
    const prompt = promptOf(history, context, options);
    const response = await limit.apply((defaultTokens) => {
      const tokens = lowestOf(samplingParams.max_new_tokens ?? defaultTokens, maxTokens);
      const request = {
        ...prompt,
        sampling_params: { ...samplingParams, ...(tokens !== undefined && { max_new_tokens: tokens }) },
        ...(returnLogProb && { return_logprob: true }),
        // the server then lists the prompt too, and computes the prompt without the cache
        ...(verifiesPrompt && { logprob_start_len: 0 }),
      };
      return postCancellable(server, { endpoint, request, signal, options });
    });
    const reply = parseReply(response, { server, endOfTurn });
    requireFits(reply, server);
    if (recordedChat === undefined || prompt.input_ids === undefined) return reply;
    // the server uses ids unchanged, and may count discarded tokens of the reply
    const recordable = verifiesPrompt
      ? { ...reply, ...listedPrompt(response) }
      : { ...reply, promptIds: prompt.input_ids };
    requireTokenData(recordable, { countsReply: false });
    requireAllListed(response);
    return recordable;
  };
  // with the defaults, each version of the server returns ids, so that nothing has to be tried
  const isCertain = input === "ids" && returnLogProb;
  return { name: model, reply, ...(!isCertain && { probe: cacheProbes(reply) }) };
}

function lowestOf(own: unknown, limit: number | undefined): unknown {
  return typeof own === "number" && limit !== undefined ? Math.min(own, limit) : limit ?? own;
}

function parseReply(
  response: unknown,
  { server, endOfTurn }: { server: ModelServer; endOfTurn: string },
): Reply {
  try {
    return parseSglangReply(response, { endOfTurn });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw server.badResponseError(`sent a response unlike that of /generate: ${error.message}`);
  }
}

/**
 * Checks that the server did not give up the reply because the prompt is too long: the scheduler answers 200 then,
 * with the reason `abort`.
 *
 * @throws {PolicyError} if the server gave up.
 */
function requireFits(reply: Reply, server: ModelServer): void {
  const { finishMessage = "" } = reply;
  if (!isAborted(reply) || !isContextOverflow({ status: 200, body: finishMessage })) return;
  throw server.badResponseError(`aborted its reply: ${finishMessage}`, "context_overflow");
}

const listedPromptSchema = z.object({
  meta_info: z.object({ input_token_logprobs: listOf(z.tuple([z.unknown(), z.int()], z.unknown())) }),
});

/** Returns the ids of the prompt that the server lists beside their log-probabilities, if present. */
function listedPrompt(response: unknown): Pick<Reply, "promptIds"> {
  const { data } = listedPromptSchema.safeParse(response);
  return data === undefined ? {} : { promptIds: data.meta_info.input_token_logprobs.map(([, id]) => id) };
}

/**
 * Checks that a valid response lists as many tokens as the server counted. The response may list more tokens, which the
 * server sampled ahead and discarded.
 *
 * @throws {TokenError} if the response lists fewer.
 */
function requireAllListed(response: unknown): void {
  const { output_ids: ids, meta_info: { output_token_logprobs: sampled, completion_tokens: count } } = Object(
    response,
  );
  const listed = Math.max(ids?.length ?? 0, sampled?.length ?? 0);
  if (!sampled || typeof count !== "number" || count <= listed) return;
  throw new TokenError(
    `Cannot record reply as its server must return the ids of all ${count} tokens: it returned ${listed}`,
  );
}

interface CancellableRequest {
  readonly endpoint: URL;
  readonly request: object;
  readonly signal: AbortSignal | undefined;
  readonly options: SglangPolicyOptions;
}

/** Posts a request, and cancels the request on the server if the signal is aborted. */
async function postCancellable(
  server: ModelServer,
  { endpoint, request, signal, options }: CancellableRequest,
): Promise<unknown> {
  if (signal === undefined) return await server.post(request, { maxValues: MAX_TOKEN_VALUES });
  const rid = crypto.randomUUID();
  const onAborted = () => abortRequest(endpoint, rid, options);
  return await server.post({ ...request, rid }, { signal, onAborted, maxValues: MAX_TOKEN_VALUES });
}

/** Cancels a request to SGLang. A failure is ignored: an unreachable server samples no more either. */
async function abortRequest(generate: URL, rid: string, options: SglangPolicyOptions): Promise<void> {
  const url = new URL(generate);
  url.pathname = url.pathname.replace(/\/generate$/, "/abort_request");
  const { apiKey } = options;
  const headers = { ...(apiKey && { authorization: `Bearer ${apiKey}` }), ...options.headers };
  await postJson(url, JSON.stringify({ rid }), { headers, timeoutMs: CANCEL_TIMEOUT_MS });
}

/** Prompt of a request: as ids or as text. */
interface SglangPrompt {
  readonly input_ids?: readonly number[];
  readonly text?: string;
}

function promptOf(history: History, context: ReplyContext, options: SglangPolicyOptions): SglangPrompt {
  const { tokens, text, tools = [], recordedChat } = context;
  const { render, input = "ids" } = options;
  if (recordedChat !== undefined && input === "text") {
    throw new TokenError(
      "Cannot record reply as 'input' must be 'ids' for training, since a server encodes text itself: current value is 'text'",
    );
  }
  if (tokens !== undefined && (input === "ids" || text === undefined)) return { input_ids: tokens };
  if (text !== undefined) return { text };
  if (render !== undefined) return { text: render(history, tools) };
  throw new TypeError(
    "Cannot send prompt to SGLang as the env must provide text or token ids, or the policy 'render': found neither",
  );
}

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
  output_ids: z.nullish(listOf(z.int())),
  meta_info: z.object({
    finish_reason: finishSchema.nullish().catch(null),
    prompt_tokens: z.int().nonnegative().nullish().catch(null),
    completion_tokens: z.int().nonnegative().nullish().catch(null),
    output_token_logprobs: z.nullish(listOf(z.tuple([z.number().nullable(), z.int()], z.unknown()))),
    weight_version: z.union([z.string(), z.number().transform(String)]).nullish(),
  }),
});

/** Maximum number of issues that an error describes. */
const MAX_ISSUES = 10;

/** Maximum length of the server's message, in characters, so that the message does not hide the rest of an error. */
const MAX_MESSAGE_LENGTH = 300;

type GenerateResponse = z.output<typeof responseSchema>;

/**
 * Parses a response of SGLang's `/generate`. One `endOfTurn` is removed from the end of the text.
 *
 * @throws {TypeError} if the value is not such a response; the message contains only the issues.
 */
function parseSglangReply(response: unknown, options: { endOfTurn: string }): Reply {
  const parsed = responseSchema.safeParse(response);
  if (!parsed.success) {
    throw new TypeError(
      parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) =>
        `${path.join(".") || "answer"}: ${message}`
      ).join(
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
      ...(isLengthReason(finishReason) && { is_complete: false }),
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
 * Returns the sampled ids in order, with their log-probabilities unless any is missing. A server that sampled
 * ahead may return more log-probabilities than ids; the surplus belongs to discarded tokens.
 */
function tokensOf(
  { output_ids: ids, meta_info: { output_token_logprobs: sampled } }: GenerateResponse,
): Reply["tokens"] {
  if (ids?.length === 0) return { ids, logProbs: [] };
  if (!sampled || (sampled.length === 0 && ids)) return ids ? { ids } : undefined;
  const kept = ids ? sampled.slice(0, ids.length) : sampled;
  const sampledIds = kept.map(([, id]) => id);
  if (ids && ids.join() !== sampledIds.join()) {
    throw new TypeError("output_ids: must equal the ids of meta_info.output_token_logprobs: found other ids");
  }
  const logProbs = kept.map(([logProb]) => logProb).filter((logProb) => logProb !== null);
  return { ids: sampledIds, ...(logProbs.length === sampledIds.length && { logProbs }) };
}

const { retryOn: _always, ...SERVER_OPTIONS } = MODEL_SERVER_OPTIONS;

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof SglangPolicyOptions, true>> = {
  url: true,
  model: true,
  render: true,
  samplingParams: true,
  defaultMaxTokens: true,
  returnLogProb: true,
  input: true,
  endOfTurn: true,
  ...SERVER_OPTIONS,
};
