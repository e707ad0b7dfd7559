import type { AnswerKinds } from "./answer.ts";

/** Answers of several parts, and ranges, by name. */
export const COLLECTIONS: AnswerKinds = {
  tuple({ integer }) {
    const [a, b] = [integer(-20, 20), integer(21, 60)];
    return {
      truth: `(${a},${b})`,
      equal: {
        "same": `(${a},${b})`,
        "spaces": `(${a}, ${b})`,
        "left right": `\\left(${a}, ${b}\\right)`,
        "named": `(x,y)=(${a},${b})`,
        "decimal": `(${a}.0, ${b})`,
        "assignments": `x = ${a}, y = ${b}`,
      },
      wrong: {
        "swapped": `(${b},${a})`,
        "first": `(${a + 1},${b})`,
        "longer": `(${a},${b},${b})`,
        "interval": `[${a},${b}]`,
      },
    };
  },
  set({ integer }) {
    const [a, b, c] = [integer(-9, 9), integer(10, 40), integer(41, 99)];
    return {
      truth: `\\{${a},${b},${c}\\}`,
      equal: {
        "same": `\\{${a},${b},${c}\\}`,
        "other order": `\\{${c}, ${a}, ${b}\\}`,
        "no braces": `${a}, ${b}, ${c}`,
        "lbrace": `\\lbrace ${a},${b},${c}\\rbrace`,
        "left right": `\\left\\{${b},${a},${c}\\right\\}`,
      },
      wrong: {
        "one missing": `\\{${a},${b}\\}`,
        "one more": `\\{${a},${b},${c},${c + 1}\\}`,
        "other": `\\{${a},${b},${c + 1}\\}`,
      },
    };
  },
  list({ integer }) {
    const [a, b] = [integer(-30, 0), integer(1, 30)];
    return {
      truth: `${a},${b}`,
      equal: {
        "same": `${a},${b}`,
        "other order": `${b}, ${a}`,
        "and": `${a} \\text{ and } ${b}`,
        "or": `x=${a} \\text{ or } x=${b}`,
        "assignments": `x_1 = ${a}, x_2 = ${b}`,
        "set": `\\{${a},${b}\\}`,
        "semicolon": `${a}; ${b}`,
      },
      wrong: {
        "one": String(b),
        "sum": String(a + b),
        "other": `${a},${b + 1}`,
        "three": `${a},${b},${b + 1}`,
      },
    };
  },
  "plus minus"({ integer }) {
    const [a, b] = [integer(2, 30), integer(2, 9)];
    return {
      truth: `${a} \\pm ${b}`,
      equal: { "same": `${a}\\pm${b}`, "both": `${a + b}, ${a - b}`, "written out": `${a}+${b}, ${a}-${b}` },
      wrong: { "plus": `${a}+${b}`, "minus": `${a}-${b}`, "other": `${a}\\pm${b + 1}` },
    };
  },
  interval({ integer, pick }) {
    const [a, b] = [integer(-20, 0), integer(1, 20)];
    const [open, close] = [pick(["(", "["]), pick([")", "]"])];
    const [low, high] = [open === "(" ? "<" : "\\le", close === ")" ? "<" : "\\le"];
    return {
      truth: `${open}${a},${b}${close}`,
      equal: {
        "same": `${open}${a}, ${b}${close}`,
        "left right": `\\left${open}${a}, ${b}\\right${close}`,
        "inequality": `${a} ${low} x ${high} ${b}`,
        "element": `x \\in ${open}${a}, ${b}${close}`,
        "decimal": `${open}${a}.0, ${b}${close}`,
      },
      wrong: {
        "other bound": `${open}${a}, ${b + 1}${close}`,
        "other brackets": `${open === "(" ? "[" : "("}${a}, ${b}${close}`,
        "other inequality": `${a} ${low} x ${high} ${b + 1}`,
      },
    };
  },
  unbounded({ integer }) {
    const a = integer(-20, 20);
    return {
      truth: `(${a},\\infty)`,
      equal: {
        "same": `(${a}, \\infty)`,
        "plus": `(${a}, +\\infty)`,
        "inequality": `x > ${a}`,
        "swapped": `${a} < x`,
      },
      wrong: {
        "closed": `[${a}, \\infty)`,
        "other": `(${a + 1}, \\infty)`,
        "below": `(-\\infty, ${a})`,
        "inequality": `x \\ge ${a}`,
      },
    };
  },
  union({ integer }) {
    const [a, b] = [integer(-20, 0), integer(1, 20)];
    return {
      truth: `(-\\infty,${a})\\cup(${b},\\infty)`,
      equal: {
        "same": `(-\\infty, ${a}) \\cup (${b}, \\infty)`,
        "other order": `(${b},\\infty)\\cup(-\\infty,${a})`,
        "inequalities": `x<${a} \\text{ or } x>${b}`,
      },
      wrong: {
        "closed": `(-\\infty,${a}]\\cup(${b},\\infty)`,
        "one": `(-\\infty,${a})`,
        "other": `(-\\infty,${a})\\cup(${b + 1},\\infty)`,
      },
    };
  },
  inequality({ integer }) {
    const a = integer(-20, 20);
    return {
      truth: `x \\ge ${a}`,
      equal: {
        "geq": `x \\geq ${a}`,
        "turned": `${a} \\le x`,
        "sign": `x >= ${a}`,
        "slanted": `x \\geqslant ${a}`,
        "interval": `[${a}, \\infty)`,
      },
      wrong: { "strict": `x > ${a}`, "less": `x \\le ${a}`, "other": `x \\ge ${a + 1}`, "equal": `x = ${a}` },
    };
  },
  matrix({ integer }) {
    const [a, b, c, d] = [integer(-9, 9), integer(-9, 9), integer(-9, 9), integer(10, 20)];
    const rows = `${a} & ${b} \\\\ ${c} & ${d}`;
    return {
      truth: `\\begin{pmatrix}${rows}\\end{pmatrix}`,
      equal: {
        "same": `\\begin{pmatrix} ${rows} \\end{pmatrix}`,
        "bmatrix": `\\begin{bmatrix}${rows}\\end{bmatrix}`,
        "left matrix": `\\left(\\begin{matrix}${rows}\\end{matrix}\\right)`,
        "array": `\\left[\\begin{array}{cc}${rows}\\end{array}\\right]`,
        "fractions": `\\begin{pmatrix}\\frac{${2 * a}}{2} & ${b} \\\\ ${c} & ${d}\\end{pmatrix}`,
        "factor": `\\frac{1}{2}\\begin{pmatrix}${2 * a} & ${2 * b} \\\\ ${2 * c} & ${2 * d}\\end{pmatrix}`,
      },
      wrong: {
        "entry": `\\begin{pmatrix}${a} & ${b} \\\\ ${c} & ${d + 1}\\end{pmatrix}`,
        "transposed": `\\begin{pmatrix}${a} & ${c + 30} \\\\ ${b} & ${d}\\end{pmatrix}`,
        "row": `\\begin{pmatrix}${a} & ${b}\\end{pmatrix}`,
      },
    };
  },
  vector({ integer }) {
    const [a, b] = [integer(-9, 9), integer(10, 20)];
    return {
      truth: `\\begin{pmatrix}${a} \\\\ ${b}\\end{pmatrix}`,
      equal: {
        "same": `\\begin{pmatrix}${a}\\\\${b}\\end{pmatrix}`,
        "bmatrix": `\\begin{bmatrix}${a}\\\\${b}\\end{bmatrix}`,
        "spaced rows": `\\begin{pmatrix}${a}\\\\[4pt]${b}\\end{pmatrix}`,
      },
      wrong: {
        "entry": `\\begin{pmatrix}${a + 1}\\\\${b}\\end{pmatrix}`,
        "swapped": `\\begin{pmatrix}${b}\\\\${a}\\end{pmatrix}`,
      },
    };
  },
};
