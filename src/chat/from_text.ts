import type { History } from "../history.ts";
import { ChatTemplates, type ChooseTemplateOptions } from "./chat_templates.ts";
import { parseRenderedChat } from "./read_chat.ts";

/**
 * Options of {@linkcode fromText}. The template is chosen as for rendering; without any option, it is chatml.
 */
export interface FromTextOptions extends ChooseTemplateOptions {
  /**
   * Templates to choose from.
   *
   * @default new ChatTemplates()
   */
  templates?: ChatTemplates | undefined;
}

/**
 * Parses a rendered chat back into messages. A last turn that was cut off has `is_complete: false`.
 *
 * It trusts the control tokens in the text. Use it only for text in which message contents were escaped, as
 * {@linkcode renderChat} does; text from elsewhere may contain forged turns.
 *
 * @example
 * ```ts
 * import { fromText } from "@paddock/paddock";
 *
 * const history = fromText("<|im_start|>user\nHello<|im_end|>\n");
 * if (history.last?.content !== "Hello") throw new Error("unexpected message");
 * ```
 *
 * @throws {SyntaxError} if the text contains no message.
 * @throws {TypeError} if the template has no inverse parser.
 * @throws {RangeError} if there is no template of that name.
 */
export function fromText(text: string, options: FromTextOptions = {}): History {
  const { templates = new ChatTemplates(), tokenizer, chatTemplate } = options;
  const isDefault = tokenizer === undefined && chatTemplate === undefined && options.family === undefined;
  const template = templates.choose(isDefault ? { family: "chatml" } : options);
  return parseRenderedChat(text, template, tokenizer ?? {});
}
