import type { Tokenizer } from "../../src/chat/tokenizer.ts";
import { FakeServer, type SeenRequest } from "./fake_server.ts";

/** Options of {@linkcode FakeLlamaCpp}. */
export interface FakeLlamaCppOptions {
  /** The tokenizer of the server's model. */
  tokenizer: Tokenizer;
  /** Returns the sampled ids of a reply, with the token that ends the turn. */
  sample: (prompt: string, request: number) => readonly number[];
  /** Number of tokens of a slot's context. @default 100_000 */
  contextSize?: number | undefined;
  /** Drops tokens of a full context and samples on, as with `--context-shift`. @default false */
  shiftsContext?: boolean | undefined;
  /** Refuses a grammar, so that missing log-probabilities cannot be requested. @default false */
  refusesGrammar?: boolean | undefined;
  /** Changes a response before it is sent. */
  // deno-lint-ignore no-explicit-any -- each test knows the response that it changes
  lie?: ((response: any) => unknown) | undefined;
}

/** What a request sampled. */
interface Sampled {
  readonly prompt: readonly number[];
  readonly ids: readonly number[];
  readonly stopType: "eos" | "word" | "limit";
  readonly stoppingWord: string;
}

/**
 * A server on loopback that answers `/completion` as llama.cpp's `llama-server` of October 2026 does (compared with
 * xllamacpp 2026.10 and SmolLM2-135M-Instruct): all sampled ids with `return_tokens`, and log-probabilities only of the
 * tokens after which the text is whole, without as many at the end as the stop text has.
 */
export class FakeLlamaCpp implements AsyncDisposable {
  readonly url: string;
  readonly #options: FakeLlamaCppOptions;
  readonly #server: FakeServer;
  #sampled = 0;

  constructor(options: FakeLlamaCppOptions) {
    this.#options = options;
    this.#server = new FakeServer((request) => this.#respond(request));
    this.url = this.#server.url;
  }

  get seen(): readonly SeenRequest[] {
    return this.#server.seen;
  }

  /** The log-probability of a token of the model: it depends on the token and its position. */
  static logProbOf(position: number, id: number): number {
    return -0.125 - (id % 7) - (position % 5) / 8;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  #respond({ path, body }: SeenRequest): Response {
    if (path !== "/completion") return refusal(404, "File Not Found", "not_found_error");
    const { contextSize = 100_000, refusesGrammar, tokenizer, lie } = this.#options;
    const prompt: number[] = typeof body.prompt === "string" ? tokenizer.encode(body.prompt) : body.prompt;
    if (prompt.length >= contextSize) {
      const reason =
        `request (${prompt.length} tokens) exceeds the available context size (${contextSize} tokens)`;
      return refusal(400, reason, "exceed_context_size_error");
    }
    if (body.grammar !== undefined && refusesGrammar) {
      return refusal(400, "Failed to parse grammar", "invalid_request_error");
    }
    const response = this.#complete(prompt, body);
    lie?.(response);
    return Response.json(response);
  }

  #complete(prompt: readonly number[], body: SeenRequest["body"]): object {
    const sampled = this.#sample(prompt, body);
    const { contextSize = 100_000, shiftsContext = false, tokenizer } = this.#options;
    const { ids, stopType, stoppingWord } = sampled;
    const held = prompt.length + Math.max(0, ids.length - 1);
    return {
      index: 0,
      content: this.#contentOf(sampled),
      tokens: body.return_tokens ? ids : [],
      id_slot: 0,
      stop: true,
      model: "model.gguf",
      tokens_predicted: ids.length,
      tokens_evaluated: prompt.length,
      prompt: tokenizer.decode(prompt),
      has_new_line: false,
      truncated: held + 1 >= contextSize,
      stop_type: stopType,
      stopping_word: stoppingWord,
      tokens_cached: shiftsContext && held >= contextSize ? Math.floor(contextSize / 2) : held,
      ...(body.n_probs > 0 && { completion_probabilities: this.#listed(sampled, body) }),
    };
  }

  #sample(prompt: readonly number[], body: SeenRequest["body"]): Sampled {
    const { tokenizer, sample, contextSize = 100_000, shiftsContext = false } = this.#options;
    const end = this.#endId();
    if (body.grammar === 'root ::= ""') return { prompt, ids: [end], stopType: "eos", stoppingWord: "" };
    const all = sample(tokenizer.decode(prompt), ++this.#sampled);
    const stops: string[] = body.stop ?? [];
    for (const at of all.keys()) {
      const text = tokenizer.decode(all.slice(0, at + 1));
      const stoppingWord = stops.find((stop) => text.includes(stop));
      if (stoppingWord !== undefined) {
        return { prompt, ids: all.slice(0, at + 1), stopType: "word", stoppingWord };
      }
    }
    const room = shiftsContext ? Infinity : contextSize - prompt.length;
    const limit = Math.min(body.n_predict >= 0 ? body.n_predict : Infinity, room);
    const ids = all.slice(0, limit);
    return { prompt, ids, stopType: ids.at(-1) === end ? "eos" : "limit", stoppingWord: "" };
  }

  #contentOf({ ids, stoppingWord }: Pick<Sampled, "ids" | "stoppingWord">): string {
    const text = this.#options.tokenizer.decode(ids.filter((id) => id !== this.#endId()));
    return stoppingWord === "" ? text : text.slice(0, text.indexOf(stoppingWord));
  }

  #listed({ prompt, ids, stoppingWord }: Sampled, { n_probs }: SeenRequest["body"]): object[] {
    const { tokenizer } = this.#options;
    const whole = ids.flatMap((id, at) => {
      if (this.#contentOf({ ids: ids.slice(0, at + 1), stoppingWord: "" }).endsWith("\ufffd")) return [];
      const position = prompt.length + at;
      const top = Array.from({ length: Math.min(n_probs, 256) }, (_, id) => ({
        id,
        token: "",
        bytes: [],
        logprob: FakeLlamaCpp.logProbOf(position, id),
      }));
      return [{ id, token: "", bytes: [], logprob: FakeLlamaCpp.logProbOf(position, id), top_logprobs: top }];
    });
    return whole.slice(0, whole.length - (stoppingWord === "" ? 0 : tokenizer.encode(stoppingWord).length));
  }

  #endId(): number {
    const { tokenizer } = this.#options;
    return tokenizer.encode(tokenizer.eosToken ?? "")[0] ?? 0;
  }
}

function refusal(code: number, message: string, type: string): Response {
  return Response.json({ error: { code, message, type } }, { status: code });
}
