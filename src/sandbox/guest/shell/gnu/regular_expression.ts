import { bracketSource } from "./glob.ts";
import { UsageError } from "./command.ts";

/** Grammars of regular expressions: basic and extended ones of POSIX with GNU's additions, and those of Emacs. */
export type Grammar = "basic" | "extended" | "emacs";

/** Returns the source of a JavaScript expression, for the flags `u` and `s`, that matches as a POSIX expression does. */
export function expressionSource(pattern: string, grammar: Grammar): string {
  let source = "";
  let depth = 0;
  /** True where an item must begin, so that `*` is itself. */
  let isStart = true;
  for (let at = 0; at < pattern.length;) {
    const sign = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    const isEscaped = sign === "\\" && at + 1 < pattern.length;
    const symbol = isEscaped ? String.fromCodePoint(pattern.codePointAt(at + 1) ?? 0) : sign;
    at += isEscaped ? 1 + symbol.length : sign.length;
    const wasStart = isStart;
    isStart = false;
    if (sign === "[") {
      const [all, not = "", inside] =
        /^\[(\^?)(\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]])*)\]/su.exec(pattern.slice(at - 1)) ?? [];
      if (inside === undefined) {
        throw new UsageError("Unmatched [, [^, [:, [., or [=", { exitCode: 2, hasHint: false });
      }
      source += `[${not}${bracketSource(inside)}]`;
      at += (all?.length ?? 1) - 1;
    } else if (isOperator("(", symbol, isEscaped, grammar)) {
      source += "(";
      depth++;
      isStart = true;
    } else if (isOperator(")", symbol, isEscaped, grammar) && (depth > 0 || grammar !== "extended")) {
      if (depth === 0) throw new UsageError("Unmatched ) or \\)", { exitCode: 2, hasHint: false });
      source += ")";
      depth--;
    } else if (isOperator("|", symbol, isEscaped, grammar)) {
      source += "|";
      isStart = true;
    } else if (isOperator("{", symbol, isEscaped, grammar) && !wasStart) {
      const close = grammar === "extended" ? "}" : "\\}";
      const end = pattern.indexOf(close, at);
      const [, least = "", comma, most = ""] = /^(\d*)(,?)(\d*)$/.exec(pattern.slice(at, end)) ?? [];
      if (end < 0 || comma === undefined) source += "\\{";
      else {
        source += comma ? `{${least || 0},${most}}` : `{${least}}`;
        at = end + close.length;
      }
    } else if (!isEscaped && sign === "*" && !wasStart) source += "*";
    else if ("+?".includes(symbol) && isEscaped === (grammar === "basic") && !wasStart) source += symbol;
    else if (!isEscaped && sign === ".") source += "[^]";
    else if (!isEscaped && sign === "^" && (grammar !== "basic" || wasStart)) {
      source += "^";
      isStart = true;
    } else if (!isEscaped && sign === "$" && (grammar !== "basic" || endsItem(pattern, at))) source += "$";
    else if (isEscaped && /[1-9]/.test(symbol)) source += `(?:\\${symbol})`;
    else if (isEscaped && "wWsSbB".includes(symbol)) source += `\\${symbol}`;
    else if (isEscaped && symbol === "<") source += "\\b(?=\\w)";
    else if (isEscaped && symbol === ">") source += "\\b(?<=\\w)";
    else if (isEscaped && symbol === "`") source += "(?<![^])";
    else if (isEscaped && symbol === "'") source += "(?![^])";
    else source += quote(symbol);
  }
  if (depth > 0) throw new UsageError("Unmatched ( or \\(", { exitCode: 2, hasHint: false });
  return source;
}

/** Whether a symbol is an operator, which a backslash makes in basic expressions and takes away in extended ones. */
function isOperator(operator: string, symbol: string, isEscaped: boolean, grammar: Grammar): boolean {
  return symbol === operator && isEscaped === (grammar !== "extended");
}

function endsItem(pattern: string, at: number): boolean {
  return at === pattern.length || pattern.startsWith("\\)", at) || pattern.startsWith("\\|", at);
}

function quote(symbol: string): string {
  return symbol.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&");
}

/** Settings of {@linkcode compileExpression}. */
export interface ExpressionSettings {
  readonly ignoreCase?: boolean;
  /** Whether `^` and `$` also match at line ends inside of the text. */
  readonly isMultiline?: boolean;
  /** Whether a match must be a whole line, or a whole word. */
  readonly whole?: "line" | "word" | undefined;
}

/**
 * Compiles an expression of POSIX for repeated matches. A match begins as far left as possible; among alternatives that
 * begin there, the first one is taken, where POSIX takes the longest.
 */
export function compileExpression(
  pattern: string,
  grammar: Grammar,
  { ignoreCase = false, isMultiline = false, whole }: ExpressionSettings = {},
): RegExp {
  const source = expressionSource(pattern, grammar);
  const inside = whole === "line"
    ? `^(?:${source})$`
    : whole === "word"
    ? `(?<!\\w)(?:${source})(?!\\w)`
    : source;
  return new RegExp(inside, `g${ignoreCase ? "i" : ""}${isMultiline ? "m" : ""}u`);
}

const EXTENDED_TYPES =
  /^(?:posix-)?(?:extended|egrep|awk|minimal-egrep)$|^(?:gnu-awk|posix-awk|posix-egrep)$/;

/** Compiles the expression of `find -regex`, which must match the whole path. */
export function emacsExpression(
  pattern: string,
  { ignoreCase, type }: { ignoreCase: boolean; type: string },
): RegExp {
  const grammar = EXTENDED_TYPES.test(type) ? "extended" : /emacs/.test(type) ? "emacs" : "basic";
  return new RegExp(
    `^(?:${expressionSource(pattern, grammar)})$`,
    ignoreCase ? "isu" : "su",
  );
}
