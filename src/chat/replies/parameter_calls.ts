import { parseUntrustedJson } from "../../json.ts";
import type { ToolCall } from "../../message.ts";
import type { CallRegions } from "./thoughts.ts";

/** Maximum number of parameters of a call. */
const MAX_PARAMETERS = 1_000;
/** Maximum number of closing tags that are tried as the end of a value. */
const MAX_ENDS = 1_000;

/** A call whose values are text, or objects and lists with text, or the reason why the call could not be read. */
export interface ParameterCall {
  /** Name of the tool; left out if the call has none. */
  readonly name?: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly fault?: string;
  /** False if the text ends before the end of the call; absent otherwise. */
  readonly isClosed?: false;
}

/** Syntax of calls whose parameters are elements with text. */
export interface ParameterSyntax {
  /** Text before and after a call or a group of calls. */
  readonly open: string;
  readonly close: string;
  /** Start of a call, at an index; the first group is the call's name. */
  readonly call: RegExp;
  /** End of a call. */
  readonly callEnd: RegExp;
  /** Start of a parameter; the first group is the name, and the second, if any, `false` for a value that is JSON. */
  readonly parameter: RegExp;
  /** Text after a parameter's value. */
  readonly parameterEnd: string;
}

/** Syntax of Qwen3-Coder, Qwen3.5, Qwen3.6 and Nemotron 3. */
export const QWEN3_CODER_SYNTAX: ParameterSyntax = {
  open: "<tool_call>",
  close: "</tool_call>",
  call: /\s*<function=([^>\s]{1,256})>/y,
  callEnd: /\s*<\/function>/y,
  parameter: /\s*<parameter=([^>\n]{1,256})>/y,
  parameterEnd: "</parameter>",
};

/** Syntax of GLM 4.5 to 4.7. */
export const GLM_SYNTAX: ParameterSyntax = {
  open: "<tool_call>",
  close: "</tool_call>",
  call: /\s*([^\s<{]{1,256})/y,
  callEnd: /(?=\s*<\/tool_call>)/y,
  parameter: /\s*<arg_key>([^<\n]{1,256})<\/arg_key>\s*<arg_value>/y,
  parameterEnd: "</arg_value>",
};

/** Syntax of MiniMax M2. */
export const MINIMAX_SYNTAX: ParameterSyntax = {
  open: "<minimax:tool_call>",
  close: "</minimax:tool_call>",
  call: /\s*<invoke name="?([^">\s]{1,256})"?>/y,
  callEnd: /\s*<\/invoke>/y,
  parameter: /\s*<parameter name="?([^">\n]{1,256})"?>/y,
  parameterEnd: "</parameter>",
};

/** Text before the names of DeepSeek's tags, from V3.2 on. */
export const DSML = "｜DSML｜";

/** Syntax of DeepSeek V3.2, in which a parameter says whether the value is text or JSON. */
const DSML_SYNTAX: ParameterSyntax = {
  open: "<｜DSML｜function_calls>",
  close: "</｜DSML｜function_calls>",
  call: /\s*<｜DSML｜invoke name="([^">\s]{1,256})">/y,
  callEnd: /\s*<\/｜DSML｜invoke>/y,
  parameter: /\s*<｜DSML｜parameter name="([^">\n]{1,256})" string="(true|false)">/y,
  parameterEnd: "</｜DSML｜parameter>",
};

/** Syntax of DeepSeek V4. */
const DSML_V4_SYNTAX: ParameterSyntax = {
  ...DSML_SYNTAX,
  open: "<｜DSML｜tool_calls>",
  close: "</｜DSML｜tool_calls>",
};

/** Marks around calls of DeepSeek V3.2 and V4 in a reply. */
export const DSML_REGIONS: CallRegions = {
  open: /<｜DSML｜(?:function|tool)_calls>(?=\s*<｜DSML｜invoke )/,
};

/** Finds the calls in a text of DeepSeek V3.2 or V4, which name the group of calls differently. */
export function findDsmlCalls(text: string, most?: number): { text: string; calls: ParameterCall[] } {
  const syntax = text.includes(DSML_V4_SYNTAX.open) ? DSML_V4_SYNTAX : DSML_SYNTAX;
  return findParameterCalls(text, syntax, most);
}

/**
 * Finds the calls in a text.
 *
 * @param most Maximum number of calls. Text after them is not searched.
 */
export function findParameterCalls(
  text: string,
  syntax: ParameterSyntax,
  most = 1_000,
): { text: string; calls: ParameterCall[] } {
  const { open, close } = syntax;
  const calls: ParameterCall[] = [];
  let rest = "";
  let at = 0;
  for (let start = text.indexOf(open); start >= 0 && calls.length < most; start = text.indexOf(open, at)) {
    let end = start + open.length;
    for (let first = true; calls.length < most; first = false) {
      const found = readCall(text, end, syntax);
      if (found === undefined) {
        if (first) {
          calls.push({ arguments: {}, fault: "a call must begin with the name of a tool in its tag" });
        }
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
  return { text: rest + text.slice(at), calls };
}

/**
 * Splits a reply into text and the found calls. A call that cannot be read stays text, together with all calls beside
 * the call.
 */
export function splitFoundCalls(
  text: string,
  found: { readonly text: string; readonly calls: readonly ParameterCall[] },
): { content: string; calls?: readonly ToolCall[] } {
  const calls = found.calls.flatMap(({ name, arguments: args, fault }) =>
    name === undefined || fault !== undefined ? [] : [{ name, arguments: args }]
  );
  if (calls.length === 0 || calls.length < found.calls.length) return { content: text };
  return { content: found.text, calls };
}

function readCall(
  text: string,
  start: number,
  { call, callEnd, parameter, parameterEnd }: ParameterSyntax,
): { call: ParameterCall; end: number } | undefined {
  const head = matchAt(call, text, start);
  if (head === undefined) return undefined;
  const [, name = ""] = head;
  const entries: [string, unknown][] = [];
  let at = start + head[0].length;
  while (entries.length < MAX_PARAMETERS) {
    const opening = matchAt(parameter, text, at);
    if (opening === undefined) break;
    const body = at + opening[0].length;
    const end = valueEnd(text, body, { parameter, callEnd, parameterEnd });
    if (end < 0) {
      return { call: faulty(name, `the parameter '${opening[1]}' must end with ${parameterEnd}`), end: at };
    }
    const [, key = "", isText] = opening;
    const value = text.slice(body, end);
    entries.push([key, isText === undefined ? withoutOuterLineEnds(value) : markedValue(value, isText)]);
    at = end + parameterEnd.length;
  }
  const ending = matchAt(callEnd, text, at)?.[0];
  // fromEntries treats a key named __proto__ like any other
  const read = { name, arguments: Object.fromEntries(entries) };
  if (ending !== undefined) return { call: read, end: at + ending.length };
  if (text.slice(at).trim() === "") {
    return { call: { ...read, isClosed: false }, end: text.length }; // many servers cut a reply there
  }
  return { call: faulty(name, "there must be only parameters in a call"), end: at };
}

function faulty(name: string, fault: string): ParameterCall {
  return { name, arguments: {}, fault };
}

/** Returns the index of the end of a value, after which another parameter or the end of the call follows. */
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

/** Returns a value whose parameter says whether the value is text. A value that is not JSON stays text. */
function markedValue(value: string, isText: string): unknown {
  if (isText === "true") return value;
  try {
    return parseUntrustedJson(value);
  } catch {
    return value;
  }
}

function withoutOuterLineEnds(value: string): string {
  return value.replace(/^\r?\n/, "").replace(/\r?\n$/, "");
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
