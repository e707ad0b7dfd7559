import {
  findParameterCalls,
  GLM_SYNTAX,
  MINIMAX_SYNTAX,
  type ParameterCall,
  type ParameterSyntax,
  QWEN3_CODER_SYNTAX,
} from "../../chat/replies/parameter_calls.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import { readTextCalls } from "./text_calls.ts";
import { MAX_PARSED_CALLS, type ParsedCall, type ToolCallParser, UNNAMED } from "./tool_call_parser.ts";

/**
 * Returns a parser for calls of Qwen3-Coder, Qwen3.5, Qwen3.6 and Nemotron 3:
 * `<tool_call><function=n><parameter=key>value</parameter></function></tool_call>`, with line ends between them.
 *
 * Values are text; the tool's schema gives their types.
 */
export function qwen3CoderCalls(): ToolCallParser {
  return parameterCalls(QWEN3_CODER_SYNTAX);
}

/**
 * Returns a parser for calls of GLM 4.5 to 4.7:
 * `<tool_call>n<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, with line ends between them in 4.5 and 4.6.
 *
 * Values are text; the tool's schema gives their types.
 */
export function glmCalls(): ToolCallParser {
  return parameterCalls(GLM_SYNTAX);
}

/**
 * Returns a parser for calls of MiniMax M2:
 * `<minimax:tool_call><invoke name="n"><parameter name="key">value</parameter></invoke></minimax:tool_call>`, with line
 * ends between them.
 *
 * Values are text; the tool's schema gives their types.
 */
export function minimaxCalls(): ToolCallParser {
  return parameterCalls(MINIMAX_SYNTAX);
}

function parameterCalls(syntax: ParameterSyntax): ToolCallParser {
  const { open, close, call } = syntax;
  // prose that names the tag starts no call
  const regions = {
    open: new RegExp(`${open}${call.source}(?=\\s*<(?:arg_key|parameter|/(?!think)))`),
    close,
  };
  const parseText = (reply: string) => {
    const { text, calls } = findParameterCalls(reply, syntax, MAX_PARSED_CALLS);
    return { text: text.trim(), calls: calls.map(toCall) };
  };
  return {
    parse: (message) => nativeCalls(message) ?? readTextCalls(message, parseText, regions),
    faultText: agenticFaultMessage,
    render: renderByCallId,
  };
}

function toCall({ name = UNNAMED, ...call }: ParameterCall): ParsedCall {
  return { name, ...call, ...(call.fault === undefined && { hasTextArguments: true }) };
}
