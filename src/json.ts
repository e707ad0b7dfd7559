/** Plain data, as `JSON.parse` returns it. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** True for an object of JSON: no array, and not null. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Limits of an untrusted JSON text, which bound the time and memory of reading it. */
export interface JsonLimits {
  /** Maximum depth of nested arrays and objects. */
  readonly depth: number;
  /** Maximum number of values: elements of arrays and members of objects. */
  readonly values: number;
}

/** Limits of JSON that other programs send, for texts whose length is limited as well. */
export const JSON_LIMITS: JsonLimits = { depth: 64, values: 100_000 };

/** A JSON text exceeds a limit. The message says which. */
export class JsonLimitError extends SyntaxError {
  override readonly name = "JsonLimitError";
}

/**
 * Parses JSON after {@linkcode checkJsonLimits}.
 *
 * @throws {JsonLimitError} if the text exceeds a limit.
 * @throws {SyntaxError} if it is not JSON.
 */
export function parseUntrustedJson(text: string, limits: JsonLimits = JSON_LIMITS): unknown {
  checkJsonLimits(text, limits);
  return JSON.parse(text);
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, OPEN_BRACE, CLOSE_BRACKET, CLOSE_BRACE] = [0x5b, 0x7b, 0x5d, 0x7d];
/** Bytes outside strings that a {@linkcode JsonMeter} does not skip: 1 opens, 2 closes, 3 separates, 4 begins a string. */
const KINDS = new Uint8Array(256);
KINDS[OPEN_BRACKET] = KINDS[OPEN_BRACE] = 1;
KINDS[CLOSE_BRACKET] = KINDS[CLOSE_BRACE] = 2;
KINDS[COMMA] = 3;
KINDS[QUOTE] = 4;
/** Bytes of a string that are read one by one before a search for its end, which costs more than to read some bytes. */
const SHORT_BYTES = 64;
/** Characters of a text that are encoded at once. */
const PIECE_CHARACTERS = 64 * 1024;

const encoder = new TextEncoder();

/**
 * Counts depth and values of a JSON text, or of its UTF-8 bytes, without parsing it: a small text can hold millions of
 * values, which take seconds and gigabytes to parse and validate. It does not check that the text is JSON.
 *
 * @throws {JsonLimitError} if the text exceeds a limit.
 */
export function checkJsonLimits(json: string | Uint8Array, limits: JsonLimits): void {
  const meter = new JsonMeter(limits);
  if (typeof json !== "string") return meter.push(json);
  for (let at = 0; at < json.length; at += PIECE_CHARACTERS) {
    meter.push(encoder.encode(json.slice(at, at + PIECE_CHARACTERS)));
  }
}

/** Counts depth and values of JSON as its UTF-8 bytes arrive, as {@linkcode checkJsonLimits} does. */
export class JsonMeter {
  readonly #limits: JsonLimits;
  #depth = 0;
  #values = 0;
  #isInString = false;
  /** True if a backslash was the last byte. */
  #isEscaped = false;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /**
   * Counts the next bytes.
   *
   * @throws {JsonLimitError} if the text exceeds a limit.
   */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#isInString) {
        at = this.#skipString(bytes, at);
        continue;
      }
      const kind = KINDS[bytes[at++] as number];
      if (kind === 0) continue;
      if (kind === 4) this.#isInString = true;
      else this.#count(kind as number);
    }
  }

  #count(kind: number): void {
    const { depth, values } = this.#limits;
    if (kind === 2) return void this.#depth--;
    if (kind === 1 && ++this.#depth > depth) {
      throw new JsonLimitError(`JSON must be at most ${depth} levels deep`);
    }
    if (++this.#values > values) throw new JsonLimitError(`JSON must have at most ${values} values`);
  }

  /** Returns the index behind the string, or the number of bytes if it goes on. */
  #skipString(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    let at = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    while (at < length) {
      for (const end = Math.min(at + SHORT_BYTES, length); at < end; at++) {
        const code = bytes[at];
        if (code === QUOTE) return this.#endString(at);
        if (code === BACKSLASH) at++;
      }
      const quote = at < length ? bytes.indexOf(QUOTE, at) : -1;
      const stop = quote < 0 ? Math.max(at, length) : quote;
      const isEscaped = at < stop && endsEscaped(bytes, at, stop);
      if (quote >= 0 && !isEscaped) return this.#endString(quote);
      at = isEscaped ? stop + 1 : stop;
    }
    this.#isEscaped = at > length;
    return length;
  }

  #endString(quote: number): number {
    this.#isInString = false;
    return quote + 1;
  }
}

/** Returns true if an odd number of backslashes precedes an index, none of them before `from`. */
function endsEscaped(bytes: Uint8Array, from: number, index: number): boolean {
  let at = index;
  while (at > from && bytes[at - 1] === BACKSLASH) at--;
  return (index - at) % 2 === 1;
}

/** Options of {@linkcode jsonLength}. */
export interface JsonLengthOptions {
  /**
   * A length above this one is returned as soon as it is known.
   *
   * @default Infinity
   */
  readonly most?: number | undefined;
  /**
   * Characters to add for each value, to account for its memory.
   *
   * @default 0
   */
  readonly perValue?: number | undefined;
}

/**
 * Returns the approximate length of data as JSON, in characters, without serializing it: escapes in strings are not
 * counted.
 */
export function jsonLength(data: unknown, options: JsonLengthOptions = {}): number {
  const { most = Infinity, perValue = 0 } = options;
  const waiting: unknown[] = [data];
  let length = 0;
  while (waiting.length > 0 && length <= most) {
    const value = waiting.pop();
    length += perValue;
    if (typeof value === "string") length += value.length + 2;
    else if (Array.isArray(value)) {
      length += value.length + 2;
      for (const item of value) waiting.push(item);
    } else if (typeof value === "object" && value !== null) {
      length += 2;
      for (const [key, member] of Object.entries(value)) {
        length += key.length + 4;
        waiting.push(member);
      }
    } else length += String(value).length;
  }
  return length;
}

/**
 * Serializes a value as JSON and replaces each unpaired surrogate with U+FFFD. Models and tools can produce
 * unpaired surrogates; Python's `json` reads them, but Python then cannot encode the string.
 */
export function toWellFormedJson(value: unknown): string {
  // JSON.stringify escapes unpaired surrogates. The first alternative skips escaped backslashes.
  return JSON.stringify(value).replace(
    /\\\\|\\ud[89a-f][\da-f]{2}/g,
    (escape) => escape.length > 2 ? "\ufffd" : escape,
  );
}

/**
 * Returns a deeply frozen copy of data: arrays and plain objects are copied and frozen, other values are
 * kept. Data may be nested to any depth and may contain cycles.
 */
export function toFrozenCopy<Data>(data: Data): Data {
  const copies = new Map<object, Record<string, unknown>>();
  const copyOf = (value: unknown): unknown => {
    if (!isArrayOrPlainObject(value)) return value;
    const copy = copies.get(value) ?? (Array.isArray(value) ? Object([]) : {});
    copies.set(value, copy);
    return copy;
  };
  const result = copyOf(data);
  for (const [original, copy] of copies) {
    for (const [key, value] of Object.entries(original)) {
      // Assigning `__proto__` would set the prototype; defining every key this way would be slow.
      if (key === "__proto__") Object.defineProperty(copy, key, { value: copyOf(value), enumerable: true });
      else copy[key] = copyOf(value);
    }
    Object.freeze(copy);
  }
  return result as Data;
}

function isArrayOrPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
