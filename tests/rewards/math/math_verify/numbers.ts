import type { AnswerKinds } from "./answer.ts";

/** Numbers and ways to write them, by name. */
export const NUMBERS: AnswerKinds = {
  integer({ integer }) {
    const [a, b] = [integer(2, 999), integer(2, 9)];
    return {
      truth: String(a),
      equal: {
        "same": String(a),
        "decimal": `${a}.0`,
        "product": `${a}\\cdot 1`,
        "sum": `${a - b} + ${b}`,
        "chain": `${a - b} + ${b} = ${a}`,
        "text unit": `${a}\\text{ apples}`,
        "assignment": `x = ${a}`,
        "spaces": `\\ ${a}\\,`,
        "dollar": `\\$${a}`,
        "degrees": `${a}^\\circ`,
        "fraction": `\\frac{${a * b}}{${b}}`,
        "colour": `\\color{red}{${a}}`,
        "underline": `\\underline{${a}}`,
        "bold": `\\mathbf{${a}}`,
        "braces": `{${a}}`,
        "approx": `\\approx ${a}`,
      },
      wrong: {
        "off by one": String(a + 1),
        "negative": `-${a}`,
        "tenfold": `${a}0`,
        "fraction": `\\frac{${a * b + 1}}{${b}}`,
        "assignment": `x = ${a + b}`,
        "power": `${a}^{${b}}`,
      },
    };
  },
  thousands({ integer }) {
    const [a, b] = [integer(1, 999), String(integer(0, 999)).padStart(3, "0")];
    return {
      truth: `${a}${b}`,
      equal: {
        "comma": `${a},${b}`,
        "braced comma": `${a}{,}${b}`,
        "thin comma": `${a},\\!${b}`,
        "none": `${a}${b}`,
      },
      wrong: { "point": `${a}.${b}`, "first part": `${a}`, "other": `${a},${b}0` },
    };
  },
  negative({ integer }) {
    const a = integer(2, 500);
    return {
      truth: `-${a}`,
      equal: { "same": `-${a}`, "space": `- ${a}`, "parentheses": `(-${a})`, "assignment": `y=-${a}` },
      wrong: { "positive": String(a), "twice": `--${a}`, "off by one": `-${a + 1}` },
    };
  },
  decimal({ integer }) {
    const [a, b] = [integer(0, 99), integer(1, 9)];
    const value = `${a}.${b}`;
    return {
      truth: value,
      equal: {
        "same": value,
        "zero at the end": `${value}0`,
        "fraction": `\\frac{${a * 10 + b}}{10}`,
        "mixed": `${a}\\frac{${b}}{10}`,
        "slash": `${a * 10 + b}/10`,
        "scientific": `${a * 10 + b}\\times 10^{-1}`,
      },
      wrong: { "other digit": `${a}.${b}1`, "tenfold": `${a}${b}`, "comma list": `${a}, ${b}` },
    };
  },
  fraction({ integer }) {
    const [a, b, k] = [integer(1, 60), integer(2, 60), integer(2, 9)];
    return {
      truth: `\\frac{${a}}{${b}}`,
      equal: {
        "same": `\\frac{${a}}{${b}}`,
        "dfrac": `\\dfrac{${a}}{${b}}`,
        "tfrac": `\\tfrac{${a}}{${b}}`,
        "slash": `${a}/${b}`,
        "expanded": `\\frac{${a * k}}{${b * k}}`,
        "power": `${a}\\cdot ${b}^{-1}`,
        "over": `{${a} \\over ${b}}`,
        "left right": `\\left(\\frac{${a}}{${b}}\\right)`,
        "sum": `\\frac{${a + b}}{${b}} - 1`,
        "assignment": `x=\\frac{${a}}{${b}}`,
        "quotient": `${a} \\div ${b}`,
      },
      wrong: {
        "numerator": `\\frac{${a + 1}}{${b}}`,
        "turned": `\\frac{${b + a}}{${a}}`,
        "negative": `-\\frac{${a}}{${b}}`,
        "half": `\\frac{${a}}{${2 * b}}`,
      },
    };
  },
  rounding({ integer }) {
    const [a, b] = [integer(1, 60), integer(2, 97)];
    const value = a / b;
    return {
      truth: `\\frac{${a}}{${b}}`,
      equal: { "six places": value.toFixed(6), "nine places": value.toFixed(9) },
      wrong: {
        "changed in the second place": (value + 0.01).toFixed(6),
        "changed in the fourth place": (value + 0.0003).toFixed(6),
      },
    };
  },
  percent({ integer }) {
    const a = integer(1, 99);
    return {
      truth: `${a}\\%`,
      equal: {
        "same": `${a}\\%`,
        "bare": String(a),
        "fraction": `\\frac{${a}}{100}`,
        "decimal": String(a / 100),
      },
      wrong: { "other": `${a + 1}\\%`, "tenfold": `${a}0\\%` },
    };
  },
  radical({ integer, pick }) {
    const [a, b] = [integer(2, 12), pick([2, 3, 5, 6, 7, 10, 11])];
    return {
      truth: `${a}\\sqrt{${b}}`,
      equal: {
        "same": `${a}\\sqrt{${b}}`,
        "one root": `\\sqrt{${a * a * b}}`,
        "no braces": b < 10 ? `${a}\\sqrt${b}` : `${a}\\sqrt{${b}}`,
        "half power": `${a}\\cdot ${b}^{1/2}`,
        "rationalized": `\\frac{${a * b}}{\\sqrt{${b}}}`,
        "cdot": `${a} \\cdot \\sqrt{${b}}`,
        "decimal": (a * Math.sqrt(b)).toFixed(8),
      },
      wrong: {
        "factor": `${a + 1}\\sqrt{${b}}`,
        "radicand": `${a}\\sqrt{${b + 1}}`,
        "sum": `${a}+\\sqrt{${b}}`,
      },
    };
  },
  pi({ integer }) {
    const [a, b] = [integer(2, 20), integer(2, 9)];
    return {
      truth: `\\frac{${a}\\pi}{${b}}`,
      equal: {
        "same": `\\frac{${a}\\pi}{${b}}`,
        "factor first": `\\frac{${a}}{${b}}\\pi`,
        "cdot": `${a}\\cdot\\pi/${b}`,
        "decimal": (a * Math.PI / b).toFixed(8),
      },
      wrong: {
        "no pi": `\\frac{${a}}{${b}}`,
        "numerator": `\\frac{${a + 1}\\pi}{${b}}`,
        "square": `\\frac{${a}\\pi^2}{${b}}`,
      },
    };
  },
  power({ integer }) {
    const [a, b] = [integer(2, 9), integer(3, 12)];
    return {
      truth: `${a}^{${b}}`,
      equal: {
        "same": `${a}^{${b}}`,
        "value": String(a ** b),
        "product": `${a}\\cdot ${a}^{${b - 1}}`,
        "scientific": `${a ** b}\\times 10^0`,
      },
      wrong: { "exponent": `${a}^{${b + 1}}`, "product": `${a}\\cdot ${b}`, "value": String(a ** b + 1) },
    };
  },
  scientific({ integer }) {
    const [a, b, e] = [integer(1, 9), integer(1, 9), integer(2, 6)];
    return {
      truth: `${a}.${b} \\times 10^{${e}}`,
      equal: {
        "same": `${a}.${b}\\times 10^{${e}}`,
        "cdot": `${a}.${b} \\cdot 10^{${e}}`,
        "value": String(Math.round((a + b / 10) * 10 ** e)),
        "e": `${a}.${b}e${e}`,
      },
      wrong: {
        "exponent": `${a}.${b}\\times 10^{${e + 1}}`,
        "mantissa": `${a}.${b}1\\times 10^{${e}}`,
        "sign": `${a}.${b}\\times 10^{-${e}}`,
      },
    };
  },
};
