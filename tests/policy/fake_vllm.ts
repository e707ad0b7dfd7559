import { Template } from "../../src/chat/jinja/template.ts";
import type { Tokenizer } from "../../src/chat/tokenizer.ts";
import { FakeServer, type SeenRequest } from "./fake_server.ts";

/** A message of a chat request. */
export interface WireMessage {
  role: string;
  content: string | { text?: string }[] | null;
  tool_calls?: { function: { name: string; arguments: unknown } }[];
  [field: string]: unknown;
}

/** The tokens of one request. */
export interface ServedTokens {
  readonly promptIds: readonly number[];
  /** Sampled ids, with the token that ends the turn. */
  readonly ids: readonly number[];
  readonly logProbs: readonly number[];
  readonly finishReason: "stop" | "length";
}

/** Options of {@linkcode FakeVllm}. */
export interface FakeVllmOptions {
  /** The server's own tokenizer. */
  tokenizer: Tokenizer;
  /**
   * The server's own chat template.
   *
   * @default the tokenizer's template
   */
  chatTemplate?: string | undefined;
  /** Returns the reply to a prompt, as text or ids, with the token that ends the turn. */
  sample: (prompt: string, request: number) => string | readonly number[];
  /**
   * Names of the token data: those of vLLM, of SGLang 0.5.13 (`meta_info`, chat only), of newer versions of SGLang
   * (`return_token_ids`), or none, as of a server that only knows OpenAI's API.
   *
   * @default "vllm"
   */
  wire?: "vllm" | "sglang-0.5.13" | "sglang" | "openai" | undefined;
  /** Returns the thought of a chat reply in `reasoning_content`, as with `--reasoning-parser`. @default false */
  separatesReasoning?: boolean | undefined;
  /** Returns calls in `<tool_call>` of a chat reply in `tool_calls`, as with `--tool-call-parser hermes`. @default false */
  parsesCalls?: boolean | undefined;
  /** Changes the messages of a chat before they are rendered. */
  editMessages?: ((messages: WireMessage[]) => WireMessage[]) | undefined;
  /** Changes the ids of a prompt before the model gets them: a server that encodes again, or truncates. */
  editPrompt?: ((ids: number[]) => number[]) | undefined;
  /** Returns the response to a prompt that the server refuses. */
  refuse?: ((promptIds: readonly number[]) => Response | undefined) | undefined;
  /** Changes a response before it is sent. `request` is its number, from 1. */
  // deno-lint-ignore no-explicit-any -- each test knows the response that it changes
  lie?: ((response: any, request: number) => unknown) | undefined;
}

/**
 * A server in the form of vLLM and SGLang on loopback, with its own tokenizer and chat template: `/v1/chat/completions`,
 * `/v1/completions` and SGLang's `/generate`. It encodes and renders without any of Paddock's own chat code.
 */
export class FakeVllm implements AsyncDisposable {
  /** Requests and their tokens, in order. `promptIds` is the prompt that the model really got. */
  readonly served: (SeenRequest & ServedTokens)[] = [];
  readonly url: string;
  readonly #options: FakeVllmOptions;
  readonly #server: FakeServer;

  constructor(options: FakeVllmOptions) {
    this.#options = options;
    this.#server = new FakeServer((request) => this.#respond(request));
    this.url = this.#server.url;
  }

  /** All requests. */
  get seen(): readonly SeenRequest[] {
    return this.#server.seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  #respond(request: SeenRequest): Response {
    const { path, body } = request;
    const endpoint = ENDPOINTS[path];
    if (endpoint === undefined) return Response.json({ error: { message: "Not Found" } }, { status: 404 });
    const prompt = this.#promptOf(path, body);
    const refusal = this.#options.refuse?.(prompt);
    if (refusal !== undefined) return refusal;
    const tokens = this.#sample(prompt, endpoint.maxTokensOf(body));
    this.served.push({ ...request, ...tokens });
    const response = endpoint.respond(tokens, body, this.#options);
    this.#options.lie?.(response, this.served.length);
    return Response.json(response);
  }

  #promptOf(path: string, body: SeenRequest["body"]): number[] {
    const { tokenizer, editPrompt = (ids) => ids } = this.#options;
    const prompt = path.endsWith("/chat/completions")
      ? this.#render(body.messages, body.tools)
      : body.prompt ?? body.input_ids ?? body.text ?? [];
    return editPrompt(typeof prompt === "string" ? tokenizer.encode(prompt) : [...prompt]);
  }

  #render(messages: WireMessage[], tools: object[] | undefined): string {
    const { tokenizer, chatTemplate = tokenizer.chatTemplate ?? "", editMessages = (all) => all } =
      this.#options;
    return new Template(chatTemplate).render({
      messages: editMessages(messages.map(templateMessage)),
      tools: tools ?? null,
      add_generation_prompt: true,
      bos_token: tokenizer.bosToken ?? "",
      eos_token: tokenizer.eosToken ?? "",
    });
  }

  #sample(promptIds: number[], maxTokens: number | null | undefined): ServedTokens {
    const { tokenizer, sample } = this.#options;
    const sampled = sample(tokenizer.decode(promptIds), this.served.length + 1);
    const all = typeof sampled === "string" ? tokenizer.encode(sampled) : sampled;
    const ids = all.slice(0, maxTokens ?? Infinity);
    return {
      promptIds,
      ids,
      logProbs: ids.map((id) => -0.125 - (id % 7)),
      finishReason: ids.length < all.length ? "length" : "stop",
    };
  }
}

interface Endpoint {
  /** Maximum number of tokens of a request; null and undefined stand for no limit. */
  maxTokensOf(body: SeenRequest["body"]): number | null | undefined;
  respond(tokens: ServedTokens, body: SeenRequest["body"], options: FakeVllmOptions): object;
}

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  "/v1/chat/completions": {
    maxTokensOf: ({ max_completion_tokens, max_tokens }) => max_completion_tokens ?? max_tokens,
    respond: chatCompletion,
  },
  "/v1/completions": { maxTokensOf: ({ max_tokens = 16 }) => max_tokens, respond: textCompletion },
  "/generate": {
    maxTokensOf: ({ sampling_params = {} }) => sampling_params.max_new_tokens,
    respond: generateResponse,
  },
  "/abort_request": { maxTokensOf: () => 0, respond: () => ({}) },
};

function chatCompletion(tokens: ServedTokens, body: SeenRequest["body"], options: FakeVllmOptions): object {
  const { wire = "vllm", tokenizer } = options;
  const { promptIds, ids, logProbs, finishReason } = tokens;
  const content = ids.map((id, at) => ({ token: tokenizer.decode([id]), logprob: logProbs[at] }));
  const { message, calls } = chatMessage(textOf(tokens, body, options), options);
  const hasOldNames = wire === "sglang-0.5.13" || wire === "sglang";
  const choice = {
    index: 0,
    message: { role: "assistant", ...message },
    logprobs: body.logprobs ? { content } : null,
    finish_reason: calls ? "tool_calls" : finishReason,
    ...(wire === "vllm" && body.return_token_ids && { token_ids: ids }),
    ...(wire === "sglang" && body.return_token_ids && { prompt_token_ids: promptIds, token_ids: ids }),
    ...(hasOldNames && body.return_prompt_token_ids && { prompt_token_ids: promptIds }),
    ...(hasOldNames && body.return_meta_info && {
      meta_info: body.logprobs
        ? { output_token_logprobs: ids.map((id, at) => [logProbs[at], id, null]) }
        : {},
    }),
  };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [choice],
    usage: usageOf(tokens),
    ...(wire === "vllm" && body.return_token_ids && { prompt_token_ids: promptIds }),
    ...(hasOldNames && { metadata: { weight_version: "default" } }),
  };
}

function textCompletion(tokens: ServedTokens, body: SeenRequest["body"], options: FakeVllmOptions): object {
  const { wire = "vllm", tokenizer } = options;
  const { promptIds, ids, logProbs, finishReason } = tokens;
  const hasIds = (wire === "vllm" || wire === "sglang") && body.return_token_ids;
  return {
    id: "cmpl-1",
    object: "text_completion",
    choices: [{
      index: 0,
      text: textOf(tokens, body, options),
      logprobs: body.logprobs === undefined || body.logprobs === null ? null : {
        tokens: ids.map((id) => tokenizer.decode([id])),
        token_logprobs: logProbs,
      },
      finish_reason: finishReason,
      ...(hasIds && { prompt_token_ids: promptIds, token_ids: ids }),
    }],
    usage: usageOf(tokens),
    ...(wire === "sglang" && { metadata: { weight_version: "default" } }),
  };
}

function generateResponse(tokens: ServedTokens, body: SeenRequest["body"], options: FakeVllmOptions): object {
  const { promptIds, ids, logProbs, finishReason } = tokens;
  const { sampling_params = {} } = body;
  return {
    text: textOf(tokens, sampling_params, options),
    output_ids: ids,
    meta_info: {
      finish_reason: { type: finishReason },
      prompt_tokens: promptIds.length,
      completion_tokens: ids.length,
      weight_version: "default",
      ...(body.return_logprob && {
        output_token_logprobs: ids.map((id, at) => [logProbs[at], id, null]),
      }),
      ...(body.return_logprob && body.logprob_start_len === 0 && {
        input_token_logprobs: promptIds.map((id, at) => [at === 0 ? null : -0.5, id, null]),
      }),
    },
  };
}

/** Decodes a reply as servers do: without special tokens, unless the request keeps them. */
function textOf(
  { ids }: ServedTokens,
  { skip_special_tokens: skips = true }: { skip_special_tokens?: boolean },
  { tokenizer }: FakeVllmOptions,
): string {
  const specials = new Set(tokenizer.specialTokens.flatMap((token) => tokenizer.encode(token)));
  return tokenizer.decode(skips ? ids.filter((id) => !specials.has(id)) : ids);
}

const CALL = /<tool_call>\n(\{[^\n]*\})\n<\/tool_call>/g;

function chatMessage(
  text: string,
  { separatesReasoning, parsesCalls }: FakeVllmOptions,
): { message: object; calls: boolean } {
  const [, thought, rest = text] =
    (separatesReasoning ? /^<think>\n?([^]*?)\n?<\/think>\n*([^]*)$/.exec(text) : null) ?? [];
  const calls = parsesCalls ? [...rest.matchAll(CALL)].map(([, json = "{}"]) => JSON.parse(json)) : [];
  const content = calls.length > 0 ? rest.slice(0, rest.indexOf("<tool_call>")).trimEnd() || null : rest;
  const tool_calls = calls.map(({ name, arguments: args }, at) => ({
    id: `call_${at}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  return {
    message: {
      content,
      ...(thought !== undefined && { reasoning_content: thought }),
      ...(calls.length > 0 && { tool_calls }),
    },
    calls: calls.length > 0,
  };
}

function usageOf({ promptIds, ids }: ServedTokens): object {
  return {
    prompt_tokens: promptIds.length,
    completion_tokens: ids.length,
    total_tokens: promptIds.length + ids.length,
  };
}

/** Joins text parts and parses the arguments of calls, as vLLM does before it renders. */
function templateMessage(message: WireMessage): WireMessage {
  const { content, tool_calls: calls } = message;
  const text = Array.isArray(content) ? content.map(({ text = "" }) => text).join("\n") : content ?? "";
  if (calls === undefined) return { ...message, content: text };
  const parsed = calls.map((call) => {
    const { name, arguments: args } = call.function;
    return { ...call, function: { name, arguments: typeof args === "string" ? JSON.parse(args) : args } };
  });
  return { ...message, content: text, tool_calls: parsed };
}
