import type { History } from "../history.ts";
import { type ContentPart, type Message, messageText, type ToolCall } from "../message.ts";

/** A message in the words of OpenAI's chat completions. */
export interface OpenaiMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content: string | readonly object[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
}

/** What a server is told of a call that nobody answered: it refuses a conversation that leaves one open. */
const NO_ANSWER = "(no result)";

/**
 * A conversation as servers of chat completions take it.
 *
 * They take a `tool` message only behind the call that it answers. So what tools say, under whatever role, goes
 * there as `tool` where it answers a call (by its id, else in order), and else as `user`: several in a row as
 * one message.
 */
export function openaiMessages(history: History): OpenaiMessage[] {
  const written = new Conversation();
  for (const message of history) written.add(message);
  return written.messages;
}

class Conversation {
  readonly messages: OpenaiMessage[] = [];
  /** The calls that wait for an answer, in their order. */
  #open: string[] = [];
  #toolSaid = false;

  add(message: Message): void {
    const { role } = message;
    if (role === "system" || role === "developer" || role === "user" || role === "assistant") {
      this.#closeCalls();
      this.#toolSaid = false;
      this.messages.push(this.#spoken(message, role));
    } else {
      for (const text of answersOf(message, this.#open.length)) this.#answer(text, message.tool_call_id);
    }
  }

  #spoken(message: Message, role: OpenaiMessage["role"]): OpenaiMessage {
    const { content, name, tool_calls: calls = [] } = message;
    const named = name === undefined ? {} : { name };
    if (role !== "assistant" || calls.length === 0) return { role, content: contentOf(content), ...named };
    const withIds = calls.map((call, index) => ({
      ...call,
      id: call.id ?? `call_${this.messages.length}_${index}`,
    }));
    this.#open = withIds.map(({ id }) => id);
    return { role, content: messageText(message) || null, ...named, tool_calls: withIds.map(wireCall) };
  }

  #answer(content: string, callId = this.#open[0]): void {
    const last = this.messages.at(-1);
    if (callId !== undefined && this.#open.includes(callId)) {
      this.#open = this.#open.filter((id) => id !== callId);
      this.messages.push({ role: "tool", tool_call_id: callId, content });
    } else if (this.#toolSaid && last?.role === "user") {
      this.messages[this.messages.length - 1] = { role: "user", content: `${last.content}\n\n${content}` };
    } else {
      this.#closeCalls();
      this.#toolSaid = true;
      this.messages.push({ role: "user", content });
    }
  }

  #closeCalls(): void {
    for (const id of this.#open) this.messages.push({ role: "tool", tool_call_id: id, content: NO_ANSWER });
    this.#open = [];
  }
}

/** What a tool's message answers: several calls at once where it has an answer for each that is open. */
function answersOf(message: Message, open: number): readonly string[] {
  const { tool_responses: responses = [] } = message;
  const several = message.tool_call_id === undefined && responses.length > 0 && responses.length === open;
  return several ? responses : [messageText(message) || responses.join("\n")];
}

function wireCall({ id, name, arguments: given }: ToolCall): object {
  const text = typeof given === "string" ? given : JSON.stringify(given);
  return { id, type: "function", function: { name, arguments: text } };
}

function contentOf(content: Message["content"]): string | object[] {
  return typeof content === "string" ? content : content.map(wirePart);
}

function wirePart(part: ContentPart): object {
  const { type, text = "", data, mime_type: mime, url, name } = part;
  if (type === "text") return { type, text };
  if (type === "image") {
    const address = url ?? `data:${mime ?? "image/png"};base64,${data ?? ""}`;
    return { type: "image_url", image_url: { url: address } };
  }
  if (type === "audio" && data !== undefined) {
    return { type: "input_audio", input_audio: { data, format: mime?.replace(/^.*\//, "") ?? "wav" } };
  }
  return { type: "text", text: text || `[${[type, name ?? url].filter(Boolean).join(" ")}]` };
}
