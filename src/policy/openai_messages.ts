import type { TemplateMessage } from "../chat/template_messages.ts";
import type { History } from "../history.ts";
import { type ContentPart, type Message, messageText, type ToolCall, UNNAMED_CALL } from "../message.ts";

/** A message in the format of OpenAI's chat completions API. */
export interface OpenaiMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content: string | readonly object[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
}

/**
 * Content of the tool message for a call without result, since servers reject a conversation with an open
 * call.
 */
const NO_RESULT = "(no result)";

/**
 * Converts a conversation to the messages of a chat completions request.
 *
 * Servers accept a `tool` message only after the answered call. So a tool result, under any role, becomes a
 * `tool` message if the result answers a call (by id, or else in order). Other tool results become `user` messages;
 * several in a row are joined.
 */
export function toOpenaiMessages(history: History): OpenaiMessage[] {
  const conversation = new Conversation();
  for (const message of history) conversation.add(message);
  return conversation.messages;
}

/**
 * Converts a recorded chat to the messages of a chat completions request: with the same roles and texts, so that a server
 * with the same template renders the recorded prompt.
 */
export function toRecordedMessages(messages: readonly TemplateMessage[]): object[] {
  return messages.map((message) => {
    const { tool_calls: calls } = message;
    return calls === undefined ? message : { ...message, tool_calls: calls.map(withArgumentText) };
  });
}

/** Writes the arguments of a call as text, as requests must have them. */
function withArgumentText(call: object): object {
  const { function: { name, arguments: args } } = Object(call);
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return { ...call, function: { name, arguments: text } };
}

class Conversation {
  readonly messages: OpenaiMessage[] = [];
  /** Ids of the calls without result, in order. */
  #openCalls: string[] = [];
  #endsWithToolText = false;

  add(message: Message): void {
    const { role } = message;
    if (role === "system" || role === "developer" || role === "user" || role === "assistant") {
      this.#closeCalls();
      this.#endsWithToolText = false;
      this.messages.push(this.#toOpenaiMessage(message, role));
    } else {
      for (const text of resultsOf(message, this.#openCalls.length)) {
        this.#addResult(text, message.tool_call_id);
      }
    }
  }

  #toOpenaiMessage(message: Message, role: OpenaiMessage["role"]): OpenaiMessage {
    const { content, name, tool_calls: calls = [] } = message;
    const named = name === undefined ? {} : { name };
    if (role !== "assistant" || calls.length === 0) return { role, content: contentOf(content), ...named };
    const withIds = calls.map((call, index) => ({
      ...call,
      id: call.id ?? `call_${this.messages.length}_${index}`,
    }));
    this.#openCalls = withIds.map(({ id }) => id);
    return { role, content: messageText(message) || null, ...named, tool_calls: withIds.map(wireCall) };
  }

  #addResult(content: string, callId = this.#openCalls[0]): void {
    const last = this.messages.at(-1);
    if (callId !== undefined && this.#openCalls.includes(callId)) {
      this.#openCalls = this.#openCalls.filter((id) => id !== callId);
      this.messages.push({ role: "tool", tool_call_id: callId, content });
    } else if (this.#endsWithToolText && last?.role === "user") {
      this.messages[this.messages.length - 1] = { role: "user", content: `${last.content}\n\n${content}` };
    } else {
      this.#closeCalls();
      this.#endsWithToolText = true;
      this.messages.push({ role: "user", content });
    }
  }

  #closeCalls(): void {
    for (const id of this.#openCalls) {
      this.messages.push({ role: "tool", tool_call_id: id, content: NO_RESULT });
    }
    this.#openCalls = [];
  }
}

/**
 * Returns the results in a tool message: a result for each open call if their numbers match, otherwise a single
 * result.
 */
function resultsOf(message: Message, openCalls: number): readonly string[] {
  const { tool_responses: responses = [] } = message;
  const answersAll = message.tool_call_id === undefined && responses.length > 0 &&
    responses.length === openCalls;
  return answersAll ? responses : [messageText(message) || responses.join("\n")];
}

function wireCall({ id, name, arguments: args, arguments_text }: ToolCall): object {
  const text = arguments_text ?? (typeof args === "string" ? args : JSON.stringify(args));
  return { id, type: "function", function: { name: name || UNNAMED_CALL, arguments: text } };
}

function contentOf(content: Message["content"]): string | object[] {
  return typeof content === "string" ? content : content.map(wirePart);
}

function wirePart(part: ContentPart): object {
  const { type, text = "", data, mime_type: mime, url, name } = part;
  if (type === "text") return { type, text };
  if (type === "image") {
    const imageUrl = url ?? `data:${mime ?? "image/png"};base64,${data ?? ""}`;
    return { type: "image_url", image_url: { url: imageUrl } };
  }
  if (type === "audio" && data !== undefined) {
    return { type: "input_audio", input_audio: { data, format: mime?.replace(/^.*\//, "") ?? "wav" } };
  }
  return { type: "text", text: text || `[${[type, name ?? url].filter(Boolean).join(" ")}]` };
}
