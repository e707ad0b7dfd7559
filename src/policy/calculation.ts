import { type Arithmetic, parseArithmetic } from "./arithmetic.ts";

/** A worked solution as two programs, the second of which needs what the first has left behind. */
export interface Calculation {
  readonly programs: readonly [first: string, second: string];
  /** What the last line of the second program's output must show, as far as floating point goes. */
  readonly value: number;
}

interface Assignment {
  readonly name: string;
  readonly formula: Arithmetic;
}

const ANNOTATION = /<<([^<>]*)>>/g;

/**
 * Turns the calculator annotations `<<48/2=24>>` of a solution into Python: one variable each, used again wherever
 * a later operand is its value. Annotations that are no calculation are left out; `null` when none remains.
 */
export function calculationOf(solution: string): Calculation | null {
  const formulas = Array.from(solution.matchAll(ANNOTATION), ([, text = ""]) => text.split("=")[0] ?? "")
    .map(parseArithmetic).filter((formula) => formula !== null);
  const assignments = formulas.map((formula, index) => ({ name: `v${index + 1}`, formula }));
  const middle = Math.ceil(assignments.length / 2);
  const [first, second] = [assignments.slice(0, middle), assignments.slice(middle)];
  const kept = first.at(-1);
  const result = assignments.at(-1);
  if (kept === undefined || result === undefined) return null;
  const again = kept === result ? [] : [printLine(kept.name)];
  return {
    programs: [
      [...statements(first, []), ...first.map(({ name }) => printLine(name))].join("\n"),
      [...statements(second, first), ...again, printLine(result.name)].join("\n"),
    ],
    value: result.formula.value,
  };
}

function statements(assignments: readonly Assignment[], earlier: readonly Assignment[]): string[] {
  const known = [...earlier];
  return assignments.map((assignment) => {
    const statement = `${assignment.name} = ${python(assignment.formula, known)}`;
    known.push(assignment);
    return statement;
  });
}

function printLine(name: string): string {
  return `print("${name} =", ${name})`;
}

function python(formula: Arithmetic, known: readonly Assignment[]): string {
  switch (formula.kind) {
    case "number":
      return known.findLast(({ formula: { value } }) => value === formula.value)?.name ?? formula.text;
    case "negative":
      return `-${nested(formula.operand, known)}`;
    case "binary":
      return `${nested(formula.left, known)} ${formula.operator} ${nested(formula.right, known)}`;
  }
}

function nested(formula: Arithmetic, known: readonly Assignment[]): string {
  const text = python(formula, known);
  return formula.kind === "number" ? text : `(${text})`;
}
