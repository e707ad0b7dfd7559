import { isJsonObject, parseUntrustedJson } from "../../../json.ts";
import { NO_ACTION, type ParsedReply, type ReplyCommand, type ReplyParser } from "../agent_config.ts";

const FENCED = "Write what you think first, then one command between two lines of three backticks:\n" +
  "```\nls -a\n```";

/** Parsers of MLGym's agents, by the value of `output_parser` in an agent YAML. */
export const REPLY_PARSERS: Readonly<Record<string, ReplyParser>> = {
  ThoughtActionParser: {
    parse: parseFencedReply,
    formatError: `Nothing was run, as no command was found in your reply. ${FENCED}`,
  },
  MLGymThoughtActionParser: {
    parse(reply) {
      if (!hasSeveralBlocks(reply)) return parseFencedReply(reply);
      return { fault: "Found more than one code block in the model response." };
    },
    formatError: `Nothing was run, as your reply must hold exactly one command. ${FENCED}`,
  },
  XMLThoughtActionParser: {
    parse: taggedReply,
    formatError:
      "Nothing was run, as no command was found in your reply. Write what you think first, then one " +
      "command between tags:\n<command>\nls -a\n</command>",
  },
  ActionParser: {
    parse(reply, commands) {
      const [first] = reply.trim().split(/\s+/);
      if (commands.some(({ name }) => name === first)) return { thought: reply, action: reply };
      return { fault: "First word in model response is not a valid command." };
    },
    formatError:
      "Nothing was run, as your reply does not begin with a command that there is. Reply with one of " +
      "these and its arguments, and nothing else:\n{command_docs}",
  },
  EditFormat: {
    parse: parseFencedReply,
    formatError:
      "Nothing was changed, as no new text was found in your reply. Write all of it, without line " +
      "numbers, between two lines of three backticks.",
  },
  Identity: {
    parse: (reply) => ({ thought: reply, action: reply }),
    formatError: "Nothing was run, as your reply could not be read. Write it once more.",
  },
  JsonParser: {
    parse: parseJsonReply,
    formatError:
      'Nothing was run, as your reply must be a JSON object with "thought" and "command", such as\n' +
      '{{"thought": "What is here?", "command": {{"name": "ls", "arguments": {{"path": "-a"}}}}}}',
  },
};

/** Parses the last `<command>` as the action, and the rest as the thought. */
function taggedReply(reply: string): ParsedReply {
  const start = reply.lastIndexOf("<command>");
  const end = reply.lastIndexOf("</command>");
  if (start === -1 || end === -1) return { fault: NO_ACTION };
  return {
    thought: (reply.slice(0, start) + reply.slice(end + "</command>".length)).trim(),
    action: reply.slice(start + "<command>".length, end).trim(),
  };
}

/** A fence with a word on the same line, or a bare fence; lines end as in Python. */
const FENCE = /(?<![^\n])```(\S*)\s*\n|(?<![^\n])```\s*(?![^\n])/g;

/** Position of a fence. */
interface FenceSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Parses the last complete top-level block of a reply as the action, and the rest as the thought. A fence followed by
 * a word opens a block; a bare fence closes an open block.
 */
function parseFencedReply(reply: string): ParsedReply {
  const open: FenceSpan[] = [];
  let block: { start: FenceSpan; end: FenceSpan } | undefined;
  for (const match of reply.matchAll(FENCE)) {
    const fence = { start: match.index, end: match.index + match[0].length };
    const word = match[1];
    const start = word ? undefined : open.pop();
    if (start !== undefined) {
      if (open.length === 0) block = { start, end: fence };
    } else if (word !== undefined) open.push(fence);
  }
  if (block === undefined) return { fault: NO_ACTION };
  const { start, end } = block;
  return {
    thought: reply.slice(0, start.start) + reply.slice(end.end),
    action: reply.slice(start.end, end.start),
  };
}

/** True if the reply has more than one pair of fences. */
function hasSeveralBlocks(reply: string): boolean {
  return reply.split("```").length > 4;
}

/** Parses a reply of the form `{ "thought": …, "command": { "name": …, "arguments": { … } } }`. */
function parseJsonReply(reply: string, commands: readonly ReplyCommand[]): ParsedReply {
  let value: unknown;
  try {
    value = parseUntrustedJson(reply);
  } catch {
    return { fault: "Model output is not valid JSON." };
  }
  if (!isJsonObject(value)) return { fault: "Model output is not a JSON object." };
  for (const key of ["thought", "command"]) {
    if (!Object.hasOwn(value, key)) return { fault: `Key '${key}' is missing from model output.` };
  }
  const { thought, command } = value;
  if (!isJsonObject(command)) return { fault: "Value of 'command' key is not a JSON object." };
  if (!Object.hasOwn(command, "name")) return { fault: "Key 'name' is missing from 'command' object." };
  const { name, arguments: given } = command;
  if (
    typeof name !== "string" || typeof thought !== "string" || !(given === undefined || isJsonObject(given))
  ) {
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

/** Quotes a text as a single word of a shell, as Python's `shlex.quote` does. */
function shellQuoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}
