/** A JSON value, and the index of the first character after the value. */
export interface ScannedJson {
  readonly value: unknown;
  readonly end: number;
}

/** Deeper than real arguments, and far below the depth at which the stack overflows. */
const MAX_DEPTH = 200;

/** Maximum number of values, which bounds the time and memory of reading them. */
const MAX_VALUES = 100_000;

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// deno-lint-ignore no-control-regex -- JSON forbids them in strings
const PLAIN = /[^"\\\x00-\x1f]*/y;
const WORDS: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
];
/** Length of the longest of them. */
const MAX_WORD = "-Infinity".length;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * Reads the JSON value at `start`, after optional white space, and ignores the text after the value.
 *
 * The scanner accepts the texts that Python's `json` module accepts, including `NaN` and `Infinity`, and words errors
 * like Python, because models have seen Python's errors.
 *
 * @throws {JsonScanError} when there is no valid value: `Expecting value: line 1 column 1 (char 0)`, counted
 * from `start`.
 */
export function scanJson(text: string, start = 0): ScannedJson {
  return new JsonScanner(text, start).scan();
}

/**
 * Parses a text that is a JSON value.
 *
 * @throws {JsonScanError} with Python's message when the text is not JSON, or when text follows the value.
 */
export function parseJson(text: string): unknown {
  return new JsonScanner(text, 0).parse();
}

/** A text that is not JSON. */
export class JsonScanError extends SyntaxError {
  /** True if the text ends before the end of the value. */
  readonly endsEarly: boolean;

  constructor(message: string, options: { endsEarly: boolean }) {
    super(message);
    this.endsEarly = options.endsEarly;
  }
}

/** Options of a {@linkcode JsonScanner}. */
export interface JsonScannerOptions {
  /**
   * Returns the value of a number, of which `NaN` and `Infinity` are two.
   * @default Number
   */
  readonly toNumber?: (text: string) => unknown;
}

/** Reads a JSON value. */
export class JsonScanner {
  readonly #toNumber: (text: string) => unknown;
  readonly #text: string;
  readonly #start: number;
  #at: number;
  #values = 0;

  constructor(text: string, start: number, options: JsonScannerOptions = {}) {
    this.#toNumber = options.toNumber ?? Number;
    this.#text = text;
    this.#start = start;
    this.#at = start;
  }

  /** Reads the value, and ignores the text after the value. */
  scan(): ScannedJson {
    this.#skip(SPACE);
    const value = this.#value(0);
    return { value, end: this.#at };
  }

  /** Reads the value, behind which there must be nothing. */
  parse(): unknown {
    const { value } = this.scan();
    this.#skip(SPACE);
    if (this.#at < this.#text.length) this.#fail("Extra data");
    return value;
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) this.#fail("Too deeply nested");
    if (++this.#values > MAX_VALUES) this.#fail(`More than ${MAX_VALUES} values`);
    const first = this.#text[this.#at];
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#array(depth);
    if (first === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return typeof value === "number" ? this.#toNumber(word) : value;
    }
    const digits = this.#skip(NUMBER);
    if (digits !== "") return this.#toNumber(digits);
    const rest = this.#text.slice(this.#at, this.#at + MAX_WORD);
    const endsEarly = WORDS.some(([word]) => word.startsWith(rest)) &&
      this.#at + rest.length === this.#text.length;
    return this.#fail("Expecting value", this.#at, { endsEarly });
  }

  #object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#at++;
    this.#skip(SPACE);
    if (this.#take("}")) return {};
    while (true) {
      if (this.#text[this.#at] !== '"') this.#fail("Expecting property name enclosed in double quotes");
      const key = this.#string();
      this.#skip(SPACE);
      if (!this.#take(":")) this.#fail("Expecting ':' delimiter");
      this.#skip(SPACE);
      entries.push([key, this.#value(depth + 1)]);
      this.#skip(SPACE);
      // fromEntries treats a key named __proto__ like any other
      if (this.#take("}")) return Object.fromEntries(entries);
      this.#comma("}", "object");
    }
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at++;
    this.#skip(SPACE);
    if (this.#take("]")) return items;
    while (true) {
      items.push(this.#value(depth + 1));
      this.#skip(SPACE);
      if (this.#take("]")) return items;
      this.#comma("]", "array");
    }
  }

  #comma(close: string, what: string): void {
    const comma = this.#at;
    if (!this.#take(",")) this.#fail("Expecting ',' delimiter");
    this.#skip(SPACE);
    if (this.#text[this.#at] === close) this.#fail(`Illegal trailing comma before end of ${what}`, comma);
  }

  #string(): string {
    const open = this.#at++;
    let value = "";
    while (true) {
      value += this.#skip(PLAIN);
      const next = this.#text[this.#at];
      if (next === undefined) this.#fail("Unterminated string starting at", open);
      if (next !== '"' && next !== "\\") this.#fail("Invalid control character at");
      this.#at++;
      if (next === '"') return value;
      value += this.#escape(open);
    }
  }

  #escape(open: number): string {
    const letter = this.#text[this.#at];
    if (letter === undefined) return this.#fail("Unterminated string starting at", open);
    if (letter !== "u") {
      const character = ESCAPES[letter];
      if (character === undefined) return this.#fail("Invalid \\escape", this.#at - 1);
      this.#at++;
      return character;
    }
    const digits = this.#text.slice(this.#at + 1, this.#at + 5);
    if (!/^[\da-f]{4}$/i.test(digits)) {
      const endsEarly = this.#at + 1 + digits.length === this.#text.length && digits.length < 4;
      return this.#fail("Invalid \\uXXXX escape", this.#at, { endsEarly });
    }
    this.#at += 5;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skip(pattern: RegExp): string {
    const match = stickyMatch(pattern, this.#text, this.#at) ?? "";
    this.#at += match.length;
    return match;
  }

  #fail(what: string, at = this.#at, { endsEarly = this.#at >= this.#text.length } = {}): never {
    const before = this.#text.slice(this.#start, at).split("\n");
    const column = (before.at(-1)?.length ?? 0) + 1;
    const message = `${what}: line ${before.length} column ${column} (char ${at - this.#start})`;
    throw new JsonScanError(message, { endsEarly });
  }
}

/** Returns the match of a sticky pattern at index `at`, or `undefined` if there is none. */
export function stickyMatch(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
