import { ChatFormat, type ChatFormatOptions } from "../../chat/chat_format.ts";
import { keepsTurns } from "../../chat/keeps_turns.ts";
import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { ToolSpec } from "../../tool_spec.ts";

/**
 * How a model's chats are written as tokens. Unless a template or a family is given, the tokenizer's own template
 * is the one, as that is what the model was trained with.
 */
export interface TokenFormatOptions extends ChatFormatOptions {
  tokenizer: Tokenizer;
}

/** The way in which the chats of many episodes are written, and what was found out of it. */
export class TokenFormat {
  /** What an assistant says stays in it as it was said. */
  readonly chat: ChatFormat;
  readonly #keeps = new Map<string, boolean>();

  /**
   * @throws {TypeError} when there is no tokenizer.
   * @throws {RangeError} when no template has the name.
   * @throws {SyntaxError} when the template is no Jinja.
   */
  constructor(options: TokenFormatOptions) {
    if (options.tokenizer === undefined) {
      throw new TypeError("Cannot write tokens as 'tokenizer' must be given: it is missing");
    }
    const trusted = ["assistant", ...options.trusted ?? []];
    this.chat = new ChatFormat({ ...options, family: familyOf(options), trusted });
  }

  /** Whether the template writes a turn the same way wherever it stands. */
  keepsTurns(tools: readonly ToolSpec[]): boolean {
    const key = JSON.stringify(tools);
    const known = this.#keeps.get(key);
    if (known !== undefined) return known;
    const keeps = keepsTurns(this.chat, tools);
    this.#keeps.set(key, keeps);
    return keeps;
  }
}

function familyOf({ family, chatTemplate, tokenizer }: TokenFormatOptions): string | undefined {
  if (family !== undefined || chatTemplate !== undefined) return family;
  return tokenizer.chatTemplate === undefined ? undefined : "tokenizer";
}
