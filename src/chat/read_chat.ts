import { History } from "../history.ts";
import type { ChatTemplate, InverseParserOptions } from "./chat_template.ts";

/**
 * Reads text that a template wrote.
 *
 * @throws {SyntaxError} when no message is found.
 * @throws {TypeError} when the template has no inverse parser.
 */
export function readChat(text: string, template: ChatTemplate, tokens: InverseParserOptions): History {
  const { name, inverseParser } = template;
  if (inverseParser !== undefined) return History.fromChats(inverseParser(text, tokens));
  throw new TypeError(`Cannot read text as chat template '${name}' must have an inverse parser: it has none`);
}
