import { ELEMENT_REGIONS, findElementCalls } from "../../chat/replies/element_calls.ts";
import {
  DSML_REGIONS,
  findDsmlCalls,
  findParameterCalls,
  GLM_SYNTAX,
  MINIMAX_SYNTAX,
  type ParameterCall,
  type ParameterSyntax,
  QWEN3_CODER_SYNTAX,
} from "../../chat/replies/parameter_calls.ts";
import type { CallRegions } from "../../chat/replies/thoughts.ts";
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

/**
 * Returns a parser for calls of MiniMax M3: `<tool_call><invoke name="n"><key>value</key></invoke></tool_call>`, with
 * `]<]minimax[>[` before each tag. Objects and lists are nested elements.
 *
 * Values are text; the tool's schema gives their types.
 */
export function minimaxM3Calls(): ToolCallParser {
  return foundCalls(findElementCalls, ELEMENT_REGIONS);
}

/**
 * Returns a parser for calls of DeepSeek V3.2 and V4:
 * `<｜DSML｜invoke name="n"><｜DSML｜parameter name="key" string="true">value</｜DSML｜parameter></｜DSML｜invoke>` in
 * `<｜DSML｜function_calls>`, or `<｜DSML｜tool_calls>` in V4. A value with `string="false"` is JSON.
 */
export function dsmlCalls(): ToolCallParser {
  return foundCalls(findDsmlCalls, DSML_REGIONS, { hasTextArguments: false });
}

function parameterCalls(syntax: ParameterSyntax): ToolCallParser {
  const { open, close, call } = syntax;
  // prose that names the tag starts no call
  const isCall = `(?=\\s*<(?:arg_key|parameter|/(?!think)))`;
  return foundCalls((text, most) => findParameterCalls(text, syntax, most), {
    open: new RegExp(`${open}${call.source}${isCall}`),
    close,
  });
}

/** Returns a parser for calls, whose values are text unless the syntax gives their types. */
function foundCalls(
  find: (text: string, most: number) => { text: string; calls: ParameterCall[] },
  regions: CallRegions,
  { hasTextArguments = true }: { hasTextArguments?: boolean } = {},
): ToolCallParser {
  const toCall = ({ name = UNNAMED, ...call }: ParameterCall): ParsedCall => ({
    name,
    ...call,
    ...(call.fault === undefined && hasTextArguments && { hasTextArguments }),
  });
  const parseText = (reply: string) => {
    const { text, calls } = find(reply, MAX_PARSED_CALLS);
    return { text: text.trim(), calls: calls.map(toCall) };
  };
  return {
    parse: (message) => nativeCalls(message) ?? readTextCalls(message, parseText, regions),
    faultText: agenticFaultMessage,
    render: renderByCallId,
  };
}
