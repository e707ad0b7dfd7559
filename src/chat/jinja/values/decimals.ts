/** A finite float as an exact fraction: `digits * 2 ** exponent`. */
function fractionOf(value: number): { digits: bigint; exponent: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  return exponent === 0
    ? { digits: fraction, exponent: -1074 }
    : { digits: fraction | 0x10000000000000n, exponent: exponent - 1075 };
}

/** Returns `|value| * 10 ** places` as the nearest integer; of two nearest integers, the even integer. */
function scale(value: number, places: number): bigint {
  const { digits, exponent } = fractionOf(value);
  let top = digits;
  let bottom = 1n;
  if (exponent >= 0) top <<= BigInt(exponent);
  else bottom <<= BigInt(-exponent);
  if (places >= 0) top *= 10n ** BigInt(places);
  else bottom *= 10n ** BigInt(-places);
  const quotient = top / bottom;
  const twice = (top % bottom) * 2n;
  return twice > bottom || (twice === bottom && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

/** Returns a finite float without sign with this many digits after the point, rounded half to even. */
export function fixedDigits(value: number, places: number): string {
  const digits = scale(value, places).toString().padStart(places + 1, "0");
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** Returns a finite float without sign as digits and an exponent of ten, rounded half to even. */
export function scientificDigits(value: number, places: number): { digits: string; exponent: number } {
  if (value === 0) return { digits: "0".repeat(places + 1), exponent: 0 };
  let exponent = Number(/e([+-]\d+)$/.exec(Math.abs(value).toExponential())?.[1]);
  let digits = scale(value, places - exponent).toString();
  if (digits.length > places + 1) {
    exponent++;
    digits = scale(value, places - exponent).toString();
  }
  return { digits, exponent };
}

/** Rounds a finite float to places after the point, or before the point if negative, as Python's `round`. */
export function roundDouble(value: number, places: number): number {
  if (places > 330 || value === 0) return value;
  if (places < -310) return value < 0 ? -0 : 0;
  const sign = value < 0 ? "-" : "";
  const digits = scale(value, places).toString();
  return Number(`${sign}${digits}e${-places}`);
}
