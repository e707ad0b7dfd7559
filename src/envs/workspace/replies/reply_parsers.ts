import { hasSeveralBlocks, parseFencedReply } from "./fenced_reply.ts";
import { parseJsonReply } from "./json_reply.ts";
import { NO_ACTION, type ParsedReply, type ReplyParser } from "./reply_parser.ts";

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
