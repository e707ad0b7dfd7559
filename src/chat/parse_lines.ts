import type { Message } from "../message.ts";

const LINE = /^(?:(Assistant|User):)?(.*)$/;

/**
 * Parses each non-empty line as one message: lines that begin with `Assistant:` are the assistant's, all
 * others the user's, with or without `User:`.
 *
 * @throws {SyntaxError} if all lines are empty.
 */
export function parseLines(text: string): Message[] {
  const messages = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "").map(
    parseLine,
  );
  if (messages.length > 0) return messages;
  throw new SyntaxError(`Couldn't get a single item out of text ${text}.`);
}

function parseLine(line: string): Message {
  const [, speaker, content = ""] = LINE.exec(line) ?? [];
  return { role: speaker === "Assistant" ? "assistant" : "user", content: content.trim() };
}
