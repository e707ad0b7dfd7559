import type { ToolSpec } from "../../message.ts";
import { GatewayError } from "../gateway_error.ts";
import type { ModelAnswer, ModelRequest, ToolChoice } from "../model_request.ts";
import type { CallSyntax } from "./call_syntaxes.ts";
import { freeText, literal } from "./ebnf.ts";

/** What a grammar depends on beside the choice of tools. */
export interface CallGrammarOptions {
  readonly tools: readonly ToolSpec[];
  /** How the model writes calls. @default the model server has no grammar for them */
  readonly syntax: CallSyntax | undefined;
  /** True if the prompt has opened a thought, which the reply ends. */
  readonly isThinking: boolean;
}

const THOUGHT = `${freeText("</think>")} "</think>" space`;

/**
 * Returns the grammar by which a model server enforces a choice of tools, or `undefined` if the choice leaves the reply
 * free.
 *
 * @throws {GatewayError} `invalid` if the choice cannot be enforced.
 */
export function callGrammar(choice: ToolChoice, options: CallGrammarOptions): string | undefined {
  const { tools, syntax, isThinking } = options;
  if (isFree(choice, tools)) return undefined;
  if (syntax === undefined) throw unenforceable(choice);
  const text = freeText(syntax.mark);
  if (choice.mode === "none") return `root ::= ${text}\n`;
  const thought = isThinking ? `(${THOUGHT})?` : `("<think>" ${THOUGHT})?`;
  const calls = tools.filter(({ name }) => choice.names?.includes(name) ?? true).map((tool) =>
    syntax.call(tool)
  );
  const more = choice.isSingle ? "" : ` (${literal(syntax.between)} call)*`;
  return [
    choice.mode === "required" ? `root ::= ${thought} calls` : `root ::= ${text} calls?`,
    `calls ::= ${literal(syntax.open)} call${more} ${literal(syntax.close)}`,
    `call ::= ${calls.map((call) => `(${call})`).join(" | ")}`,
    `space ::= [ \\n]? [ \\n]?`,
    ...syntax.rules,
  ].join("\n") + "\n";
}

/** Returns whether a choice is what a model does without a grammar. */
function isFree({ mode, names, isSingle }: ToolChoice, tools: readonly ToolSpec[]): boolean {
  return tools.length === 0 || (mode === "auto" && names === undefined && !isSingle);
}

function unenforceable({ mode, isSingle, names }: ToolChoice): GatewayError {
  const what = mode !== "auto"
    ? `a tool choice '${names === undefined ? mode : names[0] ?? mode}'`
    : isSingle
    ? "one call at most"
    : "a list of allowed tools";
  return new GatewayError(
    "invalid",
    `The gateway cannot enforce ${what}, as no grammar can have the special tokens of this model's calls: ` +
      `send tool_choice "auto", or let the owner open the session with tool_choice "auto"`,
  );
}

/**
 * Checks that a model server has kept to the choice of tools. A reply that was cut off, or that a stop text of the agent
 * ended, need not have its call.
 *
 * @throws {GatewayError} `bad_reply` if the server has not.
 */
export function requireChoice(
  { calls, finish, stopText }: ModelAnswer,
  { toolChoice: { mode, names, isSingle }, sampling: { stop = [] } }: ModelRequest,
): void {
  const other = calls.find(({ name }) => names !== undefined && !names.includes(name));
  const isStopped = finish === "length" || (stopText !== undefined && stop.includes(stopText));
  if (mode === "required" && calls.length === 0 && !isStopped) throw ignored("the reply has no call");
  if (other !== undefined) throw ignored(`the reply calls '${other.name.slice(0, 80)}'`);
  if (isSingle && calls.length > 1) throw ignored(`the reply has ${calls.length} calls`);
}

function ignored(what: string): GatewayError {
  return new GatewayError(
    "bad_reply",
    `The model server must enforce the tool choice by its constrained decoding: ${what}`,
  );
}
