import { parseUntrustedJson } from "../../json.ts";
import type { Message, ToolCall } from "../../message.ts";
import { type HarmonyMessage, parseHarmony, toHarmonyCall } from "./harmony.ts";

const FUNCTIONS = "functions.";

/**
 * Parses a chat that gpt-oss's template rendered. The messages of a reply become one message: thoughts as
 * `reasoning_content`, calls as `tool_calls`, the rest as content. A result's content is the text in the result's JSON.
 *
 * @throws {SyntaxError} if the text contains no message.
 */
export function parseHarmonyChat(text: string): Message[] {
  const messages: Message[] = [];
  let reply: HarmonyMessage[] = [];
  for (const message of parseHarmony(text)) {
    if (message.author === "assistant") {
      reply.push(message);
      // a call and an answer end a reply; thoughts and text before a call do not
      if (message.end === "<|end|>" && message.channel !== "final" && message.channel !== undefined) continue;
    }
    if (reply.length > 0) messages.push(toReply(reply));
    reply = [];
    if (message.author !== "assistant") messages.push(toOther(message));
  }
  if (reply.length > 0) messages.push(toReply(reply));
  if (messages.length > 0) return messages;
  throw new SyntaxError("Cannot parse chat as it must contain a message of harmony: found none");
}

function toReply(parts: readonly HarmonyMessage[]): Message {
  const calls: ToolCall[] = [];
  const thoughts: string[] = [];
  const content: string[] = [];
  for (const part of parts) {
    if (part.recipient !== undefined) calls.push(toHarmonyCall(part));
    else (part.channel === "analysis" ? thoughts : content).push(part.content);
  }
  const isCut = parts.at(-1)?.end === undefined;
  return {
    role: "assistant",
    content: content.join("\n"),
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join("\n") }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(isCut && { is_complete: false }),
  };
}

function toOther({ author, content }: HarmonyMessage): Message {
  if (!author.startsWith(FUNCTIONS)) return { role: author, content };
  return { role: "tool", name: author.slice(FUNCTIONS.length), content: resultText(content) };
}

function resultText(json: string): string {
  try {
    const value = parseUntrustedJson(json);
    return typeof value === "string" ? value : json;
  } catch {
    return json; // a chat that another program rendered may have plain text
  }
}
