import { byteText, linesOf } from "../command.ts";
import type { RipgrepExpression, RipgrepMatch } from "./expression.ts";
import type { RipgrepSettings } from "./settings.ts";

/** The text of a file, decoded if the file is UTF-8. */
export interface SearchText {
  readonly text: string;
  /** Lines with their ends. */
  readonly lines: readonly string[];
  /** Position of each line in the text. */
  readonly starts: readonly number[];
  /** Returns the bytes of a part of the text. */
  encode(text: string): string;
}

/** Lines that are selected together: a line, or the lines of a match over several lines. */
export interface Selection {
  readonly first: number;
  readonly last: number;
  /** Matches with positions in the first line and those behind it; none for lines that an inverted search selects. */
  readonly matches: readonly RipgrepMatch[];
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Splits byte text into lines. Text that is no UTF-8 is searched as bytes. */
export function readText(bytes: string): SearchText {
  // deno-lint-ignore no-control-regex
  const isAscii = !/[^\x00-\x7f]/.test(bytes);
  const decoded = isAscii ? undefined : decode(bytes);
  const text = decoded ?? bytes;
  const lines = linesOf(text);
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length;
  }
  return { text, lines, starts, encode: decoded === undefined ? (part) => part : byteText };
}

function decode(bytes: string): string | undefined {
  try {
    return strict.decode(Uint8Array.from(bytes, (sign) => sign.charCodeAt(0)));
  } catch {
    return undefined; // the file is no UTF-8
  }
}

/** Returns the selected lines of a text, at most as many as the settings allow. */
export function selectLines(
  source: SearchText,
  expression: RipgrepExpression,
  settings: RipgrepSettings,
  poll: () => void,
): Selection[] {
  const { options, maxCount } = settings;
  const isMultiline = options.has("U") && !options.has("v");
  const found = isMultiline
    ? selectRegions(source, expression)
    : selectSingle(source, expression, options.has("v"), poll);
  const selected: Selection[] = [];
  for (const selection of found) {
    if (selected.length >= maxCount) break;
    selected.push(selection);
    if (settings.shown === "names" || settings.shown === "nothing" || settings.shown === "names-without") {
      break;
    }
  }
  return selected;
}

function* selectSingle(
  { lines }: SearchText,
  expression: RipgrepExpression,
  isInverted: boolean,
  poll: () => void,
): Generator<Selection> {
  for (const [at, line] of lines.entries()) {
    if (at % 256 === 0) poll();
    const bare = line.endsWith("\n") ? line.slice(0, -1) : line;
    if ((expression.find(bare, 0) !== undefined) === isInverted) continue;
    yield { first: at, last: at, matches: isInverted ? [] : [...expression.matches(bare)] };
  }
}

/** Selects the lines of matches in the whole text. Matches that share a line are selected together. */
function* selectRegions(source: SearchText, expression: RipgrepExpression): Generator<Selection> {
  let pending: { first: number; last: number; matches: RipgrepMatch[] } | undefined;
  for (const match of expression.matches(source.text)) {
    const first = lineAt(source, match.start);
    const last = lineAt(source, match.end - 1);
    if (pending && first > pending.last) {
      yield pending;
      pending = undefined;
    }
    pending ??= { first, last, matches: [] };
    const origin = source.starts[pending.first] ?? 0;
    pending.last = Math.max(pending.last, last);
    pending.matches.push({ ...match, start: match.start - origin, end: match.end - origin });
  }
  if (pending) yield pending;
}

function lineAt({ starts }: SearchText, position: number): number {
  let low = 0;
  for (let high = starts.length - 1; low < high;) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
