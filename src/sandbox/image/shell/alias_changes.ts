import { findName, replace } from "./replace.ts";

/** Matches the replacement of aliases when a command runs. */
const AT_RUN = /this\.ctx\.state\.shoptOptions\.expand_aliases&&(?=[\w$]+\.name\)\{let)/g;
/** Matches the context of an interpreter, and the parsing of the text of `eval`. */
const CONTEXT = /(invokeTool:[\w$]+\.invokeTool)(?=\}\}assertDefenseContext)/g;
const PARSE =
  /try\{let [\w$]+=([\w$]+)\([\w$]+\);return await [\w$]+\.executeScript\([\w$]+\)\}catch\([\w$]+\)\{[^{}]*\.name==="ParseException"\)return [\w$]+\(`bash: eval:/g;

/** Code that parses a script for the guest, and tells whether more lines may make the text a script. */
const PARSE_SCRIPT = "const parseScriptOfPaddock=(text)=>{let script,error;" +
  "try{script=PARSE(text);error=script.statements.at(-1)?.parseError}" +
  "catch(thrown){if(!/^(?:ParseException|LexerError)$/.test(thrown?.name))throw thrown;error=thrown}" +
  'return{script,error,isIncomplete:error!==void 0&&(error.token?.type==="EOF"||/unexpected EOF/.test(error.message))}};';

/** Lets the guest replace aliases in the text of a script, before the text is parsed. */
export function changeAliases(engine: string): string {
  const left = replace(engine, AT_RUN, "!1&&", 1);
  const parsing = replace(left, CONTEXT, "$1,parse:parseScriptOfPaddock", 1);
  return PARSE_SCRIPT.replace("PARSE(text)", () => `${findName(engine, PARSE)}(text)`) + parsing;
}
