import { matchesOf } from "./expressions.ts";
import { UserText } from "./values.ts";

/** How records are split. */
export interface RecordRule {
  /** `RS`. An empty text splits at empty lines. */
  readonly separator: string;
  readonly compile: (source: string) => RegExp;
}

/** A text that is read record by record. */
export class RecordReader {
  readonly #text: string;
  #at = 0;
  /** Text of the separator behind the last record (`RT`). */
  end = "";

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the next record; `undefined` at the end. */
  next({ separator, compile }: RecordRule): string | undefined {
    const text = this.#text;
    if (separator === "") { while (text.charAt(this.#at) === "\n") this.#at++; }
    const start = this.#at;
    if (start >= text.length) {
      this.end = "";
      return undefined;
    }
    if (separator.length === 1) {
      const stop = text.indexOf(separator, start);
      return this.#take(start, stop < 0 ? text.length : stop, stop < 0 ? "" : separator);
    }
    const expression = separator === "" ? PARAGRAPH_END : compile(separator);
    expression.lastIndex = start;
    for (let match = expression.exec(text); match; match = expression.exec(text)) {
      if (match[0] !== "") return this.#take(start, match.index, match[0]);
      expression.lastIndex++;
    }
    const last = separator === "" && text.endsWith("\n") ? text.length - 1 : text.length;
    return this.#take(start, last, text.slice(last));
  }

  #take(start: number, stop: number, end: string): string {
    this.end = end;
    this.#at = stop + end.length;
    return this.#text.slice(start, stop);
  }
}

const PARAGRAPH_END = /\n\n+/g;

/**
 * Parts of a text, and the texts between them: 1 less than parts, and with blanks also a text before and a text
 * behind.
 */
export interface Parts {
  readonly parts: string[];
  readonly separators: string[];
}

/** Splits a text by `FS`, or a separator of `split()`. */
export function splitText(
  text: string,
  separator: string,
  { compile, isParagraph = false }: { compile: (source: string) => RegExp; isParagraph?: boolean },
): Parts {
  if (text === "") return { parts: [], separators: [] };
  if (separator === " ") return splitBlanks(text);
  if (separator === "") return { parts: [...text], separators: Array<string>([...text].length - 1).fill("") };
  const isPlain = separator.length === 1 && separator !== "\\";
  if (isPlain && !isParagraph) {
    const parts = text.split(separator);
    return { parts, separators: Array<string>(parts.length - 1).fill(separator) };
  }
  const source = isPlain ? `[${separator === "^" ? "\\^" : separator}]` : separator;
  return splitBy(text, compile(isParagraph ? `(${source})|\n` : source));
}

function splitBlanks(text: string): Parts {
  const parts = text.match(/[^ \t\n]+/g) ?? [];
  return {
    parts,
    get separators() {
      return text.split(/[^ \t\n]+/);
    },
  };
}

/** Splits a text by a regular expression. Empty matches do not split. */
function splitBy(text: string, expression: RegExp): Parts {
  const parts: string[] = [];
  const separators: string[] = [];
  let start = 0;
  for (const match of matchesOf(expression, text)) {
    if (match[0] === "") continue;
    parts.push(text.slice(start, match.index));
    separators.push(match[0]);
    start = match.index + match[0].length;
  }
  parts.push(text.slice(start));
  return { parts, separators };
}

/** Returns the matches of a pattern as parts (`FPAT`, `patsplit()`), and the texts around them. */
export function splitByContent(text: string, expression: RegExp): Parts {
  const parts: string[] = [];
  const separators: string[] = [];
  let end = 0;
  for (const match of matchesOf(expression, text)) {
    if (match[0] === "" && match.index === text.length && text !== "") break;
    separators.push(text.slice(end, match.index));
    parts.push(match[0]);
    end = match.index + match[0].length;
  }
  separators.push(text.slice(end));
  return { parts, separators };
}

/** Splits a text into fields of the widths of `FIELDWIDTHS`. `2:3` skips two characters; `*` is the rest. */
export function splitByWidths(text: string, widths: string): Parts {
  const signs = [...text];
  const parts: string[] = [];
  let at = 0;
  for (const word of widths.trim().split(/\s+/)) {
    if (at >= signs.length) break;
    const [, skipped = "0", width = ""] = /^(?:(\d+):)?(\d+|\*)$/.exec(word) ?? [];
    at += Number(skipped);
    const end = width === "*" ? signs.length : at + Number(width);
    parts.push(signs.slice(at, end).join(""));
    at = end;
  }
  return { parts, separators: [] };
}

/** A field that the record does not have: it compares as text. */
export const NO_FIELD: UserText = new UserText("");

/** What a {@linkcode CurrentRecord} asks for. */
export interface RecordSettings {
  readonly split: (text: string) => readonly string[];
  /** `OFS`. */
  readonly joint: () => string;
}

/** The record `$0` and its fields, of which each follows from the other when it is needed. */
export class CurrentRecord {
  readonly #settings: RecordSettings;
  #text = "";
  #whole: UserText | undefined;
  /** The fields; `undefined` until they are split. */
  #fields: (UserText | string | number)[] | undefined = [];
  #isJoined = true;

  constructor(settings: RecordSettings) {
    this.#settings = settings;
  }

  /** The value of `$0`. */
  get whole(): UserText {
    if (!this.#isJoined) {
      this.#text = this.#joined();
      this.#isJoined = true;
      this.#whole = undefined;
    }
    return this.#whole ??= new UserText(this.#text);
  }

  set text(text: string) {
    this.#text = text;
    this.#whole = undefined;
    this.#fields = undefined;
    this.#isJoined = true;
  }

  /** Number of fields. A smaller number drops fields, a larger number adds empty fields. */
  get count(): number {
    return this.#split().length;
  }

  set count(count: number) {
    const fields = this.#split();
    while (fields.length < count) fields.push("");
    fields.length = count;
    this.#isJoined = false;
  }

  field(index: number): UserText | string | number {
    return index === 0 ? this.whole : this.#split()[index - 1] ?? NO_FIELD;
  }

  setField(index: number, value: UserText | string | number): void {
    if (index > this.count) this.count = index;
    this.#split()[index - 1] = value;
    this.#isJoined = false;
  }

  /** Splits the record by the separator that is in force now. */
  settle(): void {
    this.#split();
  }

  #split(): (UserText | string | number)[] {
    this.#fields ??= this.#settings.split(this.whole.text).map((part) => new UserText(part));
    return this.#fields;
  }

  #joined(): string {
    return this.#split().map(fieldText).join(this.#settings.joint());
  }
}

function fieldText(value: UserText | string | number): string {
  return typeof value === "object" ? value.text : String(value);
}
