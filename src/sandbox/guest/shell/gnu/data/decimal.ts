/** A decimal number of any size: `value / 10 ** scale`. `scale` is the number of digits behind the point. */
export interface Decimal {
  readonly value: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { value: 0n, scale: 0 };

export function fromInteger(value: bigint): Decimal {
  return { value, scale: 0 };
}

/** Returns the integer part. */
export function toInteger({ value, scale }: Decimal): bigint {
  return value / 10n ** BigInt(scale);
}

/** Changes the number of digits behind the point. Digits beyond it are cut off. */
export function truncate({ value, scale }: Decimal, to: number): Decimal {
  const factor = 10n ** BigInt(Math.abs(to - scale));
  return { value: to >= scale ? value * factor : value / factor, scale: to };
}

export function isZero({ value }: Decimal): boolean {
  return value === 0n;
}

export function negate({ value, scale }: Decimal): Decimal {
  return { value: -value, scale };
}

export function add(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale);
  return { value: truncate(left, scale).value + truncate(right, scale).value, scale };
}

/** Returns a number that is negative, zero or positive, as `left` is less than, equal to or greater than `right`. */
export function compare(left: Decimal, right: Decimal): number {
  const { value } = add(left, negate(right));
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}

/** Multiplies as POSIX's `bc`: the result has no more digits behind the point than `scale` or the longer operand. */
export function multiply(left: Decimal, right: Decimal, scale: number): Decimal {
  const product = { value: left.value * right.value, scale: left.scale + right.scale };
  return truncate(product, Math.min(product.scale, Math.max(scale, left.scale, right.scale)));
}

/** Divides to `scale` digits behind the point. */
export function divide(left: Decimal, right: Decimal, scale: number): Decimal {
  const shift = BigInt(scale + right.scale - left.scale);
  const value = shift >= 0n
    ? left.value * 10n ** shift / right.value
    : left.value / (right.value * 10n ** -shift);
  return { value, scale };
}

/** Returns what a division to `scale` digits leaves. */
export function remainder(left: Decimal, right: Decimal, scale: number): Decimal {
  const quotient = divide(left, right, scale);
  const exact = { value: quotient.value * right.value, scale: quotient.scale + right.scale };
  return truncate(add(left, negate(exact)), Math.max(scale + right.scale, left.scale));
}

/** Raises to an integer. A negative exponent divides 1 to `scale` digits. */
export function power(base: Decimal, exponent: bigint, scale: number): Decimal {
  if (exponent === 0n) return fromInteger(1n);
  const size = exponent < 0n ? -exponent : exponent;
  const raised = { value: base.value ** size, scale: base.scale * Number(size) };
  if (exponent < 0n) return divide(fromInteger(1n), raised, scale);
  return truncate(raised, Math.min(raised.scale, Math.max(scale, base.scale)));
}

export function integerRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt((value.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** Returns the root of a number that is not negative, to `scale` digits or its own, if those are more. */
export function squareRoot(number: Decimal, scale: number): Decimal {
  const digits = Math.max(scale, number.scale);
  if (isZero(number)) return ZERO;
  return { value: integerRoot(truncate(number, 2 * digits).value), scale: digits };
}

const DIGITS = "0123456789ABCDEF";

/** Reads a number of a base. Digits that the base does not have count as its greatest digit. */
export function parseDecimal(text: string, base: number): Decimal {
  const [whole = "", part = ""] = text.split(".");
  const isSingle = whole.length + part.length === 1;
  const digit = (letter: string) => {
    const value = DIGITS.indexOf(letter);
    return BigInt(isSingle ? value : Math.min(value, base - 1));
  };
  if (base === 10 && /^\d*$/.test(whole + part)) {
    return { value: BigInt(whole + part || "0"), scale: part.length };
  }
  const radix = BigInt(base);
  let value = 0n;
  for (const letter of whole + part) value = value * radix + digit(letter);
  return divide(fromInteger(value), fromInteger(radix ** BigInt(part.length)), part.length);
}

/** Writes a number in a base. Digits of bases above 16 are decimal numbers of the same width. */
export function decimalText(number: Decimal, base: number): string {
  const sign = number.value < 0n ? "-" : "";
  const size = { ...number, value: number.value < 0n ? -number.value : number.value };
  if (number.value === 0n) return "0";
  if (base === 10) {
    const digits = size.value.toString().padStart(size.scale, "0");
    const at = digits.length - size.scale;
    return sign + digits.slice(0, at) + (size.scale > 0 ? `.${digits.slice(at)}` : "");
  }
  const radix = BigInt(base);
  const width = String(base - 1).length;
  const digitText = (digit: bigint) =>
    base <= 16 ? DIGITS.charAt(Number(digit)) : ` ${digit.toString().padStart(width, "0")}`;
  let whole = toInteger(size);
  let text = "";
  for (; whole > 0n; whole /= radix) text = digitText(whole % radix) + text;
  if (size.scale === 0) return sign + text;
  const unit = 10n ** BigInt(size.scale);
  let part = size.value % unit;
  text += ".";
  for (let reached = 1n; reached < unit; reached *= radix) {
    part *= radix;
    text += digitText(part / unit);
    part %= unit;
  }
  return sign + text;
}
