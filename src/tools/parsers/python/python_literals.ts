import { rawNumber } from "../../../numbers/exact_numbers.ts";
import { pythonFloat } from "../../python_repr.ts";
import { stickyMatch } from "../json_scan.ts";
import { type PythonString, PythonStringError, readPythonString } from "./python_strings.ts";

/** Deeper than real arguments, and far below the depth at which the stack overflows. */
const MAX_DEPTH = 200;

/** Maximum number of items of lists, dicts and calls. */
const MAX_ITEMS = 100_000;

/** Maximum number of digits of an integer, as in Python. */
const MAX_DIGITS = 4300;

/** Maximum length of a number, which bounds the work of reading it, in characters. */
const MAX_NUMBER = 3 * MAX_DIGITS;

/** White space between brackets, where Python allows line ends and comments. */
const SPACE = /[ \t\n\r\f]+|#[^\n]*|\\\r?\n/y;
const NAME = /[\p{L}_][\p{L}\p{N}_.-]{0,255}/uy;
const SIGN = /[-+][ \t]*(?=[\d.])/y;
const WHOLE =
  /^(?:0(?:[xX](?:_?[\da-fA-F])+|[oO](?:_?[0-7])+|[bB](?:_?[01])+)|(?:0(?:_?0)*|[1-9](?:_?\d)*)(?![\d_]))/;
const FLOAT =
  /^(?:(?:(?:\d(?:_?\d)*)?\.\d(?:_?\d)*|\d(?:_?\d)*\.)(?:[eE][-+]?\d(?:_?\d)*)?|\d(?:_?\d)*[eE][-+]?\d(?:_?\d)*)/;
/** `true`, `false` and `null` are no Python; models write them. */
const WORDS: Readonly<Record<string, unknown>> = {
  True: true,
  False: false,
  None: null,
  true: true,
  false: false,
  null: null,
};

/** Text that is no literal of Python. */
export class PythonLiteralError extends SyntaxError {
  override readonly name = "PythonLiteralError";
  /** True if the text ends before the literal's end. */
  readonly endsEarly: boolean;

  constructor(message: string, options: { endsEarly: boolean }) {
    super(message);
    this.endsEarly = options.endsEarly;
  }
}

/**
 * Reads literals of Python as values that `JSON.stringify` writes. Numbers keep their text. Tuples and sets become
 * lists, keys of dicts that are no texts become their JSON, and bytes the text of the same characters. The reader
 * accepts the literals of `ast.literal_eval`, but for complex numbers and `...`, which JSON does not have.
 *
 * Each method throws a {@linkcode PythonLiteralError} with a position that is counted from the reader's start.
 */
export class PythonReader {
  readonly #text: string;
  readonly #start: number;
  #at: number;
  #itemCount = 0;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#start = start;
    this.#at = start;
  }

  /** Reads white space up to the end of the text. */
  end(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) this.fail("there must be nothing behind the list");
  }

  /** Reads a literal, after white space. */
  value(depth = 0): unknown {
    if (depth > MAX_DEPTH) this.fail("a value must not be nested so deeply");
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === "[") return this.#list(depth);
    if (first === "(") return this.#group(depth);
    if (first === "{") return this.#dictOrSet(depth);
    const text = this.#string();
    return text === undefined ? this.#word() : this.#neighbours(text);
  }

  /** Reads a name, after white space. */
  name(): string {
    this.#skipSpace();
    return this.#skip(NAME) || this.fail("there must be a name");
  }

  /**
   * Reads items separated by commas, with an optional comma after the last item, up to the closing character.
   * Returns the items, and whether a comma follows the last item.
   */
  items<T>(close: string, read: () => T): { items: T[]; endsInComma: boolean } {
    const items: T[] = [];
    let endsInComma = false;
    while (!this.take(close)) {
      if (items.length > 0 && !endsInComma) this.fail(`there must be ',' or '${close}'`);
      if (++this.#itemCount > MAX_ITEMS) this.fail(`there must be at most ${MAX_ITEMS} values`);
      items.push(read());
      endsInComma = this.take(",");
    }
    return { items, endsInComma };
  }

  expect(sign: string): void {
    if (!this.take(sign)) this.fail(`there must be '${sign}'`);
  }

  /** Reads a sign if a sign is next, after white space. */
  take(sign: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  fail(reason: string, at = this.#at): never {
    const message = `${reason} at character ${at - this.#start}`;
    throw new PythonLiteralError(message, { endsEarly: at >= this.#text.length });
  }

  #list(depth: number): unknown[] {
    this.#at++;
    return this.items("]", () => this.value(depth + 1)).items;
  }

  /** Reads a tuple, or a value in parentheses. */
  #group(depth: number): unknown {
    this.#at++;
    const { items, endsInComma } = this.items(")", () => this.value(depth + 1));
    return items.length === 1 && !endsInComma ? items[0] : items;
  }

  #dictOrSet(depth: number): unknown {
    this.#at++;
    const keys: unknown[] = [];
    const values: unknown[] = [];
    this.items("}", () => {
      const key = this.value(depth + 1);
      if (keys.length === values.length && this.take(":")) values.push(this.value(depth + 1));
      else if (values.length > 0) this.expect(":");
      keys.push(key);
    });
    const distinct = new Map<string, { readonly key: unknown; readonly value: unknown }>();
    for (const [at, key] of keys.entries()) {
      const identity = identityOf(key);
      distinct.set(identity, {
        key: distinct.has(identity) ? distinct.get(identity)?.key : key,
        value: values[at],
      });
    }
    const entries = [...distinct.values()];
    if (keys.length > values.length) return entries.map(({ key }) => key);
    return Object.fromEntries(entries.map(({ key, value }) => [keyText(key), value]));
  }

  #string(): PythonString | undefined {
    try {
      const text = readPythonString(this.#text, this.#at);
      if (text !== undefined) this.#at = text.end;
      return text;
    } catch (error) {
      if (error instanceof PythonStringError) return this.fail(error.message, error.at);
      throw error;
    }
  }

  /** Joins a string with the following strings. */
  #neighbours({ value, isBytes }: PythonString): string {
    const parts = [value];
    while (true) {
      this.#skipSpace();
      const next = this.#string();
      if (next === undefined) return parts.join("");
      if (next.isBytes !== isBytes) this.fail("texts and bytes must not be joined");
      parts.push(next.value);
    }
  }

  #word(): unknown {
    const name = this.#skip(NAME);
    if (Object.hasOwn(WORDS, name)) return WORDS[name];
    if (name === "set" && this.take("(") && this.take(")")) return [];
    if (name !== "") this.fail("an argument must be a literal", this.#at - name.length);
    const sign = this.#skip(SIGN).trim() === "-" ? "-" : "";
    const digits = this.#digits();
    return rawNumber(digits === "0" ? digits : sign + digits);
  }

  /** Reads a number without a sign, and returns the number in JSON's form. */
  #digits(): string {
    const written = this.#text.slice(this.#at, this.#at + MAX_NUMBER);
    const [float = ""] = FLOAT.exec(written) ?? [];
    const [whole = float] = WHOLE.exec(written) ?? [];
    const digits = (whole.length > float.length ? whole : float).replaceAll("_", "");
    if (digits === "") this.fail("an argument must be a literal");
    if (digits.length > MAX_DIGITS) this.fail(`a number must have at most ${MAX_DIGITS} digits`);
    this.#at += Math.max(whole.length, float.length);
    if (whole.length <= float.length) return jsonFloat(digits);
    return /^0[xob]/i.test(digits) ? `${BigInt(digits)}` : digits.replace(/^0+(?=\d)/, "");
  }

  #skipSpace(): void {
    while (this.#skip(SPACE) !== "");
  }

  #skip(pattern: RegExp): string {
    const match = stickyMatch(pattern, this.#text, this.#at) ?? "";
    this.#at += match.length;
    return match;
  }
}

/** Returns a number with a point or an exponent in JSON's form: `.5` as `0.5`, `5.` as `5.0`, `05e1` as `5e1`. */
function jsonFloat(digits: string): string {
  return digits.replaceAll("_", "").replace(/^0+(?=\d)/, "").replace(/^\./, "0.").replace(/\.(?!\d)/, ".0");
}

/** JSON of a number with a point or an exponent. */
const FLOAT_KEY = /^-?\d+(?:[eE.])/;

/** Returns a key of a dict in the form of Python's `json`. */
function keyText(key: unknown): string {
  if (typeof key === "string") return key;
  const json = JSON.stringify(key);
  if (!FLOAT_KEY.test(json)) return json;
  const number = Number(json);
  return Number.isFinite(number) ? pythonFloat(number) : `${number}`;
}

/** Returns a text that is the same for keys that Python takes as equal, such as 1, 1.0 and True. */
function identityOf(key: unknown): string {
  if (typeof key === "boolean") return `${Number(key)}`;
  const json = JSON.stringify(key);
  return FLOAT_KEY.test(json) ? `${Number(json)}` : json;
}
