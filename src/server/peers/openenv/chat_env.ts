import * as z from "zod";
import type { Tokenizer } from "../../../chat/tokenizer.ts";
import { MAX_EPISODE_TOKENS } from "../../limits.ts";
import { ServerError } from "../../http/http_errors.ts";
import type { EnvResponse, OpenEnv, OpenEnvKind, resetData } from "./env_kind.ts";

const ids = z.array(z.int().nonnegative());

/** Action: sampled token ids. Nested lists are joined. */
const chatAction = z.strictObject({
  tokens: z.union([ids.min(1), z.array(ids.min(1)).min(1)]).transform((tokens) => tokens.flat()),
  metadata: z.record(z.string(), z.unknown()).default({}),
});

const message = z.strictObject({ role: z.string(), content: z.string() });

const chatObservation = z.strictObject({ messages: z.array(message), tokens: ids });

const chatState = z.object({
  episode_id: z.string().nullable(),
  step_count: z.int(),
  history_messages: z.array(message),
  history_tokens: z.array(ids),
});

type ChatAction = z.output<typeof chatAction>;

/** Returns the env kind whose actions are the tokens of a message. */
export function chatKind(tokenizer: Tokenizer): OpenEnvKind<ChatAction> {
  return {
    name: "paddock_chat_env",
    description: "Keeps a conversation as messages and as the tokens that were sampled",
    action: chatAction,
    observation: chatObservation,
    state: chatState,
    examples: {
      action: { tokens: [1, 2] },
      observation: { messages: [{ role: "assistant", content: "Hello" }], tokens: [1, 2] },
      state: { episode_id: null, step_count: 0, history_messages: [], history_tokens: [] },
    },
    open: () => new ChatEpisode(tokenizer),
  };
}

/** A conversation of assistant messages. Sampled tokens are appended and never tokenised again. */
class ChatEpisode implements OpenEnv<ChatAction> {
  readonly #tokenizer: Tokenizer;
  readonly #special: ReadonlySet<number>;
  readonly #turns: { readonly content: string; readonly tokens: readonly number[] }[] = [];
  #episodeId: string | null = null;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    this.#special = new Set(tokenizer.specialTokens.flatMap((text) => oneId(tokenizer.encode(text))));
  }

  // deno-lint-ignore require-await
  async reset({ episode_id }: z.output<typeof resetData> = {}): Promise<EnvResponse> {
    this.#turns.length = 0;
    this.#episodeId = episode_id ?? crypto.randomUUID();
    return this.#response();
  }

  // deno-lint-ignore require-await
  async step({ tokens }: ChatAction): Promise<EnvResponse> {
    const unknown = tokens.find((id) => this.#tokenizer.has?.(id) === false);
    if (unknown !== undefined) throw new ServerError("invalid", `tokens: unknown token ${unknown}`);
    const before = this.#turns.reduce((sum, turn) => sum + turn.tokens.length, 0);
    if (before + tokens.length > MAX_EPISODE_TOKENS) {
      throw new ServerError("invalid", `tokens: an episode must have at most ${MAX_EPISODE_TOKENS}`);
    }
    const content = this.#tokenizer.decode(tokens.filter((id) => !this.#special.has(id)));
    this.#turns.push({ content, tokens });
    return this.#response();
  }

  state(): z.output<typeof chatState> {
    return {
      episode_id: this.#episodeId,
      step_count: this.#turns.length,
      history_messages: this.#messages(),
      history_tokens: this.#turns.map(({ tokens }) => [...tokens]),
    };
  }

  // deno-lint-ignore require-await
  async [Symbol.asyncDispose](): Promise<void> {
    this.#turns.length = 0;
  }

  #response(): EnvResponse {
    const tokens = this.#turns.flatMap(({ tokens }) => tokens);
    return { observation: { messages: this.#messages(), tokens }, reward: null, done: false };
  }

  #messages(): z.output<typeof message>[] {
    return this.#turns.map(({ content }) => ({ role: "assistant", content }));
  }
}

/** Returns the id of a text that is exactly a single token. */
function oneId(ids: readonly number[]): readonly number[] {
  return ids.length === 1 ? ids : [];
}
