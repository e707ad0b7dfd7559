/**
 * How models write calls, for a grammar. The syntaxes are those whose marks are text: a grammar of a model server allows
 * no special tokens.
 *
 * @module
 */
import type { ToolSpec } from "../../message.ts";
import { freeText, literal } from "./ebnf.ts";

/** Calls of one syntax, as a grammar writes them. */
export interface CallSyntax {
  /** Text with which calls begin. Text of a reply that has no calls does not have it. */
  readonly mark: string;
  /** Text before the first call, between two calls, and after the last one, from {@linkcode mark} on. */
  readonly open: string;
  readonly between: string;
  readonly close: string;
  /** Returns the expression of a call. It may use the rules of {@linkcode JSON_RULES}, and of `rules`. */
  call(tool: ToolSpec): string;
  /** Rules that the expressions use. */
  readonly rules: readonly string[];
}

/** Rules of a JSON object. White space is that between the parts of one line, so that it cannot go on without an end. */
export const JSON_RULES: readonly string[] = [
  `object ::= "{" gap (pair ("," gap pair)*)? gap "}"`,
  `pair ::= string ":" gap value`,
  `array ::= "[" gap (value ("," gap value)*)? gap "]"`,
  `value ::= object | array | string | number | "true" | "false" | "null"`,
  `string ::= "\\"" ([^"\\\\\\x00-\\x1f] | "\\\\" ["\\\\/bfnrt] | "\\\\u" hex hex hex hex)* "\\""`,
  `hex ::= [0-9a-fA-F]`,
  `number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?`,
  `gap ::= (" " | "\\n")? " "? " "?`,
];

/** Calls as JSON between tags. */
function jsonCalls({ open, close, head, tail, mark = open.trimEnd() }: {
  open: string;
  close: string;
  /** Text before the arguments of a tool, and after them. */
  head: (name: string) => string;
  tail: string;
  mark?: string;
}): CallSyntax {
  return {
    mark,
    open,
    between: `${close}\n${open}`,
    close,
    call: ({ name }) => `${literal(head(name))} object${tail === "" ? "" : ` ${literal(tail)}`}`,
    rules: JSON_RULES,
  };
}

/** Calls whose parameters are elements with text. */
function elementCalls({ open, between, close, head, tail, parameter, valueEnd }: {
  open: string;
  between: string;
  close: string;
  head: (name: string) => string;
  tail: string;
  /** Text before the value of a parameter. */
  parameter: (name: string) => string;
  /** Text that ends a value. The value does not have it. */
  valueEnd: string;
}): CallSyntax {
  const toParameter = (name: string) => `${literal(parameter(name))} text-value ${literal(`${valueEnd}\n`)}`;
  return {
    mark: open.trimEnd(),
    open,
    between,
    close,
    call({ name, parameters }) {
      const names = Object.keys(Object(parameters.properties));
      const parts = names.map(toParameter).join(" | ");
      return `${literal(head(name))}${parts === "" ? "" : ` (${parts})*`}${
        tail === "" ? "" : ` ${literal(tail)}`
      }`;
    },
    rules: [`text-value ::= ${freeText(valueEnd)}`],
  };
}

const HERMES = jsonCalls({
  open: "<tool_call>\n",
  close: "\n</tool_call>",
  head: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
  tail: "}",
});

/** Syntaxes by the names of {@linkcode CALL_STYLES}. */
export const CALL_SYNTAXES: Readonly<Record<string, CallSyntax>> = {
  openai: HERMES,
  qwen25: HERMES,
  tag: jsonCalls({ open: "<tool>", close: "\n</tool>", head: (name) => `${name}\n`, tail: "" }),
  xml: jsonCalls({
    open: '<tool name="',
    mark: "<tool ",
    close: "</tool>",
    head: (name) => `${name}">`,
    tail: "",
  }),
  "qwen3-coder": elementCalls({
    open: "<tool_call>\n",
    between: "</tool_call>\n<tool_call>\n",
    close: "</tool_call>",
    head: (name) => `<function=${name}>\n`,
    parameter: (name) => `<parameter=${name}>\n`,
    valueEnd: "</parameter>",
    tail: "</function>\n",
  }),
  glm: elementCalls({
    open: "<tool_call>",
    between: "</tool_call>\n<tool_call>",
    close: "</tool_call>",
    head: (name) => `${name}\n`,
    parameter: (name) => `<arg_key>${name}</arg_key>\n<arg_value>`,
    valueEnd: "</arg_value>",
    tail: "",
  }),
  minimax: elementCalls({
    open: "<minimax:tool_call>\n",
    between: "",
    close: "</minimax:tool_call>",
    head: (name) => `<invoke name=${JSON.stringify(name)}>\n`,
    parameter: (name) => `<parameter name=${JSON.stringify(name)}>`,
    valueEnd: "</parameter>",
    tail: "</invoke>\n",
  }),
};
