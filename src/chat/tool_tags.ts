import type { Message, ToolCall } from "../message.ts";

/**
 * Parses the tool calls and tool results that a text contains between tags. The text itself is not changed.
 */
export function parseToolTags(content: string): Pick<Message, "tool_calls" | "tool_responses"> {
  const calls = tagBodies(content, "tool_call").flatMap((json) => parseCall(json) ?? []);
  const responses = tagBodies(content, "tool_response");
  return {
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(responses.length > 0 && { tool_responses: responses }),
  };
}

/**
 * Returns the texts between opening and closing tags. It takes one pass, since the text may be long and
 * hostile.
 */
function tagBodies(content: string, tag: string): string[] {
  const [open, close] = [`<${tag}>\n`, `\n</${tag}>`];
  const bodies: string[] = [];
  for (let at = content.indexOf(open); at !== -1;) {
    const end = content.indexOf(close, at + open.length);
    if (end === -1) break;
    bodies.push(content.slice(at + open.length, end));
    at = content.indexOf(open, end + close.length);
  }
  return bodies;
}

function parseCall(json: string): ToolCall | undefined {
  const call = parseObject(json);
  if (typeof call?.name !== "string") return undefined;
  const { name, arguments: args = {} } = call;
  if (typeof args === "string") return { name, arguments: args };
  if (typeof args !== "object" || args === null || Array.isArray(args)) return undefined;
  return { name, arguments: { ...args } };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // A model may write invalid JSON between the tags; it stays text.
  }
}
