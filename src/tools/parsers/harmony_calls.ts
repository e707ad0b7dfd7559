import { type HarmonyMessage, parseHarmony } from "../../chat/replies/harmony.ts";
import { type Message, messageText } from "../../message.ts";
import { parseArguments } from "./call_arguments.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { withoutCutCall } from "./text_calls.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

const FUNCTIONS = "functions.";

/**
 * Returns a parser for replies in harmony, the format of gpt-oss: a message to `functions.n` in the channel `commentary`
 * is a call, in any channel: the format marks calls apart from thoughts. The text comes from the channel `final`, and from
 * `commentary` without a recipient; thoughts are left out.
 *
 * gpt-oss's built-in tool `python` gets code that is not JSON; the code becomes the argument `code`.
 *
 * Channels and recipients are special tokens: the server must keep special tokens in the text (`skip_special_tokens:
 * false`).
 */
export function harmonyCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? withoutCutCall(parseText(messageText(message)), message);
}

function parseText(text: string): ParsedMessage {
  const messages = parseHarmony(text).filter(({ author }) => author === "assistant");
  const shown = messages.filter((message) => !isCall(message) && message.channel !== "analysis");
  return {
    text: shown.map(({ content }) => content).join("\n").trim(),
    calls: messages.filter(isCall).slice(0, MAX_PARSED_CALLS).map(toCall),
  };
}

function isCall({ recipient }: HarmonyMessage): boolean {
  return recipient !== undefined && recipient !== "assistant" && recipient !== "user";
}

function toCall(message: HarmonyMessage): ParsedCall {
  const call = readCall(message);
  return message.end === undefined ? { ...call, isClosed: false } : call;
}

function readCall({ recipient = "", contentType, content }: HarmonyMessage): ParsedCall {
  if (recipient.startsWith(FUNCTIONS)) {
    return { name: recipient.slice(FUNCTIONS.length), ...parseArguments(content) };
  }
  const isCode = contentType !== "json" && !content.trimStart().startsWith("{");
  return { name: recipient, ...(isCode ? { arguments: { code: content } } : parseArguments(content)) };
}
