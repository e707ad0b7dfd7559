import type { ParsedReply, ReplyCommand } from "./reply_parser.ts";

/** Parses a reply of the form `{ "thought": …, "command": { "name": …, "arguments": { … } } }`. */
export function parseJsonReply(reply: string, commands: readonly ReplyCommand[]): ParsedReply {
  let value: unknown;
  try {
    value = JSON.parse(reply);
  } catch {
    return { fault: "Model output is not valid JSON." };
  }
  if (!isRecord(value)) return { fault: "Model output is not a JSON object." };
  for (const key of ["thought", "command"]) {
    if (!Object.hasOwn(value, key)) return { fault: `Key '${key}' is missing from model output.` };
  }
  const { thought, command } = value;
  if (!isRecord(command)) return { fault: "Value of 'command' key is not a JSON object." };
  if (!Object.hasOwn(command, "name")) return { fault: "Key 'name' is missing from 'command' object." };
  const { name, arguments: given } = command;
  if (typeof name !== "string" || typeof thought !== "string" || !(given === undefined || isRecord(given))) {
    return {
      fault: "Model output must have a text as 'thought' and as 'name', and an object as 'arguments'.",
    };
  }
  return { thought, action: actionOf(name, given, commands).trim() };
}

function actionOf(
  name: string,
  given: Record<string, unknown> | undefined,
  commands: readonly ReplyCommand[],
): string {
  const known = commands.find((command) => command.name === name);
  if (known?.signature === undefined) {
    return [name, ...Object.values(given ?? {}).map((value) => argumentText(value))].join(" ");
  }
  const slots = known.signature.replaceAll(/[[\]]/g, "");
  return slots.replaceAll(/"?<([^<>]+)>"?/g, (slot: string, argument: string) => {
    if (given === undefined || !Object.hasOwn(given, argument)) return "";
    const value = given[argument];
    if (known.endName !== undefined || typeof value !== "string") {
      return slot.replace(`<${argument}>`, () => argumentText(value));
    }
    return shellQuoted(value);
  });
}

function argumentText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Quotes a text as one word of a shell, as Python's `shlex.quote` does. */
function shellQuoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
