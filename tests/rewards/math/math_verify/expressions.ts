import type { AnswerKinds } from "./answer.ts";

/** Expressions, words and numbers with words, by name. */
export const EXPRESSIONS: AnswerKinds = {
  polynomial({ integer }) {
    const [a, b] = [integer(1, 12), integer(1, 12)];
    return {
      truth: `x^2+${a + b}x+${a * b}`,
      equal: {
        "same": `x^2+${a + b}x+${a * b}`,
        "factors": `(x+${a})(x+${b})`,
        "other order": `${a * b}+${a + b}x+x^2`,
        "braces": `x^{2} + ${a + b} x + ${a * b}`,
        "partly factored": `x(x+${a + b})+${a * b}`,
      },
      wrong: {
        "constant": `x^2+${a + b}x+${a * b + 1}`,
        "sign": `x^2-${a + b}x+${a * b}`,
        "factors": `(x+${a})(x-${b})`,
        "other variable": `y^2+${a + b}y+${a * b}`,
      },
    };
  },
  product({ integer, pick }) {
    const [a, [x, y, z]] = [integer(2, 9), pick([["a", "b", "c"], ["m", "n", "p"], ["x", "y", "z"]])];
    return {
      truth: `${a}${x}${y}^2${z}`,
      equal: {
        "same": `${a}${x}${y}^2${z}`,
        "cdot": `${a}\\cdot ${x}\\cdot ${y}^2\\cdot ${z}`,
        "other order": `${a}${z}${y}^2${x}`,
        "fraction": `\\frac{${a * 2}${x}${y}^2${z}}{2}`,
      },
      wrong: {
        "power": `${a}${x}${y}^3${z}`,
        "factor": `${a + 1}${x}${y}^2${z}`,
        "one missing": `${a}${x}${y}^2`,
      },
    };
  },
  equation({ integer }) {
    const [a, b] = [integer(2, 9), integer(1, 20)];
    return {
      truth: `y=${a}x+${b}`,
      equal: {
        "same": `y=${a}x+${b}`,
        "spaces": `y = ${a} x + ${b}`,
        "sides swapped": `${a}x+${b}=y`,
        "other order": `y=${b}+${a}x`,
        "all on one side": `${a}x-y+${b}=0`,
      },
      wrong: { "slope": `y=${a + 1}x+${b}`, "intercept": `y=${a}x-${b}`, "variable": `z=${a}x+${b}` },
    };
  },
  complex({ integer }) {
    const [a, b] = [integer(1, 30), integer(2, 30)];
    return {
      truth: `${a}+${b}i`,
      equal: {
        "same": `${a} + ${b}i`,
        "other order": `${b}i+${a}`,
        "cdot": `${a}+${b}\\cdot i`,
        "i first": `${a}+i${b}`,
      },
      wrong: { "conjugate": `${a}-${b}i`, "real part": `${a + 1}+${b}i`, "no i": `${a + b}` },
    };
  },
  logarithm({ integer }) {
    const [a, b] = [integer(2, 9), integer(2, 9)];
    return {
      truth: `\\ln ${a ** b}`,
      equal: {
        "same": `\\ln(${a ** b})`,
        "power in front": `${b}\\ln ${a}`,
        "decimal": Math.log(a ** b).toFixed(8),
      },
      wrong: { "other": `\\ln ${a ** b + 1}`, "no logarithm": String(a ** b) },
    };
  },
  trigonometry({ integer }) {
    const a = integer(2, 9);
    return {
      truth: `${a}\\sin x \\cos x`,
      equal: {
        "same": `${a}\\sin(x)\\cos(x)`,
        "double angle": `\\frac{${a}}{2}\\sin(2x)`,
        "other order": `${a}\\cos x\\sin x`,
      },
      wrong: { "sum": `${a}\\sin x + \\cos x`, "factor": `${a + 1}\\sin x\\cos x`, "angle": `${a}\\sin(2x)` },
    };
  },
  factorial({ integer }) {
    const a = integer(3, 9);
    const value = Array.from({ length: a }, (_, at) => at + 1).reduce((product, n) => product * n, 1);
    return {
      truth: String(value),
      equal: { "factorial": `${a}!`, "product": `${a}\\cdot ${a - 1}!`, "chain": `${a}! = ${value}` },
      wrong: { "other": `${a + 1}!`, "double": `2\\cdot ${a}!` },
    };
  },
  binomial({ integer }) {
    const [n, k] = [integer(6, 14), integer(2, 4)];
    const value = Array.from({ length: k }, (_, at) => at).reduce((sum, at) => sum * (n - at) / (at + 1), 1);
    return {
      truth: String(value),
      equal: { "binom": `\\binom{${n}}{${k}}`, "dbinom": `\\dbinom{${n}}{${k}}`, "value": String(value) },
      wrong: { "other": `\\binom{${n + 1}}{${k}}`, "fraction": `\\frac{${n}}{${k}}` },
    };
  },
  base({ integer }) {
    const [a, b] = [integer(100, 444), integer(5, 8)];
    return {
      truth: `${a}_${b}`,
      equal: { "same": `${a}_${b}`, "braces": `${a}_{${b}}` },
      wrong: { "other base": `${a}_{${b + 1}}`, "other digits": `${a + 1}_${b}` },
    };
  },
  text({ pick }) {
    const [word, other] = pick(
      [["Monday", "Tuesday"], ["ellipse", "circle"], ["even", "odd"], ["Yes", "No"]] as const,
    );
    return {
      truth: `\\text{${word}}`,
      equal: {
        "same": `\\text{${word}}`,
        "mathrm": `\\mathrm{${word}}`,
        "bare": word,
        "spaces": `\\text{ ${word} }`,
      },
      wrong: { "other": `\\text{${other}}`, "longer": `\\text{not ${word}}` },
    };
  },
  choice({ pick }) {
    const [letter, other] = pick([["A", "B"], ["B", "D"], ["C", "E"], ["D", "A"]] as const);
    return {
      truth: `\\text{(${letter})}`,
      equal: {
        "same": `\\text{(${letter})}`,
        "no parentheses": `\\text{${letter}}`,
        "bare": letter,
        "textbf": `\\textbf{(${letter})}`,
      },
      wrong: { "other": `\\text{(${other})}`, "bare": other },
    };
  },
  unit({ integer, pick }) {
    const [a, unit] = [integer(2, 90), pick(["cm", "m", "kg", "km/h", "minutes"])];
    return {
      truth: String(a),
      equal: {
        "text": `${a}\\text{ ${unit}}`,
        "mbox": `${a}\\mbox{ ${unit}}`,
        "mathrm": `${a}\\ \\mathrm{${unit}}`,
        "textnormal": `${a}\\textnormal{ ${unit}}`,
        "bare": `${a} ${unit}`,
      },
      wrong: { "other": `${a + 1}\\text{ ${unit}}`, "tenfold": `${a}0\\text{ ${unit}}` },
    };
  },
};
