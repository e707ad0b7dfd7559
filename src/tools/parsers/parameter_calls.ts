import { type Message, messageText } from "../../message.ts";
import { invalidCall } from "./call_arguments.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { stickyMatch } from "./json_scan.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

/** Maximum number of parameters of a call. */
const MAX_PARAMETERS = 1_000;
/** Maximum number of closing tags that are tried as the end of a value. */
const MAX_ENDS = 1_000;

/** Syntax of calls whose parameters are elements with text. */
interface ParameterSyntax {
  /** Text before a call or a group of calls, and after it. */
  readonly open: string;
  readonly close: string;
  /** Start of a call, at an index; the first group is its name. */
  readonly call: RegExp;
  /** End of a call. */
  readonly callEnd: RegExp;
  /** Start of a parameter; the first group is its name. */
  readonly parameter: RegExp;
  /** Text after a parameter's value. */
  readonly parameterEnd: string;
}

/**
 * Returns a parser for calls of Qwen3-Coder, Qwen3.5, Qwen3.6 and Nemotron 3:
 * `<tool_call><function=n><parameter=key>value</parameter></function></tool_call>`, with line ends between them.
 *
 * Values are text; the tool's schema gives their types.
 */
export function qwen3CoderCalls(): ToolCallParser {
  return parameterCalls({
    open: "<tool_call>",
    close: "</tool_call>",
    call: /\s*<function=([^>\s]{1,256})>/y,
    callEnd: /\s*<\/function>/y,
    parameter: /\s*<parameter=([^>\n]{1,256})>/y,
    parameterEnd: "</parameter>",
  });
}

/**
 * Returns a parser for calls of GLM 4.5 to 4.7:
 * `<tool_call>n<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, with line ends between them in 4.5 and 4.6.
 *
 * Values are text; the tool's schema gives their types.
 */
export function glmCalls(): ToolCallParser {
  return parameterCalls({
    open: "<tool_call>",
    close: "</tool_call>",
    call: /\s*([^\s<{]{1,256})/y,
    callEnd: /(?=\s*<\/tool_call>)/y,
    parameter: /\s*<arg_key>([^<\n]{1,256})<\/arg_key>\s*<arg_value>/y,
    parameterEnd: "</arg_value>",
  });
}

/**
 * Returns a parser for calls of MiniMax M2:
 * `<minimax:tool_call><invoke name="n"><parameter name="key">value</parameter></invoke></minimax:tool_call>`, with line
 * ends between them.
 *
 * Values are text; the tool's schema gives their types.
 */
export function minimaxCalls(): ToolCallParser {
  return parameterCalls({
    open: "<minimax:tool_call>",
    close: "</minimax:tool_call>",
    call: /\s*<invoke name="?([^">\s]{1,256})"?>/y,
    callEnd: /\s*<\/invoke>/y,
    parameter: /\s*<parameter name="?([^">\n]{1,256})"?>/y,
    parameterEnd: "</parameter>",
  });
}

function parameterCalls(syntax: ParameterSyntax): ToolCallParser {
  return {
    parse: (message: Message) => nativeCalls(message) ?? parseText(messageText(message), syntax),
    faultText: agenticFaultMessage,
    render: renderByCallId,
  };
}

function parseText(text: string, syntax: ParameterSyntax): ParsedMessage {
  const { open, close } = syntax;
  const calls: ParsedCall[] = [];
  let rest = "";
  let at = 0;
  for (let start = text.indexOf(open); start >= 0; start = text.indexOf(open, at)) {
    if (calls.length >= MAX_PARSED_CALLS) break;
    let end = start + open.length;
    for (let first = true; calls.length < MAX_PARSED_CALLS; first = false) {
      const found = readCall(text, end, syntax);
      if (found === undefined) {
        if (first) calls.push(invalidCall("a call must begin with the name of a tool in its tag"));
        break;
      }
      calls.push(found.call);
      end = found.end;
      if (found.call.fault !== undefined) break;
    }
    rest += text.slice(at, start);
    const closing = text.indexOf(close, end);
    at = closing < 0 ? text.length : closing + close.length;
  }
  return { text: (rest + text.slice(at)).trim(), calls };
}

function readCall(
  text: string,
  start: number,
  { call, callEnd, parameter, parameterEnd }: ParameterSyntax,
): { call: ParsedCall; end: number } | undefined {
  const head = matchAt(call, text, start);
  if (head === undefined) return undefined;
  const [, name = ""] = head;
  const entries: [string, string][] = [];
  let at = start + head[0].length;
  while (entries.length < MAX_PARAMETERS) {
    const opening = matchAt(parameter, text, at);
    if (opening === undefined) break;
    const body = at + opening[0].length;
    const end = valueEnd(text, body, { parameter, callEnd, parameterEnd });
    if (end < 0) {
      return { call: faulty(name, `the parameter '${opening[1]}' must end with ${parameterEnd}`), end: at };
    }
    entries.push([opening[1] ?? "", withoutOuterLineEnds(text.slice(body, end))]);
    at = end + parameterEnd.length;
  }
  const ending = stickyMatch(callEnd, text, at);
  // fromEntries treats a key named __proto__ like any other
  const read = { name, arguments: Object.fromEntries(entries), hasTextArguments: true };
  if (ending !== undefined) return { call: read, end: at + ending.length };
  if (text.slice(at).trim() === "") return { call: read, end: text.length }; // many servers cut a reply there
  return { call: faulty(name, "there must be only parameters in a call"), end: at };
}

function faulty(name: string, fault: string): ParsedCall {
  return { name, arguments: {}, fault };
}

/** Returns the index of the end of a value: one after which another parameter or the end of the call follows. */
function valueEnd(
  text: string,
  start: number,
  { parameter, callEnd, parameterEnd }: Pick<ParameterSyntax, "parameter" | "callEnd" | "parameterEnd">,
): number {
  const first = text.indexOf(parameterEnd, start);
  let end = first;
  for (let tried = 0; end >= 0 && tried < MAX_ENDS; tried++) {
    const after = end + parameterEnd.length;
    if (matchAt(parameter, text, after) ?? matchAt(callEnd, text, after)) return end;
    end = text.indexOf(parameterEnd, end + 1);
  }
  return first;
}

function withoutOuterLineEnds(value: string): string {
  return value.replace(/^\r?\n/, "").replace(/\r?\n$/, "");
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
