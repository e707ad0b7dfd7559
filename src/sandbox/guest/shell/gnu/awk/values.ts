/** A value: text, a number, or {@linkcode UserText}. `undefined` is a variable that has not been set. */
export type Value = string | number | UserText | undefined;

/** Text from outside, such as a field. The text compares as a number if it looks like a number. */
export class UserText {
  readonly text: string;
  #number: number | undefined | null = null;

  constructor(text: string) {
    this.text = text;
  }

  /** The number that all of the text is; `undefined` if it is none. */
  get number(): number | undefined {
    if (this.#number === null) this.#number = NUMERIC.test(this.text) ? toNumber(this.text) : undefined;
    return this.#number;
  }
}

const BLANKS = "[ \\t\\n\\r\\f\\v]*";
const DECIMAL = "[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?";
const SPECIAL = "[-+](?:inf|nan)";
const NUMERIC = new RegExp(`^${BLANKS}(?:${DECIMAL}|${SPECIAL})${BLANKS}$`, "i");
const LEADING = new RegExp(`^${BLANKS}(?:(${DECIMAL})|(${SPECIAL})(?![a-z0-9_]))`, "i");
const SMALL_INTEGER = /^\d{1,15}$/;

/** Returns the number that a value begins with. */
export function toNumber(value: Value): number {
  if (typeof value === "number") return value;
  if (value === undefined) return 0;
  const text = typeof value === "string" ? value : value.text;
  if (SMALL_INTEGER.test(text)) return Number(text);
  const [, decimal, special] = LEADING.exec(text) ?? [];
  if (decimal !== undefined) return Number(decimal);
  if (special === undefined) return 0;
  const size = /inf/i.test(special) ? Infinity : NaN;
  return special.startsWith("-") ? -size : size;
}

/** How numbers that are no integers become text: `CONVFMT` or `OFMT`. */
export type FormatNumber = (value: number) => string;

/** Converts a value to text. */
export function toText(value: Value, formatNumber: FormatNumber): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return numberText(value, formatNumber);
  return value === undefined ? "" : value.text;
}

function numberText(value: number, formatNumber: FormatNumber): string {
  if (Number.isInteger(value)) {
    return Number.isSafeInteger(value) ? String(value || 0) : String(BigInt(value));
  }
  return Number.isFinite(value) ? formatNumber(value) : specialText(value);
}

/** Text of a number that is not finite. The sign of NaN is the sign that the C library's failed functions return. */
export function specialText(value: number): string {
  if (Number.isNaN(value)) return "-nan";
  return value < 0 ? "-inf" : "+inf";
}

/** True for every value but 0, an empty text, and a variable that is not set. Text that looks like 0 is false. */
export function isTrue(value: Value): boolean {
  if (typeof value === "number") return value !== 0;
  if (typeof value === "string") return value !== "";
  if (value === undefined) return false;
  return value.number === undefined ? value.text !== "" : value.number !== 0;
}

/**
 * Returns the number of a value that compares as a number; `undefined` for text. A variable that is not set is both.
 */
function comparable(value: Value): number | undefined {
  if (typeof value === "number") return value;
  if (value === undefined) return 0;
  return typeof value === "string" ? undefined : value.number;
}

/** Compares two values: below 0, 0, above 0, or NaN. Two numbers compare as numbers, all others as text. */
export function compareValues(left: Value, right: Value, formatNumber: FormatNumber): number {
  const [a, b] = [comparable(left), comparable(right)];
  if (a !== undefined && b !== undefined) return a === b ? 0 : a - b;
  return compareTexts(toText(left, formatNumber), toText(right, formatNumber));
}

/** Compares texts by their characters. */
export function compareTexts(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}

/** A variable, or an element of an array: a value, or an array. */
export class Cell {
  #value: Value;
  #array: AwkArray | undefined;
  /** The caller's variable that was passed before it was an array. */
  readonly #origin: Cell | undefined;

  constructor(value?: Value, origin?: Cell) {
    this.#value = value;
    this.#origin = origin;
  }

  get value(): Value {
    return this.#value;
  }

  set value(value: Value) {
    this.#value = value;
  }

  /** True if the cell was used as an array. */
  get isArray(): boolean {
    return this.#array !== undefined || (this.#origin?.isArray ?? false);
  }

  /** The array, which is made at its first use. */
  get array(): AwkArray {
    this.#array ??= this.#origin?.array ?? new AwkArray();
    return this.#array;
  }
}

/** An array, by the texts of its keys. */
export class AwkArray {
  #cells = new Map<string, Cell>();

  get size(): number {
    return this.#cells.size;
  }

  has(key: string): boolean {
    return this.#cells.has(key);
  }

  /** Returns the cell of a key, which is made at its first use. */
  cell(key: string): Cell {
    let cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, cell = new Cell());
    return cell;
  }

  /** Returns the value of a key, without making its cell. */
  get(key: string): Value {
    return this.#cells.get(key)?.value;
  }

  set(key: string, value: Value): void {
    this.cell(key).value = value;
  }

  delete(key: string): void {
    this.#cells.delete(key);
  }

  clear(): void {
    this.#cells = new Map();
  }

  /** Replaces all elements by values with the keys 1, 2, …. */
  fill(values: readonly Value[]): void {
    this.clear();
    values.forEach((value, index) => this.set(String(index + 1), value));
  }

  /** The keys in the order in which they were added. */
  keys(): string[] {
    return [...this.#cells.keys()];
  }
}

/** Decodes byte text of which each byte is a character, in the form of {@linkcode decodeText}. */
export function decodeBytes(bytes: string): string {
  return bytes.replace(/[\x80-\xff]/g, (sign) => String.fromCharCode(0xdc00 + sign.charCodeAt(0)));
}

/**
 * Decodes byte text. A byte that is no character becomes half of a surrogate pair, which {@linkcode encodeText}
 * restores.
 */
export function decodeText(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes)) return bytes;
  return bytes.replace(
    /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g,
    (part) => {
      if (part.length > 1) {
        try {
          return decoder.decode(Uint8Array.from(part, (sign) => sign.charCodeAt(0)));
        } catch {
          // no character: each byte stays
        }
      }
      return part.replace(/[^]/g, (sign) => String.fromCharCode(0xdc00 + sign.charCodeAt(0)));
    },
  );
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const NOT_ASCII = /[\u0080-\uffff]/;

/** Returns the byte text of text. */
export function encodeText(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  return text.replace(/[\u{80}-\u{10ffff}]/gu, (sign) => {
    const code = sign.charCodeAt(0);
    if (sign.length === 1 && code >= 0xdc80 && code <= 0xdcff) return String.fromCharCode(code - 0xdc00);
    return String.fromCharCode(...encoder.encode(sign));
  });
}
