import { pickKnownOptions, requireKnownOptions } from "../../options.ts";
import { CHAT_FORMAT_OPTIONS, ChatFormat, type ChatFormatOptions } from "../../chat/chat_format.ts";
import { isAppendOnly } from "../../chat/turns.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { Message, ToolSpec } from "../../message.ts";
import type { RecordedChat } from "../../policy/policy.ts";
import { requireWritable, type TurnFormat, type WritingMode } from "./turn_writers.ts";

/**
 * Options of {@linkcode TokenFormat}. Without a template or a family, the tokenizer's own template is used, because the
 * model was trained with that template.
 */
export interface TokenFormatOptions extends ChatFormatOptions {
  tokenizer: Tokenizer;
}

/** Chat format of many episodes, with a cache of properties. */
export class TokenFormat implements TurnFormat {
  /** Chat format that keeps assistant messages unchanged. */
  readonly chat: ChatFormat;
  readonly tokenizer: Tokenizer;
  readonly #keeps = new Map<string, boolean>();
  readonly #writable = new Set<string>();

  /**
   * @throws {TypeError} if the tokenizer is missing.
   * @throws {RangeError} if the template is unknown.
   * @throws {SyntaxError} if the template is not valid Jinja.
   */
  constructor(options: TokenFormatOptions) {
    requireKnownOptions("create TokenFormat", options, TOKEN_FORMAT_OPTIONS);
    if (options.tokenizer === undefined) {
      throw new TypeError("Cannot write tokens as 'tokenizer' must be given: it is missing");
    }
    this.tokenizer = options.tokenizer;
    const trusted = ["assistant", ...options.trusted ?? []];
    this.chat = new ChatFormat({
      ...pickKnownOptions(options, CHAT_FORMAT_OPTIONS),
      family: familyOf(options),
      trusted,
    });
  }

  /** Returns a chat in the template's form. */
  recordedChat(messages: Iterable<Message>, tools: readonly ToolSpec[]): RecordedChat {
    return { messages: this.chat.toTemplateMessages(messages), tools: this.chat.toTemplateTools(tools) };
  }

  /**
   * Checks that turns can be written in a mode. Further calls with the same mode do nothing.
   *
   * @throws {TypeError} if the template does not allow the mode. The message names the modes that work.
   */
  requireWritable({ mode, onRewrite = "error" }: WritingMode): void {
    const key = `${mode} ${onRewrite}`;
    if (this.#writable.has(key)) return;
    requireWritable(this, { mode, onRewrite });
    this.#writable.add(key);
  }

  /** True if the template renders a turn the same way at every position of the chat. */
  isAppendOnly(tools: readonly ToolSpec[]): boolean {
    const key = JSON.stringify(tools);
    const cached = this.#keeps.get(key);
    if (cached !== undefined) return cached;
    const keeps = isAppendOnly(this.chat, tools);
    this.#keeps.set(key, keeps);
    return keeps;
  }
}

function familyOf({ family, chatTemplate, tokenizer }: TokenFormatOptions): string | undefined {
  if (family !== undefined || chatTemplate !== undefined) return family;
  return tokenizer.chatTemplate === undefined ? undefined : "tokenizer";
}

/** Names of the options. */
export const TOKEN_FORMAT_OPTIONS: Readonly<Record<keyof TokenFormatOptions, true>> = {
  ...CHAT_FORMAT_OPTIONS,
};
