/** A unit of measure: the dimension, and the number of base units of the dimension, as a decimal number. */
interface Unit {
  readonly dimension: string;
  readonly factor: string;
}

type Named = readonly [names: string, factor: string];

/** Units by dimension. A dimension with powers has a raised factor, as 0.01^2 for cm². */
const DIMENSIONS: Readonly<Record<string, readonly Named[]>> = {
  length: [
    ["m meter meters metre metres", "1"],
    ["km kilometer kilometers kilometre kilometres", "1000"],
    ["cm centimeter centimeters centimetre centimetres", "0.01"],
    ["mm millimeter millimeters millimetre millimetres", "0.001"],
    ["in inch inches", "0.0254"],
    ["ft foot feet", "0.3048"],
    ["yd yard yards", "0.9144"],
    ["mi mile miles", "1609.344"],
  ],
  time: [
    ["s sec secs second seconds", "1"],
    ["min mins minute minutes", "60"],
    ["h hr hrs hour hours", "3600"],
    ["day days", "86400"],
    ["week weeks", "604800"],
  ],
  months: [["month months", "1"], ["yr yrs year years", "12"]],
  mass: [
    ["g gram grams", "1"],
    ["kg kilogram kilograms", "1000"],
    ["mg milligram milligrams", "0.001"],
    ["ton tons tonne tonnes", "1000000"],
  ],
  pound: [["lb lbs pound pounds £", "1"], ["oz ounce ounces", "0.0625"]],
  litre: [
    ["l liter liters litre litres", "1"],
    ["ml milliliter milliliters millilitre millilitres", "0.001"],
    ["cl centiliter centiliters", "0.01"],
  ],
  gallon: [["gal gallon gallons", "1"], ["quart quarts", "0.25"], ["pint pints", "0.125"], [
    "cup cups",
    "0.0625",
  ]],
  dollar: [["$ dollar dollars usd", "1"], ["¢ cent cents", "0.01"]],
  euro: [["€ euro euros eur", "1"]],
  degree: [["° degree degrees deg", "1"], ["rad radian radians", "57.29577951308232"]],
  celsius: [["°c celsius centigrade", "1"]],
  fahrenheit: [["°f fahrenheit", "1"]],
  percent: [["%", "1"]],
  newton: [["n newton newtons", "1"]],
  joule: [["j joule joules", "1"], ["kj", "1000"]],
  watt: [["w watt watts", "1"], ["kw", "1000"]],
  volt: [["v volt volts", "1"]],
  ampere: [["a ampere amperes", "1"]],
  hertz: [["hz hertz", "1"]],
  unit: [["unit units", "1"]],
};

const UNITS: ReadonlyMap<string, Unit> = new Map(
  Object.entries(DIMENSIONS).flatMap(([dimension, units]) =>
    units.flatMap(([names, factor]) => names.split(" ").map((name) => [name, { dimension, factor }] as const))
  ),
);
const SPEEDS: Readonly<Record<string, string>> = {
  mph: "mi/h",
  kph: "km/h",
  kmh: "km/h",
  kmph: "km/h",
  mps: "m/s",
};
const WRAPPED = /\\(?:text|mbox|mathrm|textbf|textit|textrm|mathbf|mathit|textnormal)\s?\{([^{}]*)\}/g;
const SPACE = /\\[ ,;:]|~|\\q?quad(?![a-zA-Z])/g;
const DEGREE = /\^\s?\{?\s?\\circ(?![a-zA-Z])\s?\}?|\\degree(?![a-zA-Z])/g;
/**
 * Letters or signs after a number, a bracket or pi. The pattern reads backwards from the end: a search from each number
 * to the end is quadratic.
 */
const MEASURE = /$(?<=(?:[\d})\]]|\\pi)(\s*)([a-zA-Z°%¢€£$][a-zA-Z°%¢ ./^{}\d-]*))/;

/** The unit of words that name none, as of `5 apples`. */
const NOUN: Unit = { dimension: "noun", factor: "1" };

/** The unit that an answer ends in. */
interface Measure {
  readonly unit: Unit;
  /** The unit as written, without typesetting; empty for a currency sign before the number. */
  readonly name: string;
  /** Whether the unit is a letter directly after the number, as in `5m`, which may be a variable. */
  readonly mayBeVariable: boolean;
}

/** Returns the unit of an answer, as `cm` of `5\text{ cm}`; `undefined` if the answer has no words after the number. */
function measureOf(answer: string): Measure | undefined {
  if (!/[a-zA-Z°%¢€£$]/.test(answer)) return undefined;
  const before = /^\s*(?:-\s*)?(?:\\\$|([€£])|\$(?=[^$]*$))/.exec(answer);
  if (before !== null) {
    const currency = UNITS.get(before[1] ?? "$");
    return currency && { unit: currency, name: "", mayBeVariable: false };
  }
  const text = answer.replace(/\\%/g, "%").replace(/\\\$/g, "¤").replace(/\$/g, "").replaceAll("¤", "$")
    .replace(WRAPPED, " $1").replace(SPACE, " ").replace(DEGREE, "°").trim().replace(/\.$/, "");
  const [, space = "", name = ""] = MEASURE.exec(text) ?? [];
  const unit = name === "" ? undefined : parseUnit(name) ?? nounOf(name, space);
  return unit && { unit, name, mayBeVariable: space === "" && /^[a-zA-Z]$/.test(name) };
}

/** Returns the unit among the words after a number, as of `5 feet tall`, or {@linkcode NOUN}. */
function nounOf(name: string, space: string): Unit | undefined {
  const words = name.toLowerCase().split(/[ .]+/);
  const isNoun = space !== "" && words.every((word) => /^[a-z]{3,}$|^(?:in|of|a|to|on|at)?$/.test(word));
  return isNoun
    ? UNITS.get(words.find((word) => word.length > 2 && UNITS.has(word)) ?? "") ?? NOUN
    : undefined;
}

/** Returns a cleaned answer without the unit, for which {@linkcode cleanLatex} leaves letters that may be variables. */
function amountOf(cleaned: string, { name }: Measure): string {
  const amount = name !== "" && cleaned.endsWith(name) ? cleaned.slice(0, -name.length).trim() : cleaned;
  return /(?:[\d})\]]|\\pi)$/.test(amount) ? amount : cleaned;
}

/** Returns the quotient of `numerator per denominator`, each of which is a product of units with powers. */
function parseUnit(text: string): Unit | undefined {
  const name = text.trim().replace(/\s+/g, " ");
  const parts = (SPEEDS[name.toLowerCase()] ?? name).split(/ ?\/ ?| per /);
  if (parts.length > 2) return undefined;
  const [over, under] = parts.map(parsePower);
  if (over === undefined || parts.length === 1) return over;
  return under &&
    { dimension: `${over.dimension}/${under.dimension}`, factor: `${over.factor}/(${under.factor})` };
}

/** Units of a single letter, whose case counts: `5 M` is no length. */
const LETTERS = new Set("mshglLNJWVA");
const POWERS: Readonly<Record<string, number>> = { square: 2, sq: 2, squared: 2, cubic: 3, cu: 3, cubed: 3 };

/** Returns the unit of `cm^2`, `square feet`, `cubic meters` or `degrees Celsius`. */
function parsePower(text: string): Unit | undefined {
  const [, base = "", raised] = /^([^^]*)(?:\^ ?\{?(-?\d)\}?)?$/.exec(text.trim()) ?? [];
  const letter = base.trim();
  if (/^[a-zA-Z]$/.test(letter) && !LETTERS.has(letter)) return undefined;
  const words = base.toLowerCase().split(/[ .]+/).filter((word) => word !== "");
  const named = words.map((word) => POWERS[word]).find((power) => power !== undefined);
  const name = words.filter((word) => POWERS[word] === undefined).join(" ");
  const unit = UNITS.get(name.replace(/^(?:degrees?|°) /, "")) ??
    UNITS.get(name.replace(/^(?:degrees?|°) /, "°"));
  const power = raised === undefined ? named ?? 1 : Number(raised);
  if (unit === undefined || power === 1) return unit;
  return { dimension: `${unit.dimension}^${power}`, factor: `(${unit.factor})^{${power}}` };
}

/**
 * Returns whether two units measure the same. A degree may measure an angle or a temperature, and a `unit` a
 * length. What the nouns of two answers count, the question decides.
 */
function isSameDimension(first: Unit, second: Unit): boolean {
  const [a, b] = [first, second].map(({ dimension }) =>
    dimension.replace(/^(?:celsius|fahrenheit)$/, "degree")
  );
  if (first.dimension !== second.dimension && a === b) {
    return [first, second].some(({ dimension }) => dimension === "degree");
  }
  return a === b || a?.replace("unit", "length") === b || a === b?.replace("unit", "length");
}

const NAME = /^[a-zA-Z](?:_\{?\w\}?)?\s?=\s?(?=[^=]+$)/;

/** Returns two amounts, without a name that only one amount has, as `x = 5` and 5. */
function withoutName(amount: string, expected: string): readonly [string, string] {
  if (NAME.test(amount) && NAME.test(expected)) return [amount, expected];
  return [amount.replace(NAME, ""), expected.replace(NAME, "")];
}

/** An answer in the written form, and in the form of {@linkcode cleanLatex}. */
interface Measured {
  readonly answer: string;
  readonly cleaned: string;
}

/**
 * Returns whether two answers with units are the same after conversion; `undefined` if their units do not decide. A
 * letter directly after a number is only a unit beside another unit of the same kind: `5m` is `500 cm`, and else a
 * product. `isSame` compares amounts.
 */
export function isSameMeasure(
  given: Measured,
  truth: Measured,
  isSame: (given: string, truth: string) => boolean,
): boolean | undefined {
  const first = measureOf(given.answer);
  const second = first && measureOf(truth.answer);
  if (first === undefined || second === undefined || (first.mayBeVariable && second.mayBeVariable)) {
    return undefined;
  }
  if (!isSameDimension(first.unit, second.unit)) {
    return first.mayBeVariable || second.mayBeVariable ? undefined : false;
  }
  if (first.unit.dimension !== second.unit.dimension) return undefined;
  const [amount, expected] = withoutName(amountOf(given.cleaned, first), amountOf(truth.cleaned, second));
  if (first.unit.factor === second.unit.factor) return isSame(amount, expected) || undefined;
  return isSame(`(${amount})*(${first.unit.factor})`, `(${expected})*(${second.unit.factor})`);
}
