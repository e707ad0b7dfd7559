/** Kind of a piece of code, which selects its colour. */
export type CodeKind = "keyword" | "string" | "comment" | "number" | "name" | "plain";

/** A piece of code. */
export interface CodeToken {
  readonly kind: CodeKind;
  readonly text: string;
}

interface Language {
  readonly keywords: ReadonlySet<string>;
  /** Texts that begin a comment, which ends with the line. */
  readonly comments: readonly string[];
  /** Texts that begin and end a string, longest first. */
  readonly quotes: readonly string[];
}

const words = (text: string): Set<string> => new Set(text.split(" "));

const PYTHON: Language = {
  keywords: words(
    "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
  ),
  comments: ["#"],
  quotes: ['"""', "'''", '"', "'"],
};
const SCRIPT: Language = {
  keywords: words(
    "async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield",
  ),
  comments: ["//"],
  quotes: ["`", '"', "'"],
};
const SHELL: Language = {
  keywords: words("case do done elif else esac export fi for function if in local return then until while"),
  comments: ["#"],
  quotes: ['"', "'"],
};
const JSON_TEXT: Language = { keywords: words("false null true"), comments: [], quotes: ['"'] };

const LANGUAGES: Readonly<Record<string, Language>> = {
  python: PYTHON,
  py: PYTHON,
  python3: PYTHON,
  json: JSON_TEXT,
  jsonl: JSON_TEXT,
  bash: SHELL,
  sh: SHELL,
  shell: SHELL,
  javascript: SCRIPT,
  js: SCRIPT,
  typescript: SCRIPT,
  ts: SCRIPT,
};

/** Characters that are highlighted; the rest of a longer text is plain. */
const MAX_CHARACTERS = 50_000;

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:0[xob][\da-f_]+|\d[\d_]*(?:\.[\d_]+)?(?:e[+-]?\d+)?)/iy;

/**
 * Splits code into pieces with colours, in a single pass over the characters. Code of another language, and text that
 * is no code, is a single plain piece: the joined pieces are always the given text.
 */
export function codeTokens(code: string, language: string): CodeToken[] {
  const name = language.toLowerCase();
  const known = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  if (known === undefined) return [{ kind: "plain", text: code }];
  const tokens: CodeToken[] = [];
  let plainFrom = 0;
  let at = 0;
  const end = Math.min(code.length, MAX_CHARACTERS);
  const push = (kind: CodeKind, to: number) => {
    if (at > plainFrom) tokens.push({ kind: "plain", text: code.slice(plainFrom, at) });
    tokens.push({ kind, text: code.slice(at, to) });
    plainFrom = at = to;
  };
  while (at < end) {
    const comment = known.comments.find((mark) => code.startsWith(mark, at));
    const quote = known.quotes.find((mark) => code.startsWith(mark, at));
    if (comment !== undefined) push("comment", endOfLine(code, at));
    else if (quote !== undefined) push("string", endOfString(code, at, quote));
    else {
      const word = matchAt(WORD, code, at);
      const number = word === undefined ? matchAt(NUMBER, code, at) : undefined;
      if (number !== undefined) push("number", at + number.length);
      else if (word === undefined) at++;
      else if (known.keywords.has(word)) push("keyword", at + word.length);
      else if (code[at + word.length] === "(") push("name", at + word.length);
      else at += word.length;
    }
  }
  if (plainFrom < code.length) tokens.push({ kind: "plain", text: code.slice(plainFrom) });
  return tokens;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function endOfLine(code: string, from: number): number {
  const end = code.indexOf("\n", from);
  return end === -1 ? code.length : end;
}

/** Returns the end of a string. An unclosed string ends with the line, unless the quotes span lines. */
function endOfString(code: string, from: number, quote: string): number {
  const spansLines = quote.length > 1 || quote === "`";
  for (let at = from + quote.length; at < code.length; at++) {
    if (code[at] === "\\") at++;
    else if (code.startsWith(quote, at)) return at + quote.length;
    else if (code[at] === "\n" && !spansLines) return at;
  }
  return code.length;
}
