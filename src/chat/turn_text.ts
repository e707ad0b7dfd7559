import type { Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { ChatFormat } from "./chat_format.ts";

/** One turn of a chat: the assistant's reply to a generation prompt, and the messages after it. */
export interface ChatTurn {
  /** The assistant's reply. */
  readonly reply: Message;
  /** Messages after the reply, such as tool results or the user's next question. */
  readonly messages?: Iterable<Message> | undefined;
  /** Tools to describe to the model. */
  readonly tools?: readonly ToolSpec[] | undefined;
  /**
   * The chat before the generation prompt, for a template that renders a turn differently by its position.
   * Without it, a single question is used instead, and the cost of a turn does not depend on the length of
   * the chat.
   */
  readonly before?: Iterable<Message> | undefined;
}

/** Placeholder for the chat before a turn. */
export const QUESTION: readonly Message[] = [{ role: "user", content: "-" }];

/**
 * Renders the text of a turn, from the end of one generation prompt to the end of the next.
 *
 * @throws {Error} if the template does not put the reply after its generation prompt.
 */
export function renderTurn(turn: ChatTurn, format: ChatFormat): string {
  const { reply, messages = [], tools, before = QUESTION } = turn;
  const options = { addGenerationPrompt: true, tools };
  const prompt = format.render(before, options);
  const text = format.render([...before, reply, ...messages], options);
  if (text.startsWith(prompt)) return text.slice(prompt.length);
  throw new Error(
    `Cannot render turn as template '${format.template.name}' must put a reply after its generation prompt: ` +
      "it changes earlier text",
  );
}
