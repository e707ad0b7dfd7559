import { MENU } from "../builtins/select.ts";
import { commandText } from "../builtins/function_text.ts";
import type { CommandNode, ConditionNode } from "../builtins/nodes.ts";
import type { ScriptInterpreter } from "../terminal.ts";
import { shortLived } from "./short_lived.ts";

/** What `set -x` traces: a kind for each form of a line. */
type TraceEvent =
  | readonly ["command", words: readonly string[]]
  | readonly ["assignment", name: string, value: string]
  | readonly ["list", source: string]
  | readonly ["node", node: CommandNode]
  | readonly ["arithmetic", text: string]
  | readonly ["loop", parts: readonly string[], at: number]
  | readonly ["condition", node: ConditionNode, operands: readonly string[], isQuoted?: boolean];

interface TracedInterpreter {
  executeScript(...args: unknown[]): Promise<unknown>;
  readonly ctx: {
    executeScript: TracedInterpreter["executeScript"];
    trace?: (prompt: string, ...event: TraceEvent) => string;
  };
}

/** Builtins of this shell by which rewritten commands run. */
const INTERNAL = /^__paddock_/;
/** Builtins that assign variables as commands without a name do. */
const ASSIGNING = new Set(["export", "readonly"]);
const DECLARING = new Set(["declare", "local", "typeset"]);

/**
 * Lets an interpreter write the lines of `set -x`. `print` prints a line at once, or returns `false`, and then the line
 * is part of the stderr of the command. Each `eval`, `source` and substitution repeats the first sign of `PS4`.
 */
export function addTrace(interpreter: ScriptInterpreter, print: (text: string) => boolean): void {
  const own = interpreter as unknown as TracedInterpreter;
  let depth = 0;
  const counted = (script: TracedInterpreter["executeScript"]) =>
    shortLived(async (...args: unknown[]) => {
      depth++;
      try {
        return await script(...args);
      } finally {
        depth--;
      }
    });
  own.executeScript = counted(own.executeScript.bind(own));
  own.ctx.executeScript = counted(own.ctx.executeScript);
  own.ctx.trace = shortLived((prompt, ...event) => {
    const [first = "", ...rest] = prompt;
    const start = first.repeat(Math.max(1, depth)) + rest.join("");
    const text = linesOf(event).map((line) => `${start}${line}\n`).join("");
    return print(text) ? "" : text;
  });
}

function linesOf(event: TraceEvent): readonly string[] {
  switch (event[0]) {
    case "command":
      return commandLines(event[1]);
    case "assignment":
      return INTERNAL.test(event[1]) ? [] : [`${event[1]}=${event[2] === "" ? "" : quote(event[2])}`];
    case "list":
      return [event[1]];
    case "node":
      return [commandText(event[1]).trimEnd()];
    case "arithmetic":
      return [`(( ${event[1]} ))`];
    case "loop":
      return [`(( ${event[1][event[2]]?.trimStart() || "1"} ))`];
    case "condition":
      return [conditionLine(event)];
  }
}

function commandLines([name = "", ...args]: readonly string[]): string[] {
  if (name === MENU) return [`select ${args[0] ?? ""} in ${args.slice(1).map(quote).join(" ")}`];
  if (INTERNAL.test(name)) return [];
  const words = DECLARING.has(name) ? args.map((word) => word.replace(/^(\w+)=\(\)$/, "$1")) : args;
  const line = [name, ...words].map(quote).join(" ");
  if (!ASSIGNING.has(name)) return [line];
  const assigned = words.flatMap((word) => {
    const [, variable, value = ""] = /^([a-zA-Z_]\w*\+?=)([^]*)$/.exec(word) ?? [];
    return variable === undefined ? [] : [variable + (value === "" ? "" : quote(value))];
  });
  return [line, ...assigned];
}

function conditionLine(
  [, node, operands, isQuoted]: Extract<TraceEvent, readonly ["condition", ...unknown[]]>,
) {
  const [left = "", right] = operands.map((text) => text === "" ? "''" : text);
  const escaped = isQuoted && right !== "''" ? escapeAll(right ?? "", node.operator) : right;
  const shown = right === undefined
    ? `${node.operator ?? "-n"} ${left}`
    : `${left} ${node.operator} ${escaped}`;
  return `[[ ${node.isNegated ? "! " : ""}${shown} ]]`;
}

/** Escapes the signs of a quoted pattern, or the special signs of a regular expression. */
function escapeAll(text: string, operator: string | undefined): string {
  if (operator === "=~") return text; // the engine has escaped the expression
  return /^(?:=|==|!=)$/.test(operator ?? "") ? text.replace(/[^]/gu, "\\$&") : text;
}

/** Quotes a word as `set -x` does. */
function quote(word: string): string {
  if (word === "") return "''";
  if (/[\s'"\\|&;()<>!{}*[\]?^$`]|^[~#]|[=:]~/.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  return hasControl(word) ? `$'${word.replace(/[^]/g, controlText)}'` : word;
}

function hasControl(word: string): boolean {
  return Array.from(word).some((sign) => sign < " " || sign === "\x7f");
}

const ESCAPES: Readonly<Record<string, string>> = { "\x07": "\\a", "\b": "\\b", "\x1b": "\\E" };

function controlText(sign: string): string {
  if (!hasControl(sign)) return sign;
  return ESCAPES[sign] ?? `\\${sign.charCodeAt(0).toString(8).padStart(3, "0")}`;
}
