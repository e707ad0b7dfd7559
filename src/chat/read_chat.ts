import { History } from "../history.ts";
import type { ChatTemplate, InverseParserOptions } from "./chat_template.ts";

/**
 * Parses text that a template rendered.
 *
 * @throws {SyntaxError} if the text contains no message.
 * @throws {TypeError} if the template has no inverse parser.
 */
export function parseRenderedChat(
  text: string,
  template: ChatTemplate,
  tokens: InverseParserOptions,
): History {
  const { name, inverseParser } = template;
  if (inverseParser !== undefined) return History.fromChats(inverseParser(text, tokens));
  throw new TypeError(`Cannot parse text as chat template '${name}' must have an inverse parser: found none`);
}
