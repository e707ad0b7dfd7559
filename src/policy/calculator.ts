import type { History } from "../history.ts";
import { messageText } from "../message.ts";
import { type Arithmetic, parseArithmetic } from "./arithmetic.ts";
import { countAssistantTurns, type Policy } from "./policy.ts";

/**
 * Creates a policy that computes a task's `reference` solution in Python over two turns and answers with the
 * number that Python printed. The answer never contains numbers of the reference itself, so a correct
 * answer shows that execution works. Useful for demos and tests without a model.
 */
export function calculatorPolicy(): Policy {
  return {
    name: "calculator",
    // deno-lint-ignore require-await
    async reply(history, { task }) {
      const calculation = calculationOf(task.reference ?? "");
      if (calculation === null) return "I find nothing to calculate here.";
      const program = calculation.programs[countAssistantTurns(history)];
      return program === undefined ? answerOf(history) : `\`\`\`python\n${program}\n\`\`\``;
    },
  };
}

function answerOf(history: History): string {
  const printed = /= *(-?[\d.]+(?:e[-+]?\d+)?)\s*$/.exec(
    history.last === undefined ? "" : messageText(history.last),
  )?.[1];
  return printed === undefined ? "I could not work it out." : `The answer is <answer>${printed}</answer>`;
}

/** A worked solution as two Python programs. The second program uses variables of the first. */
export interface Calculation {
  readonly programs: readonly [first: string, second: string];
  /** The number in the last line of the second program's output, up to floating-point error. */
  readonly value: number;
}

interface Assignment {
  readonly name: string;
  readonly formula: Arithmetic;
}

const ANNOTATION = /<<([^<>]*)>>/g;

/**
 * Converts the calculator annotations `<<48/2=24>>` of a solution to Python. Each becomes a variable, which
 * is used for later operands of the same value. Invalid annotations are skipped; returns `null` if no annotation
 * is valid.
 */
export function calculationOf(solution: string): Calculation | null {
  const formulas = Array.from(solution.matchAll(ANNOTATION), ([, text = ""]) => text.split("=")[0] ?? "")
    .map(parseArithmetic).filter((formula) => formula !== null);
  const assignments = formulas.map((formula, index) => ({ name: `v${index + 1}`, formula }));
  const middle = Math.ceil(assignments.length / 2);
  const [first, second] = [assignments.slice(0, middle), assignments.slice(middle)];
  const carried = first.at(-1);
  const result = assignments.at(-1);
  if (carried === undefined || result === undefined) return null;
  const carriedLines = carried === result ? [] : [printLine(carried.name)];
  return {
    programs: [
      [...statements(first, []), ...first.map(({ name }) => printLine(name))].join("\n"),
      [...statements(second, first), ...carriedLines, printLine(result.name)].join("\n"),
    ],
    value: result.formula.value,
  };
}

function statements(assignments: readonly Assignment[], earlier: readonly Assignment[]): string[] {
  const known = [...earlier];
  return assignments.map((assignment) => {
    const statement = `${assignment.name} = ${toPython(assignment.formula, known)}`;
    known.push(assignment);
    return statement;
  });
}

function printLine(name: string): string {
  return `print("${name} =", ${name})`;
}

function toPython(formula: Arithmetic, known: readonly Assignment[]): string {
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
  const text = toPython(formula, known);
  return formula.kind === "number" ? text : `(${text})`;
}
