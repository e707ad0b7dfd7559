import type { TokenFormat } from "../../rollout/tokens/token_format.ts";
import { splitReply } from "../../chat/replies/thoughts.ts";
import { type Message, messageText, type ToolSpec } from "../../message.ts";
import { isCutOff, type Reply } from "../../policy/policy.ts";
import type { ParsedCall, ToolCallParser } from "../../tools/parsers/tool_call_parser.ts";
import { typedArguments } from "../../tools/typed_arguments.ts";
import type { AnswerCall, ModelAnswer, ModelRequest } from "../model_request.ts";

/** Options of {@linkcode readAnswer}. */
export interface ReadAnswerOptions {
  readonly parser: ToolCallParser;
  /** Format of the reply's text. @default the server has parsed the reply */
  readonly format: TokenFormat | undefined;
  /** Number of tokens of the prompt, if they are recorded. */
  readonly promptTokens: number;
}

/**
 * Returns what the agent gets of a reply: its text, its thoughts and its calls. If a call cannot be read, or the agent
 * offers no tools, the whole reply is text.
 */
export function readAnswer(reply: Reply, request: ModelRequest, options: ReadAnswerOptions): ModelAnswer {
  const { parser, format, promptTokens } = options;
  const said = messageText(reply.message);
  const message = { ...reply.message, content: format?.chat.cutEnd(said) ?? said };
  const { text, calls } = readCalls(message, request, parser);
  const parts = splitReply(text);
  const { reasoning_content: reasoning = "" } = reply.message;
  const thoughts = parts.flatMap(({ thought }) => thought === undefined ? [] : [thought.content.trim()])
    .concat(reasoning === "" ? [] : [reasoning]);
  const answer = parts.filter(({ thought }) => thought === undefined).map((part) => part.text).join("");
  const finish = isCutOff(reply) ? "length" : calls.length > 0 ? "calls" : "stop";
  const ids = reply.tokens?.ids ?? [];
  return {
    id: crypto.randomUUID().replaceAll("-", ""),
    created: Math.floor(Date.now() / 1000),
    text: thoughts.length === 0 ? answer : answer.replace(/^\s+/, ""), // the template parts thought and text
    thought: thoughts.join("\n\n"),
    calls,
    finish,
    ...(reply.stopText !== undefined && { stopText: reply.stopText }),
    usage: {
      promptTokens: format === undefined ? reply.usage?.promptTokens ?? 0 : promptTokens,
      replyTokens: reply.usage?.replyTokens ?? ids.length,
    },
    ...(request.wantsLogProbs && format && { logProbs: logProbsOf(reply, format) }),
  };
}

function readCalls(
  message: Message,
  request: ModelRequest,
  parser: ToolCallParser,
): { text: string; calls: AnswerCall[] } {
  const text = messageText(message);
  if (request.toolChoice.mode === "none" || request.tools.length === 0) return { text, calls: [] };
  const parsed = parser.parse(message);
  if (parsed.calls.length === 0 || parsed.calls.some(({ fault }) => fault !== undefined)) {
    return { text, calls: [] };
  }
  const ids = new Set<string>();
  const calls = parsed.calls.map((call) => toAnswerCall(call, { tools: request.tools, ids }));
  return { text: parsed.text, calls };
}

/** @param ids ids of the calls before. An id that the model or its server gave is kept, as its template shows the id. */
function toAnswerCall(
  call: ParsedCall,
  { tools, ids }: { tools: readonly ToolSpec[]; ids: Set<string> },
): AnswerCall {
  const isUsable = call.callId !== undefined && call.callId !== "" && !ids.has(call.callId);
  const id = isUsable ? call.callId : `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
  ids.add(id);
  const tool = tools.find(({ name }) => name === call.name);
  const args = call.hasTextArguments && tool !== undefined
    ? typedArguments(call.arguments, tool.parameters)
    : call.arguments;
  return {
    id,
    name: call.name,
    arguments: call.hasTextArguments ? JSON.stringify(args) : call.argumentsText ?? JSON.stringify(args),
  };
}

/** Returns the message as which an answer comes back, if the agent does not change it. */
export function toDeliveredMessage({ text, calls }: ModelAnswer): Message {
  return { role: "assistant", content: text, ...(calls.length > 0 && { tool_calls: calls }) };
}

function logProbsOf({ tokens }: Reply, { tokenizer }: TokenFormat): ModelAnswer["logProbs"] {
  const { ids = [], logProbs = [] } = tokens ?? {};
  return ids.flatMap((id, at) => {
    const logProb = logProbs[at];
    return logProb === undefined ? [] : [{ token: tokenizer.decode([id]), logProb }];
  });
}
