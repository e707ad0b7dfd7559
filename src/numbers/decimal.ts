const DECIMAL = /^(-?)(\d*)\.?(\d*)(?:e([-+]?\d{1,10000}))?$/i;

/**
 * Returns the digits and the exponent of a decimal number, the same for each notation: `15e-1` for `1.5`, `1.50` and
 * `15e-1`. Returns `undefined` if the text is no number, or its exponent has more than 10,000 digits.
 */
export function normalDecimal(number: string): string | undefined {
  const [matched, sign, whole = "", decimals = "", exponent = "0"] = DECIMAL.exec(number) ?? [];
  if (matched === undefined) return undefined;
  const digits = `${whole}${decimals}`.replace(/^0+/, "");
  let length = digits.length;
  while (digits[length - 1] === "0") length--;
  const shift = BigInt(digits.length - length - decimals.length);
  return length === 0 ? "0" : `${sign}${digits.slice(0, length)}e${BigInt(exponent) + shift}`;
}

/** Returns true if JavaScript reads a decimal number and writes it with other digits. */
export function losesDigits(number: string): boolean {
  return normalDecimal(number) !== normalDecimal(String(Number(number)));
}
