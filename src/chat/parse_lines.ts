import type { Message } from "../message.ts";

const LINE = /^(?:(Assistant|User):)?(.*)$/;

/**
 * Reads a message from each line that is not empty: the assistant's begin with `Assistant:`, others are the
 * user's, with or without `User:`.
 *
 * @throws {SyntaxError} when no line says anything.
 */
export function parseLines(text: string): Message[] {
  const messages = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "").map(
    lineMessage,
  );
  if (messages.length > 0) return messages;
  throw new SyntaxError(`Couldn't get a single item out of text ${text}.`);
}

function lineMessage(line: string): Message {
  const [, speaker, content = ""] = LINE.exec(line) ?? [];
  return { role: speaker === "Assistant" ? "assistant" : "user", content: content.trim() };
}
