import { assert } from "@std/assert";
import fc from "fast-check";
import { isSameAnswer } from "../../../src/rewards/math/same_answer.ts";

/** An answer as it is expected, ways to write it, and answers that differ from it. */
interface Case {
  readonly truth: string;
  readonly equal: readonly string[];
  readonly different: readonly string[];
  /** Equations and inequalities that are not solved: wrong for `truth`, which is. */
  readonly unsolved?: readonly string[];
}

const integer = fc.integer({ min: -99_999, max: 99_999 });
const small = fc.integer({ min: -50, max: 50 });

const grouped = (value: number, separator: string) =>
  String(value).replace(/\B(?=(\d{3})+(?!\d))/g, separator.replaceAll("$", "$$$$"));

const integers: fc.Arbitrary<Case> = integer.map((value) => ({
  truth: String(value),
  equal: [
    grouped(value, ","),
    grouped(value, "{,}"),
    grouped(value, ",\\!"),
    `${value}.0`,
    `${value}.`,
    `$${value}$`,
    `\\$${value}`,
    `x = ${value}`,
    `${value}\\text{ apples}`,
    `${value}\\textnormal{ miles}`,
    `\\frac{${3 * value}}{3}`,
    `{${2 * value} \\over 2}`,
    `${value}e0`,
    `\\textcolor{blue}{${value}}`,
    `${value - 1} + 1`,
    `${value - 1} + 1 = ${value}`,
  ],
  different: [
    `${value + 1}`,
    `${value}0 + 1`,
    `${value}.5`,
    `\\text{not }${value}`,
    `${value} or ${value + 1}`,
  ],
}));

const fractions: fc.Arbitrary<Case> = fc.tuple(
  fc.integer({ min: 1, max: 99 }),
  fc.constantFrom(7, 9, 11, 13, 17),
).filter(([over, under]) => over % under !== 0 && over % 3 !== 0).map(([over, under]) => ({
  truth: `\\frac{${over}}{${under}}`,
  equal: [
    `${over}/${under}`,
    `\\dfrac{${over}}{${under}}`,
    `\\frac{${5 * over}}{${5 * under}}`,
    `{${over} \\over ${under}}`,
    `-\\frac{${over}}{-${under}}`,
    (over / under).toFixed(7),
    (over / under).toFixed(10),
  ],
  different: [
    `\\frac{${under}}{${over}}`,
    `\\frac{${over + 1}}{${under}}`,
    (over / under).toFixed(2),
    `-\\frac{${over}}{${under}}`,
  ],
}));

const sets: fc.Arbitrary<Case> = fc.uniqueArray(small, { minLength: 2, maxLength: 5 }).map((values) => {
  const turned = values.toReversed();
  const other = [...values.slice(1), 51];
  return {
    truth: `\\{${values.join(",")}\\}`,
    equal: [
      `\\{${turned.join(", ")}\\}`,
      `{${turned.join(", ")}}`,
      `\\lbrace ${values.join(", ")} \\rbrace`,
      turned.join("; "),
      turned.map((value) => `x = ${value}`).join(" \\text{ or } "),
      turned.map((value, at) => `x_${at} = ${value}`).join(", "),
      `${turned.slice(0, -1).join(", ")} and ${turned.at(-1)}`,
    ],
    different: [other.join(","), values.slice(1).join(","), [...values, 51].join(",")],
  };
});

const intervals: fc.Arbitrary<Case> = fc.tuple(
  small,
  fc.integer({ min: 1, max: 30 }),
  fc.boolean(),
  fc.boolean(),
)
  .map(([low, width, opensClosed, endsClosed]) => {
    const high = low + width;
    const [opening, closing] = [opensClosed ? "[" : "(", endsClosed ? "]" : ")"];
    const [below, above] = [opensClosed ? "\\le" : "<", endsClosed ? "\\le" : "<"];
    const [turnedAbove, turnedBelow] = [endsClosed ? "\\ge" : ">", opensClosed ? "\\ge" : ">"];
    return {
      truth: `${opening}${low},${high}${closing}`,
      equal: [
        `\\left${opening}${low}, ${high}\\right${closing}`,
        `x \\in ${opening}${low},${high}${closing}`,
        `${low} ${below} x ${above} ${high}`,
        `${high} ${turnedAbove} x ${turnedBelow} ${low}`,
      ],
      different: [
        `${opensClosed ? "(" : "["}${low},${high}${closing}`,
        `${opening}${low},${high + 1}${closing}`,
        `${low} ${below} x`,
        `${low} ${opensClosed ? "<" : "\\le"} x ${above} ${high}`,
        `x ${below} ${low}`,
      ],
    };
  });

const relations: fc.Arbitrary<Case> = fc.tuple(small, fc.constantFrom("<", ">", "\\le", "\\ge")).map(
  ([bound, sign]) => {
    const turned = { "<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le" }[sign] ?? "";
    const other = { "<": "\\le", ">": "\\ge", "\\le": "<", "\\ge": ">" }[sign] ?? "";
    return {
      truth: `x ${sign} ${bound}`,
      equal: [
        `${bound} ${turned} x`,
        `-x ${turned} ${-bound}`,
      ],
      unsolved: [`x - ${bound} ${sign} 0`.replace("- -", "+ "), `2x ${sign} ${2 * bound}`],
      different: [
        `x ${turned} ${bound}`,
        `x ${other} ${bound}`,
        `x ${sign} ${bound + 1}`,
        `y ${sign} ${bound}`,
      ],
    };
  },
);

const tuples: fc.Arbitrary<Case> = fc.tuple(small, small).filter(([x, y]) => x !== y).map(([x, y]) => ({
  truth: `(${x},${y})`,
  equal: [`\\left(${x}, ${y}\\right)`, `(x,y) = (${x}, ${y})`, `x = ${x}, y = ${y}`, `(${x};${y})`],
  different: [`(${y},${x})`, `x = ${y}, y = ${x}`, `(${x},${y},0)`, `[${x},${y}]`],
}));

const matrices: fc.Arbitrary<Case> = fc.tuple(small, small, small, small)
  .filter(([a, b, c, d]) => new Set([a, b, c, d]).size === 4).map(([a, b, c, d]) => {
    const rows = (by: number, end = "\\\\") => `${a * by} & ${b * by} ${end} ${c * by} & ${d * by}`;
    return {
      truth: `\\begin{pmatrix}${rows(1)}\\end{pmatrix}`,
      equal: [
        `\\begin{bmatrix}${rows(1)}\\end{bmatrix}`,
        `\\left[\\begin{array}{cc}${rows(1)}\\end{array}\\right]`,
        `\\left(\\begin{matrix}${rows(1, "\\\\[4pt]")}\\end{matrix}\\right)`,
        `\\frac{1}{2}\\begin{pmatrix}${rows(2)}\\end{pmatrix}`,
        `A = \\begin{pmatrix}${rows(1)}\\end{pmatrix}`,
      ],
      different: [
        `\\begin{pmatrix}${a} & ${c} \\\\ ${b} & ${d}\\end{pmatrix}`,
        `\\begin{pmatrix}${a} & ${b}\\end{pmatrix}`,
        `2\\begin{pmatrix}${rows(2)}\\end{pmatrix}`,
        `\\begin{pmatrix}${a} & ${b} \\\\ ${c} & ${d + 1}\\end{pmatrix}`,
      ],
    };
  });

const CASES = { integers, fractions, sets, intervals, relations, tuples, matrices };

for (const [name, cases] of Object.entries(CASES)) {
  Deno.test(`isSameAnswer() accepts every way to write ${name}, in both directions, and no other value`, () => {
    fc.assert(
      fc.property(cases, ({ truth, equal, different, unsolved = [] }) => {
        for (const form of equal) {
          assert(isSameAnswer(form, truth), `${form} for ${truth}`);
          if (/[a-zA-Z=]/.test(form.replace(/\\[a-zA-Z]+/g, ""))) continue; // words and names are for replies
          assert(isSameAnswer(truth, form), `${truth} for ${form}`);
        }
        for (const form of unsolved) {
          assert(!isSameAnswer(form, truth), `${form} is accepted for ${truth}`);
          assert(isSameAnswer(truth, form), `${truth} for ${form}`);
        }
        for (const form of different) {
          assert(!isSameAnswer(form, truth), `${form} is accepted for ${truth}`);
          assert(!isSameAnswer(truth, form), `${truth} is accepted for ${form}`);
        }
      }),
      { seed: 17, numRuns: 150 },
    );
  });
}
