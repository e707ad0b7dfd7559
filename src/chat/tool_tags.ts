import type { Message, ToolCall } from "../message.ts";

const CALL = /<tool_call>\n(.*?)\n<\/tool_call>/gs;
const RESPONSE = /<tool_response>\n(.*?)\n<\/tool_response>/gs;

/** The calls and answers of tools that a message's text holds between tags; the text keeps them. */
export function toolTags(content: string): Pick<Message, "tool_calls" | "tool_responses"> {
  const calls = [...content.matchAll(CALL)].flatMap(([, json = ""]) => toolCall(json) ?? []);
  const responses = [...content.matchAll(RESPONSE)].map(([, body = ""]) => body);
  return {
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(responses.length > 0 && { tool_responses: responses }),
  };
}

function toolCall(json: string): ToolCall | undefined {
  const call = parsedObject(json);
  if (typeof call?.name !== "string") return undefined;
  const { name, arguments: given = {} } = call;
  if (typeof given === "string") return { name, arguments: given };
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  return { name, arguments: { ...given } };
}

function parsedObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // what a model wrote between the tags need not be JSON: it stays text
  }
}
