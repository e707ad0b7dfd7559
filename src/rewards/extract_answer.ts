import { endsInBox, findJoinedBoxes, findLastBoxed } from "./boxes.ts";
import { findNumbers } from "./plain_number.ts";

/**
 * Ways to find an answer outside of `<answer>…</answer>`, in the order in which they are tried:
 * - `box`: the last `\boxed{…}`.
 * - `boxes`: the last `\boxed{…}` with all joined boxes, as in `\boxed{1}$ and $\boxed{2}`, unless a final
 *   answer follows.
 * - `stated`: the text after the last `####`, `answer is` or `Answer:`.
 * - `display`: maths between `$$…$$` or `\[…\]` at the end of the reply.
 * - `bold`: `**…**` at the end of the reply.
 * - `inline`: the last `$…$`, `\(…\)` or fraction, if no number follows.
 * - `last number`: the last number of the reply.
 */
export type Extraction = "box" | "boxes" | "stated" | "display" | "bold" | "inline" | "last number";

/** Every way to find a number, in order. This is the default of `gsm8k`. */
export const ANY_EXTRACTION: readonly Extraction[] = ["box", "stated", "display", "bold", "last number"];

/** Every way to find mathematics, in order. This is the default of `math`. */
export const MATHS_EXTRACTION: readonly Extraction[] = [
  "boxes",
  "stated",
  "display",
  "bold",
  "inline",
  "last number",
];

/** Maximum length of the end of a reply that is searched for a statement or number, in characters. */
const MAX_END = 20_000;
/** Maximum distance of a sentence that takes an answer back, in characters. */
const MAX_RETRACTION = 200;
const STATEMENT = /(?<!\w)answer(?: is\b:?| ?\*{0,3} ?:)/iy;
const ANSWER = ["answer", "Answer", "ANSWER"];
/** Words that deny an answer. `\not` is a symbol. */
const DENIAL = /(?<!\\)\b(?:not|never|neither|nor|wrong|incorrect|except|unless|cannot)\b|n['’]t\b/i;
/** Words that name an answer as one of several, or as uncertain. */
const HEDGE = /\b(?:or|either|between|maybe|perhaps|possibly|might)\b/i;
/** `less than` and the like before a number, which is then no answer. */
const BOUND =
  /(?<![a-z])(?:(?:less|fewer|smaller|lower|more|greater|larger|bigger|higher) than|over|under|above|below|exceeds)[\s$*({\\]{1,9}[-\d.,]{0,30}$/i;
/** A sentence that takes back the preceding answer. */
const RETRACTION =
  /^\W{0,20}(?:no|wrong|incorrect)\b|\b(?:that|this|it)(?: is|['’]s| was) (?:wrong|incorrect|not (?:right|correct|true|it))\b/im;
const SENTENCE_END = /[.!?;](?=\s)|\n/g;
const REASON = /,? (?:because|since|which|as|so|given|where)\b/i;
const MATHS =
  /^(?:\$\$([^$]{1,2000})\$\$|\$((?:\\\$|[^$\n]){1,2000})\$|\\\[((?:[^\\]|\\[^\]]){1,2000})\\\]|\\\(((?:[^\\]|\\[^)]){1,2000})\\\))/;
const PROSE = /(?<![\\a-zA-Z{])[a-zA-Z]{3,} +[a-zA-Z$]|(?<![\\a-zA-Z{])(?:or|and|is) /;
const BOLD = /^(\*{1,3})([^*]{1,2000})\1/;

/** Returns true if a text denies the stated answer, as in `not 5` and `5 is wrong`. */
export function isDenied(text: string): boolean {
  return DENIAL.test(text);
}

/**
 * Returns the answer of a text by the first of `extractions` that finds an answer; `undefined` if none does, or if the
 * text denies the answer or names several: `not 5`, `5 is wrong`, `5 or 7`. Time is linear in the text's length.
 */
export function extractAnswer(text: string, extractions: readonly Extraction[]): string | undefined {
  for (const extraction of extractions) {
    const found = FINDERS[extraction](text);
    if (found !== undefined) return found === "" ? undefined : found;
  }
  return undefined;
}

/** Finders by extraction. Each returns `undefined` if nothing was found, and `""` if the answer is denied. */
const FINDERS: Readonly<Record<Extraction, (text: string) => string | undefined>> = {
  box: (text) => endsInBox(text) ? "" : findLastBoxed(text),
  boxes: (text) => endsInBox(text) ? "" : findJoinedBoxes(text),
  stated: findStated,
  display: (text) => findAtEnd(text, "$$", "$$") ?? findAtEnd(text, "\\[", "\\]"),
  bold: (text) => findAtEnd(text, "**", "**"),
  inline: findInline,
  "last number": findLastNumber,
};

function findStated(text: string): string | undefined {
  const end = text.slice(-MAX_END);
  const start = endOfStatement(end);
  if (start === undefined) return undefined;
  const rest = end.slice(start).replace(
    /^[\s:*]+(?=[^\s:*])/,
    (lead) => lead.includes("*") && !/^\s*:?\**:?\s+$/.test(lead) ? "**" : "",
  );
  return statedAnswer(rest);
}

/** Returns the end of the last `####`, `answer is` or `Answer:`. */
function endOfStatement(text: string): number | undefined {
  const marks = text.lastIndexOf("####");
  for (let before = text.length; before > 0;) {
    const at = Math.max(...ANSWER.map((word) => text.lastIndexOf(word, before - 1)));
    if (at < 0 || at < marks) break;
    STATEMENT.lastIndex = at;
    if (STATEMENT.test(text)) return STATEMENT.lastIndex;
    before = at;
  }
  return marks < 0 ? undefined : marks + 4;
}

function statedAnswer(rest: string): string | undefined {
  const formatted = formattedAnswer(rest);
  const [clause = ""] = formatted === undefined ? sentencesOf(rest) : [formatted.answer];
  const after = (formatted?.after ?? rest.slice(clause.length)).slice(0, MAX_RETRACTION);
  if (isDenied(clause) || RETRACTION.test(after)) return "";
  return plain(clause.replace(/\.$/, ""));
}

/** Returns maths or bold text at the start, unless other answers follow in the same sentence. */
function formattedAnswer(rest: string): { readonly answer: string; readonly after: string } | undefined {
  const maths = MATHS.exec(rest);
  const matched = maths ?? BOLD.exec(rest);
  if (matched === null) return undefined;
  const answer = maths === null ? matched[2] ?? "" : maths.slice(1).find((part) => part !== undefined) ?? "";
  const after = rest.slice(matched[0].length);
  const [sentence = ""] = sentencesOf(after);
  const isWhole = !isDenied(sentence.split(",", 1)[0] ?? "") &&
    !/^[\s,]{0,9}(?:or|and)\b|^\s?,\s?[$\\\d]/i.test(sentence);
  return isWhole && !(maths !== null && PROSE.test(answer)) ? { answer, after } : undefined;
}

/** Returns the first sentence without a reason, as `5, because …`. */
function sentencesOf(text: string): string[] {
  SENTENCE_END.lastIndex = 0;
  const end = SENTENCE_END.exec(text)?.index ?? text.length;
  const sentence = text.slice(0, end);
  return [sentence.slice(0, REASON.exec(sentence)?.index ?? sentence.length)];
}

/** Returns the text between two marks at the end of a text. */
function findAtEnd(text: string, opening: string, closing: string): string | undefined {
  const end = text.slice(-MAX_END).replace(/[\s.]{1,20}$/, "");
  if (!end.endsWith(closing)) return undefined;
  const inside = end.slice(0, -closing.length);
  const start = inside.lastIndexOf(opening);
  if (start < 0) return undefined;
  const before = inside.slice(inside.lastIndexOf("\n", start) + 1, start);
  const answer = inside.slice(start + opening.length);
  if (/(?<![a-z])[a-z]{3,} [a-z]{2}/.test(answer) && !/^\s?\\text\s?\{[^{}]{0,200}\}\s?$/.test(answer)) {
    return undefined;
  }
  return isUncertain(lastSentenceOf(before)) ? "" : plain(answer);
}

const INLINE =
  /\$((?:\\\$|[^$\n]){1,500})\$|\\\(((?:[^\\\n]|\\[^)]){1,500})\\\)|(?<![\w./$])(-?(?:\d{1,4} )?\d{1,15}\/\d{1,15})(?![\w/])/g;

/** Returns the last mathematics or fraction of the last line that has any, unless a number follows. */
function findInline(text: string): string | undefined {
  const lines = text.slice(-MAX_END).trimEnd().split("\n");
  const at = lines.findLastIndex((line) => /[$)\d]/.test(line));
  const line = lines[at] ?? "";
  const last = [...line.matchAll(INLINE)].at(-1);
  if (last === undefined) return undefined;
  const after = [line.slice(last.index + last[0].length), ...lines.slice(at + 1)].join("\n");
  const answer = last[1] ?? last[2] ?? last[3] ?? "";
  const before = lastSentenceOf(line.slice(0, last.index));
  if (/\d/.test(after) || PROSE.test(answer)) return undefined;
  return isUncertain(before) || isTakenBack(after) ? "" : plain(answer);
}

/** Returns true if the words before an answer deny the answer, name others, or make the answer a bound. */
function isUncertain(before: string): boolean {
  return isDenied(before) || HEDGE.test(before) || BOUND.test(before);
}

/** Returns true if the words after an answer deny the answer or name others. */
function isTakenBack(after: string): boolean {
  return isDenied(after) || /\bor\b/i.test(after) || RETRACTION.test(after);
}

/** Maximum length of a number, in characters. */
const MAX_NUMBER = 400;
const MAX_GROUPS = 25;
/** The exponent of a unit or a variable, which is no answer: `25 cm^2`. */
const EXPONENT = /(?<=[a-zA-Z])\s?\^\s?\{?\s?[23]\s?\}?/g;
const LAST_DIGIT = /\d(?=\D*$)/;
/** The characters of a number, with preceding characters that decide whether the match is a number. */
const NUMBER_AT_END = /[^\s]{0,400}$/;
/** A ratio, a time or a power, as `3:2`, `5:30` and `2^10`, of which the last number is only a part. */
const COMPOUND_AT_END =
  /(?:\d{1,15}(?:\.\d{1,15})?(?::\d{1,15}(?:\.\d{1,15})?){1,3}|\d{1,15}(?:\.\d{1,15})?\^\{?-?\d{1,15})$/;
/** A number with spaces between thousands. */
const GROUPS_AT_END = /(?<![\d.,])[1-9]\d{0,2}(?: \d{3}){1,5}$/;
const HALF_OF_DAY = /^\s?[ap]\.?m(?![a-z])/i;

/** Returns the last number, ratio, time or power, unless the sentence denies that answer or names several answers. */
function findLastNumber(text: string): string | undefined {
  const end = text.slice(-MAX_END).replace(EXPONENT, "").trimEnd();
  const digit = end.search(LAST_DIGIT);
  if (digit < 0) return undefined;
  const before = lastSentenceOf(end.slice(end.lastIndexOf("\n", digit) + 1, digit));
  const after = end.slice(digit + 1);
  const written = NUMBER_AT_END.exec(end.slice(Math.max(0, digit + 1 - MAX_NUMBER), digit + 1))?.[0] ?? "";
  const [compound] = COMPOUND_AT_END.exec(written) ?? [];
  const [groups] = GROUPS_AT_END.exec(end.slice(Math.max(0, digit - MAX_GROUPS), digit + 1)) ?? [];
  const number = compound === undefined
    ? groups?.replaceAll(" ", "") ?? findNumbers(written.replace(/\{,\}|,\\!/g, ",")).at(-1)
    : `${compound}${compound.includes("{") ? "}" : HALF_OF_DAY.exec(after)?.[0] ?? ""}`;
  if (number === undefined) return undefined;
  return isUncertain(before) || isTakenBack(after) ? "" : number;
}

/** Returns the only number of a sentence that has other words and denies nothing; `undefined` for any other text. */
export function onlyNumberOf(text: string): string | undefined {
  if (isDenied(text)) return undefined;
  const numbers = /[a-z]{3}/i.test(text) ? findNumbers(text) : [];
  return numbers.length === 1 && !/[\\{}=]/.test(text) && !HEDGE.test(text) ? numbers[0] : undefined;
}

/** Ends of sentences, but for those at the end of a line. */
const SENTENCE_ENDS = [". ", "! ", "? ", "; "];

function lastSentenceOf(text: string): string {
  const end = Math.max(...SENTENCE_ENDS.map((mark) => text.lastIndexOf(mark)));
  return text.slice(end < 0 ? 0 : end + 2);
}

/** Removes Markdown emphasis. If the text begins with emphasis, only the emphasized content is the answer. */
export function plain(answer: string): string {
  const text = answer.trim();
  const strong = /^(\*{1,3})([^*]+)\1/.exec(text)?.[2];
  return strong?.trim() ?? text.replace(/^\*+|(?<!\*)\*+\.?$/g, "").trim();
}
