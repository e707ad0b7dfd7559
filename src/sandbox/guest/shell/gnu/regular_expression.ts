import { bracketSource } from "./glob.ts";
import { UsageError } from "./command.ts";

/** Grammars of regular expressions: basic and extended ones of POSIX with GNU's additions, and the grammar of Emacs. */
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
 * Compiles an expression of POSIX for {@linkcode findMatch}. A match begins as far left as possible; `findMatch` looks
 * for the longest match there.
 */
export function compileExpression(
  pattern: string,
  grammar: Grammar,
  { ignoreCase = false, isMultiline = false, whole }: ExpressionSettings = {},
): RegExp {
  const source = expressionSource(pattern, grammar);
  return new RegExp(wholeSource(source, whole), `g${ignoreCase ? "i" : ""}${isMultiline ? "m" : ""}u`);
}

/** Sources in which the first alternative that matches may be shorter than another alternative. */
const ALTERNATIVES = /\|/;
/** Assertions, which a part of a text cannot be tested for. */
const ASSERTIONS = /\\[bB]|\$|\(\?/;
/** `^` outside of a class. */
const ANCHOR = /(?<![\\[])\^/;
/** Number of characters by which a longer match is searched. */
const LONGER_BY = 256;
const anchored = new WeakMap<RegExp, RegExp>();

/**
 * Returns the leftmost match at or behind a position, and of those that begin there the longest, as POSIX does. Takes
 * JavaScript's match for expressions with assertions, and when the longest is more than 256 characters longer.
 */
export function findMatch(expression: RegExp, text: string, from: number): RegExpExecArray | null {
  expression.lastIndex = from;
  const match = expression.exec(text);
  const { source, flags } = expression;
  if (!match || !ALTERNATIVES.test(source) || ASSERTIONS.test(source)) return match;
  if (match.index > 0 && ANCHOR.test(source)) return match;
  const whole = anchored.get(expression) ?? new RegExp(`^(?:${source})$`, flags.replace(/[gm]/g, ""));
  anchored.set(expression, whole);
  const end = match.index + match[0].length;
  for (let longer = Math.min(text.length, end + LONGER_BY); longer > end; longer--) {
    const found = whole.exec(text.slice(match.index, longer));
    if (!found) continue;
    found.index = match.index;
    expression.lastIndex = longer;
    return found;
  }
  return match;
}

function wholeSource(source: string, whole: ExpressionSettings["whole"]): string {
  if (whole === "line") return `^(?:${source})$`;
  return whole === "word" ? `(?<!\\w)(?:${source})(?!\\w)` : source;
}

/** Name of the group that holds a match behind `\\K` of Perl. */
export const KEPT_GROUP = "paddockKept";

/** Escapes of Perl with another source in JavaScript. */
const PERL_ESCAPES: Readonly<Record<string, string>> = {
  a: "\\x07",
  e: "\\x1b",
  h: "[ \\t]",
  H: "[^ \\t]",
  s: "[ \\t-\\r]",
  S: "[^ \\t-\\r]",
  R: "(?:\\r\\n|[\\n-\\r\\x85])",
  N: ".",
  A: "(?<![^])",
  z: "(?![^])",
  Z: "(?![^])",
};
/** Escapes that are the same. */
const SAME_ESCAPES = /^[dDwWbBnrtfv0-9]$/;
/** A part of an expression of Perl. */
const PERL_PART = new RegExp(
  [
    /\\Q(?<quoted>[^]*?)(?:\\E|$)/,
    /\\x\{(?<code>[0-9a-fA-F]+)\}|\\x(?<hex>[0-9a-fA-F]{2})/,
    /\\p(?:\{\^?\w+\}|\w)|\\P\{\w+\}|\\[kg][<{]\w+[>}]/,
    /\\(?<escape>[^])/,
    /\[(?<not>\^?)(?<set>\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*)\]/,
    /\(\?P?<(?<name>[A-Za-z_]\w*)>/,
    /(?<group>\((?:\?(?::|=|!|<=|<!)|(?![?*])))/,
    /(?<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?)/,
    /(?<sign>[^])/,
  ].map(({ source }) => source).join("|"),
  "gu",
);

/** Compiles an expression of Perl. Throws for an expression without an equal in JavaScript. */
export function compilePerlExpression(
  pattern: string,
  { ignoreCase = false, whole }: ExpressionSettings = {},
): RegExp {
  const [flags = "", letters = ""] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  let source = "";
  let depth = 0;
  let keepsAt: number | undefined;
  for (const { 0: part, groups = {} } of pattern.slice(flags.length).matchAll(PERL_PART)) {
    const { quoted, code, hex, escape, set, not = "", name, group, repeat, sign } = groups;
    if (quoted !== undefined) source += quoted.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
    else if (code !== undefined) source += `\\u{${code}}`;
    else if (hex !== undefined) source += part;
    else if (escape === "K" && depth === 0 && keepsAt === undefined) keepsAt = source.length;
    else if (escape !== undefined) source += perlEscape(escape, keepsAt !== undefined);
    else if (set !== undefined) source += `[${not}${perlSet(set)}]`;
    else if (name !== undefined || group !== undefined) {
      source += name === undefined ? group : `(?<${name}>`;
      depth++;
    } else if (repeat !== undefined) {
      if (repeat.length > 1 && repeat.endsWith("+")) refusePerl(repeat);
      source += repeat;
    } else if (sign !== undefined) {
      if (sign === ")") depth--;
      if (sign === "(" || (sign === "|" && depth === 0 && pattern.includes("\\K"))) refusePerl(pattern);
      source += sign === "{" || sign === "}" || sign === "]" ? `\\${sign}` : sign;
    } else refusePerl(part);
  }
  if (keepsAt !== undefined) {
    source = `${source.slice(0, keepsAt)}(?<${KEPT_GROUP}>${source.slice(keepsAt)})`;
  }
  return new RegExp(
    wholeSource(source, whole),
    `g${ignoreCase || letters.includes("i") ? "i" : ""}${letters.includes("s") ? "s" : ""}u`,
  );
}

function perlEscape(sign: string, isKept: boolean): string {
  const source = PERL_ESCAPES[sign];
  if (source !== undefined) return source;
  if (SAME_ESCAPES.test(sign) && !(isKept && /[1-9]/.test(sign))) return `\\${sign}`;
  if (/[A-Za-z0-9]/.test(sign)) refusePerl(`\\${sign}`);
  return quote(sign);
}

function perlSet(set: string): string {
  const parts = /\[:(\^?)(\w+):\]|\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{1,2}))|\\([^])|[[\]]/gu;
  return set.replace(parts, (part, not, name, code, hex, sign) => {
    if (not) refusePerl(part);
    if (code !== undefined || hex !== undefined) return `\\u{${code ?? hex}}`;
    if (name !== undefined) return bracketSource(part);
    if (sign === undefined) return `\\${part}`;
    if (sign === "s") return " \\t-\\r";
    if (sign === "h") return " \\t";
    if (/[dDwWnrtfvbS]/.test(sign)) return part;
    if (/[A-Za-z0-9]/.test(sign)) refusePerl(part);
    return /[\\\]^[\-]/.test(sign) ? part : sign;
  });
}

function refusePerl(part: string): never {
  throw new UsageError(`the expression of Perl '${part}' is not available in the sandbox`, {
    exitCode: 2,
    hasHint: false,
  });
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
