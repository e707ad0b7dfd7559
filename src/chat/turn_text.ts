import type { Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { ChatFormat } from "./chat_format.ts";

/** What happened since a generation prompt: the assistant answered it, and others spoke. */
export interface ChatTurn {
  readonly reply: Message;
  /** What was said behind the reply: answers of tools, the user's next question. */
  readonly messages?: Iterable<Message> | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  /**
   * The chat up to the generation prompt, for a template that writes a turn by its place in the chat. Without it
   * a single question stands for it, and the turn costs the same however long the chat is.
   */
  readonly before?: Iterable<Message> | undefined;
}

/** The chat that stands for whatever led to a turn. */
export const QUESTION: readonly Message[] = [{ role: "user", content: "-" }];

/**
 * The text of a turn, from behind one generation prompt to the end of the next.
 *
 * @throws {Error} when the template does not put the reply behind its generation prompt.
 */
export function turnText(turn: ChatTurn, format: ChatFormat): string {
  const { reply, messages = [], tools, before = QUESTION } = turn;
  const options = { addGenerationPrompt: true, tools };
  const prompt = format.render(before, options);
  const text = format.render([...before, reply, ...messages], options);
  if (text.startsWith(prompt)) return text.slice(prompt.length);
  throw new Error(
    `Cannot render turn as template '${format.template.name}' must put a reply behind its generation prompt: ` +
      "it rewrites what stands before",
  );
}
