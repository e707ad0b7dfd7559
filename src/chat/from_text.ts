import type { History } from "../history.ts";
import { ChatTemplates, type ChooseTemplateOptions } from "./chat_templates.ts";
import { readChat } from "./read_chat.ts";

/** How {@linkcode fromText} reads. The template is chosen as for rendering; chatml where nothing is given. */
export interface FromTextOptions extends ChooseTemplateOptions {
  /** Knows the templates that were added. */
  templates?: ChatTemplates | undefined;
}

/**
 * Reads a rendered chat back into its messages. A last turn that was cut off has `is_complete` false.
 *
 * It trusts the control tokens in the text, so it is for text whose contents were neutralised when they were
 * rendered; what was rendered elsewhere may hold turns that nobody took.
 *
 * @throws {SyntaxError} when no message is found.
 * @throws {TypeError} when nobody knows how to read text of the template.
 * @throws {RangeError} when no template has the name.
 */
export function fromText(text: string, options: FromTextOptions = {}): History {
  const { templates = new ChatTemplates(), tokenizer, chatTemplate } = options;
  const unguided = tokenizer === undefined && chatTemplate === undefined && options.family === undefined;
  const template = templates.choose(unguided ? { family: "chatml" } : options);
  return readChat(text, template, tokenizer ?? {});
}
