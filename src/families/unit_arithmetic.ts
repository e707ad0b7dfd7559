import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";
import {
  add,
  divide,
  formatRational,
  isEqual,
  multiply,
  parseRational,
  type Rational,
  rational,
  subtract,
} from "./rational.ts";

/** A unit, as a multiple of the smallest unit of the dimension. */
interface Unit {
  readonly name: string;
  readonly factor: Rational;
}

const UNITS = {
  length: [["mm", 1], ["cm", 10], ["m", 1_000], ["km", 1_000_000]],
  mass: [["g", 1], ["kg", 1_000], ["t", 1_000_000]],
  time: [["s", 1], ["min", 60], ["h", 3_600], ["days", 86_400]],
  volume: [["ml", 1], ["cl", 10], ["l", 1_000], ["hl", 100_000]],
} as const;

/** A rate, the unit of the other factor, and the dimension of the product. */
const RATES = [
  { rate: "km/h", perUnit: rational(1_000_000), over: "h", of: "length" },
  { rate: "m/s", perUnit: rational(1_000), over: "s", of: "length" },
  { rate: "l/min", perUnit: rational(1_000), over: "min", of: "volume" },
  { rate: "kg/h", perUnit: rational(1_000), over: "h", of: "mass" },
] as const;

type Dimension = keyof typeof UNITS;

/** A part of an expression, with the value in the smallest unit of the dimension. */
interface Term {
  readonly text: string;
  readonly value: Rational;
}

/** Sums of quantities in several units. Difficulty adds terms, then factors, rates and divisions. */
export const unitArithmetic: Family = {
  about: "arithmetic with quantities in several units",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const dimension = draw.pick<Dimension>(
    difficulty < 5 ? ["length", "mass", "time", "volume"] : [
      "length",
      "volume",
      "mass",
    ],
  );
  const terms = Array.from(
    { length: 2 + Math.floor(difficulty / 2) },
    () => term(draw, dimension, difficulty),
  );
  const sum = terms.reduce((left, right) => {
    const isPlus = draw.chance(0.6);
    const value = (isPlus ? add : subtract)(left.value, right.value);
    return { text: `${left.text} ${isPlus ? "+" : "-"} ${right.text}`, value };
  });
  const total = difficulty >= 8 ? divided(draw, sum) : sum;
  const unit = draw.pick(unitsOf(dimension));
  const result = divide(total.value, unit.factor);
  if (result === undefined || !isTypable(result)) return undefined;
  return {
    kind: "reply",
    query: `Compute ${total.text} and give the exact result in ${unit.name}, as a number and the unit.`,
    solution: `${formatRational(result)} ${unit.name}`,
    copies: [...total.text.matchAll(/\d+(?:\.\d+)? [a-z]+/g)].map(([quantity]) => quantity),
    guess: (draw) => `${draw.int(1, 9)}${draw.int(10, 999)} ${unit.name}`,
    check: (answer) => check(answer, { result, unit }),
  };
}

/** A result is positive, so that each operation of the text matters, and has few digits. */
function isTypable(result: Rational): boolean {
  const text = formatRational(result);
  return result.numerator > 0n && !text.includes("/") && text.length <= 12 && result.numerator !== 1n;
}

function term(draw: Draw, dimension: Dimension, difficulty: number): Term {
  if (difficulty >= 6 && draw.chance(0.35)) return rateTerm(draw, dimension) ?? quantity(draw, dimension);
  if (difficulty >= 3 && draw.chance(0.4)) {
    const factor = draw.int(2, 3 + difficulty);
    const inner = difficulty < 5 ? quantity(draw, dimension) : joined(draw, dimension);
    return { text: `${factor} * ${inner.text}`, value: multiply(rational(factor), inner.value) };
  }
  return quantity(draw, dimension);
}

function joined(draw: Draw, dimension: Dimension): Term {
  const [left, right] = [quantity(draw, dimension), quantity(draw, dimension)];
  return { text: `(${left.text} + ${right.text})`, value: add(left.value, right.value) };
}

function rateTerm(draw: Draw, dimension: Dimension): Term | undefined {
  const rates = RATES.filter(({ of }) => of === dimension);
  if (rates.length === 0) return undefined;
  const { rate, perUnit, over } = draw.pick(rates);
  const [amount, count] = [draw.int(2, 40), draw.int(2, 30)];
  const scaled = draw.pick([over, over === "h" ? "min" : over === "min" ? "h" : "min"]);
  const units = unitsOf("time");
  const factorOf = (name: string) => units.find((unit) => unit.name === name)?.factor ?? rational(1);
  const times = divide(multiply(rational(count), factorOf(scaled)), factorOf(over)) ?? rational(0);
  return {
    text: `${amount} ${rate} * ${count} ${scaled}`,
    value: multiply(multiply(rational(amount), perUnit), times),
  };
}

function divided(draw: Draw, { text, value }: Term): Term {
  const divisor = draw.pick([2, 4, 5, 8, 10]);
  return { text: `(${text}) / ${divisor}`, value: divide(value, rational(divisor)) ?? value };
}

function quantity(draw: Draw, dimension: Dimension): Term {
  const unit = draw.pick(unitsOf(dimension));
  const amount = draw.chance(0.3) ? rational(draw.int(11, 999), 10) : rational(draw.int(2, 500));
  return { text: `${formatRational(amount)} ${unit.name}`, value: multiply(amount, unit.factor) };
}

function unitsOf(dimension: Dimension): Unit[] {
  return UNITS[dimension].map(([name, factor]) => ({ name, factor: rational(factor) }));
}

/** Checks a number, with or without the unit. */
function check(answer: string, { result, unit }: { result: Rational; unit: Unit }): Verdict {
  const text = answer.trim().replaceAll(",", "");
  const number = text.endsWith(unit.name) ? text.slice(0, -unit.name.length).trimEnd() : text;
  const value = parseRational(number);
  if (value === undefined) return "malformed";
  return isEqual(value, result) ? "right" : "wrong";
}
