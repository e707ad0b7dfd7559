import type { Message, ToolCall } from "../message.ts";

/** The calls and answers of tools that a message's text holds between tags; the text keeps them. */
export function toolTags(content: string): Pick<Message, "tool_calls" | "tool_responses"> {
  const calls = bodies(content, "tool_call").flatMap((json) => toolCall(json) ?? []);
  const responses = bodies(content, "tool_response");
  return {
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(responses.length > 0 && { tool_responses: responses }),
  };
}

/** What stands between the lines of a tag; read in one pass, for the text may be long and hostile. */
function bodies(content: string, tag: string): string[] {
  const [open, close] = [`<${tag}>\n`, `\n</${tag}>`];
  const found: string[] = [];
  for (let at = content.indexOf(open); at !== -1;) {
    const end = content.indexOf(close, at + open.length);
    if (end === -1) break;
    found.push(content.slice(at + open.length, end));
    at = content.indexOf(open, end + close.length);
  }
  return found;
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
