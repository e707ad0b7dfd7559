/** An exact fraction in lowest terms with a denominator above 0. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Longest number that {@linkcode parseRational} reads, in characters. */
const MAX_CHARACTERS = 60;
const FORM = /^([-+]?)(\d+)(?:\.(\d+))?(?:\/(\d+))?$/;

/** Returns a fraction. @throws {RangeError} if the denominator is 0. */
export function rational(numerator: bigint | number, denominator: bigint | number = 1n): Rational {
  let [top, bottom] = [BigInt(numerator), BigInt(denominator)];
  if (bottom === 0n) throw new RangeError("Cannot make a fraction as its denominator must not be 0");
  if (bottom < 0n) [top, bottom] = [-top, -bottom];
  const divisor = gcd(top < 0n ? -top : top, bottom);
  return { numerator: top / divisor, denominator: bottom / divisor };
}

function gcd(one: bigint, other: bigint): bigint {
  while (other !== 0n) [one, other] = [other, one % other];
  return one === 0n ? 1n : one;
}

export function add(one: Rational, other: Rational): Rational {
  const numerator = one.numerator * other.denominator + other.numerator * one.denominator;
  return rational(numerator, one.denominator * other.denominator);
}

export function subtract(one: Rational, other: Rational): Rational {
  return add(one, rational(-other.numerator, other.denominator));
}

export function multiply(one: Rational, other: Rational): Rational {
  return rational(one.numerator * other.numerator, one.denominator * other.denominator);
}

/** Returns the quotient; undefined if the divisor is 0. */
export function divide(one: Rational, other: Rational): Rational | undefined {
  if (other.numerator === 0n) return undefined;
  return rational(one.numerator * other.denominator, one.denominator * other.numerator);
}

export function isEqual(one: Rational, other: Rational): boolean {
  return one.numerator === other.numerator && one.denominator === other.denominator;
}

/** Reads `12`, `-1.50` and `7/3`; undefined for other texts. */
export function parseRational(text: string): Rational | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const [match, sign, whole = "", digits = "", below = "1"] = FORM.exec(text) ?? [];
  if (match === undefined || BigInt(below) === 0n || (digits !== "" && below !== "1")) return undefined;
  const magnitude = rational(BigInt(whole + digits), 10n ** BigInt(digits.length) * BigInt(below));
  return sign === "-" ? rational(-magnitude.numerator, magnitude.denominator) : magnitude;
}

/** Returns a finite decimal where there is one, else a fraction. */
export function formatRational({ numerator, denominator }: Rational): string {
  let digits = 0;
  let scale = 1n;
  while (scale % denominator !== 0n && digits < 12) [digits, scale] = [digits + 1, scale * 10n];
  if (scale % denominator !== 0n) return `${numerator}/${denominator}`;
  const scaled = numerator * (scale / denominator);
  if (digits === 0) return String(scaled);
  const text = String(scaled < 0n ? -scaled : scaled).padStart(digits + 1, "0");
  return `${scaled < 0n ? "-" : ""}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
