import type { Draw } from "../draw.ts";

type Name = "x" | "i" | "last" | "total";
type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** An expression of whole numbers. */
type Expression =
  | { readonly kind: "constant"; readonly value: number }
  | { readonly kind: "name"; readonly name: Name }
  | {
    readonly kind: "binary";
    readonly operator: "+" | "-" | "*" | "%";
    readonly left: Expression;
    readonly right: Expression;
  }
  | { readonly kind: "abs"; readonly of: Expression };

interface Condition {
  readonly left: Expression;
  readonly comparison: Comparison;
  readonly right: Expression;
}

/** A change of the total. */
interface Change {
  readonly kind: "add" | "subtract" | "max";
  readonly value: Expression;
}

/** A function that folds a list of whole numbers into a total. It can be run on the host, described and mutated. */
export interface Program {
  readonly init: number;
  readonly branches: readonly { readonly condition: Condition; readonly change: Change }[];
  readonly otherwise: Change | undefined;
  readonly result: Expression;
}

/** Returns a random program. */
export function randomProgram(draw: Draw, difficulty: number): Program {
  const count = 1 + Math.floor((difficulty + 1) / 3);
  return {
    init: draw.int(0, 9),
    branches: Array.from({ length: count }, () => ({
      condition: randomCondition(draw),
      change: randomChange(draw),
    })),
    otherwise: draw.chance(0.4 + 0.05 * difficulty) ? randomChange(draw) : undefined,
    result: difficulty >= 3 && draw.chance(0.5)
      ? { kind: "binary", operator: "%", left: name("total"), right: constant(draw.pick([97, 101, 103])) }
      : name("total"),
  };
}

function randomCondition(draw: Draw): Condition {
  const kind = draw.int(0, 4);
  if (kind === 0) return compare(remainder(name("x"), draw.int(2, 5)), "==", constant(draw.int(0, 1)));
  if (kind === 1) return compare(name("x"), draw.pick([">", "<"]), constant(draw.int(0, 15)));
  if (kind === 2) return compare(remainder(name("i"), draw.int(2, 3)), "==", constant(draw.int(0, 1)));
  if (kind === 3) return compare(name("x"), draw.pick([">", "<"]), name("last"));
  return compare(name("total"), draw.pick([">", "<"]), constant(draw.int(10, 40)));
}

function randomChange(draw: Draw): Change {
  const value: Expression = draw.pick<() => Expression>([
    () => name("x"),
    () => binary("*", name("x"), constant(draw.int(2, 5))),
    () => binary("+", name("x"), name("i")),
    () => ({ kind: "abs", of: binary("-", name("x"), name("last")) }),
    () => binary("-", constant(draw.int(3, 12)), name("i")),
    () => constant(draw.int(1, 9)),
  ])();
  return { kind: draw.pick(["add", "add", "subtract", "max"]), value };
}

function name(name: Name): Expression {
  return { kind: "name", name };
}

function constant(value: number): Expression {
  return { kind: "constant", value };
}

function binary(operator: "+" | "-" | "*" | "%", left: Expression, right: Expression): Expression {
  return { kind: "binary", operator, left, right };
}

function remainder(left: Expression, divisor: number): Expression {
  return binary("%", left, constant(divisor));
}

function compare(left: Expression, comparison: Comparison, right: Expression): Condition {
  return { left, comparison, right };
}

/** Returns the result of a program, as Python computes the result. */
export function runProgram({ init, branches, otherwise, result }: Program, items: readonly number[]): number {
  let [total, last] = [init, 0];
  for (const [i, x] of items.entries()) {
    const scope = { x, i, last, total };
    const branch = branches.find(({ condition }) => holds(condition, scope));
    const change = branch?.change ?? otherwise;
    if (change !== undefined) total = changed(total, change, scope);
    last = x;
  }
  return evaluate(result, { x: 0, i: 0, last, total });
}

function changed(total: number, { kind, value }: Change, scope: Readonly<Record<Name, number>>): number {
  const amount = evaluate(value, scope);
  return kind === "add" ? total + amount : kind === "subtract" ? total - amount : Math.max(total, amount);
}

function holds({ left, comparison, right }: Condition, scope: Readonly<Record<Name, number>>): boolean {
  const [one, other] = [evaluate(left, scope), evaluate(right, scope)];
  switch (comparison) {
    case "==":
      return one === other;
    case "!=":
      return one !== other;
    case "<":
      return one < other;
    case "<=":
      return one <= other;
    case ">":
      return one > other;
    case ">=":
      return one >= other;
  }
}

function evaluate(expression: Expression, scope: Readonly<Record<Name, number>>): number {
  switch (expression.kind) {
    case "constant":
      return expression.value;
    case "name":
      return scope[expression.name];
    case "abs":
      return Math.abs(evaluate(expression.of, scope));
    case "binary": {
      const [left, right] = [evaluate(expression.left, scope), evaluate(expression.right, scope)];
      switch (expression.operator) {
        case "+":
          return left + right;
        case "-":
          return left - right;
        case "*":
          return left * right;
        case "%":
          return ((left % right) + right) % right; // the sign of the divisor, as in Python
      }
    }
  }
}

/** Returns the source of a program in Python. */
export function toPython({ init, branches, otherwise, result }: Program): string {
  const lines = branches.flatMap(({ condition, change }, at) => [
    `        ${at === 0 ? "if" : "elif"} ${formatCondition(condition)}:`,
    `            ${formatChange(change)}`,
  ]);
  const rest = otherwise === undefined ? [] : ["        else:", `            ${formatChange(otherwise)}`];
  return [
    "def solve(items):",
    `    total = ${init}`,
    "    last = 0",
    "    for i, x in enumerate(items):",
    ...lines,
    ...rest,
    "        last = x",
    `    return ${format(result)}`,
  ].join("\n");
}

function formatCondition({ left, comparison, right }: Condition): string {
  return `${format(left)} ${comparison} ${format(right)}`;
}

function formatChange({ kind, value }: Change): string {
  if (kind === "max") return `total = max(total, ${format(value)})`;
  return `total ${kind === "add" ? "+=" : "-="} ${format(value)}`;
}

function format(expression: Expression): string {
  switch (expression.kind) {
    case "constant":
      return String(expression.value);
    case "name":
      return expression.name;
    case "abs":
      return `abs(${format(expression.of)})`;
    case "binary":
      return `${format(expression.left)} ${expression.operator} ${format(expression.right)}`;
  }
}

/** Returns in English what a program does. */
export function describeProgram({ init, branches, otherwise, result }: Program): string {
  const cases = branches.map(({ condition, change }, at) =>
    `${at === 0 ? "If" : "Else, if"} ${describeCondition(condition)}, ${describeChange(change)}.`
  );
  const rest = otherwise === undefined ? "Else, the total stays." : `Else, ${describeChange(otherwise)}.`;
  const end = result.kind === "binary"
    ? `the remainder of the total when divided by ${describe(result.right)}, which is never negative`
    : "the total";
  return `The total starts at ${init}. For each number of items, at the index i from 0: ${
    cases.join(" ")
  } ${rest} ` +
    `The number before the first is 0. Return ${end}.`;
}

function describeChange({ kind, value }: Change): string {
  const amount = describe(value);
  if (kind === "add") return `add ${amount} to the total`;
  if (kind === "subtract") return `subtract ${amount} from the total`;
  return `raise the total to ${amount} if that is greater`;
}

const COMPARISONS: Readonly<Record<Comparison, string>> = {
  "==": "is",
  "!=": "is not",
  "<": "is less than",
  "<=": "is at most",
  ">": "is greater than",
  ">=": "is at least",
};

function describeCondition({ left, comparison, right }: Condition): string {
  return `${describe(left)} ${COMPARISONS[comparison]} ${describe(right)}`;
}

const NAMES: Readonly<Record<Name, string>> = {
  x: "the number",
  i: "i",
  last: "the number before",
  total: "the total so far",
};

function describe(expression: Expression): string {
  switch (expression.kind) {
    case "constant":
      return String(expression.value);
    case "name":
      return NAMES[expression.name];
    case "abs":
      return `the absolute value of (${describe(expression.of)})`;
    case "binary": {
      const [left, right] = [describe(expression.left), describe(expression.right)];
      if (expression.operator === "%") {
        return `the remainder of ${left} when divided by ${right} (never negative)`;
      }
      return `${left} ${{ "+": "plus", "-": "minus", "*": "times" }[expression.operator]} ${right}`;
    }
  }
}

/** Returns all programs that differ in one place. */
export function mutantsOf(program: Program): Program[] {
  const { init, branches, otherwise, result } = program;
  return [
    ...[init - 1, init + 1].map((init) => ({ ...program, init })),
    ...branches.flatMap(({ condition, change }, at) =>
      [
        ...conditionMutants(condition).map((condition) => ({ condition, change })),
        ...changeMutants(change).map((change) => ({ condition, change })),
      ].map((branch) => ({ ...program, branches: branches.with(at, branch) }))
    ),
    ...(otherwise === undefined
      ? []
      : changeMutants(otherwise).map((otherwise) => ({ ...program, otherwise }))),
    ...expressionMutants(result).filter(({ kind }) => kind === result.kind && kind === "binary").map((
      result,
    ) => ({
      ...program,
      result,
    })),
  ];
}

const OTHER_COMPARISONS: Readonly<Record<Comparison, readonly Comparison[]>> = {
  "==": ["!="],
  "!=": ["=="],
  "<": ["<=", ">"],
  "<=": ["<", ">="],
  ">": [">=", "<"],
  ">=": [">", "<="],
};

function conditionMutants(condition: Condition): Condition[] {
  const { left, comparison, right } = condition;
  return [
    ...OTHER_COMPARISONS[comparison].map((comparison) => ({ ...condition, comparison })),
    ...expressionMutants(left).map((left) => ({ ...condition, left })),
    ...expressionMutants(right).map((right) => ({ ...condition, right })),
  ];
}

function changeMutants(change: Change): Change[] {
  const kinds = (["add", "subtract", "max"] as const).filter((kind) => kind !== change.kind);
  return [
    ...kinds.map((kind) => ({ ...change, kind })),
    ...expressionMutants(change.value).map((value) => ({ ...change, value })),
  ];
}

function expressionMutants(expression: Expression): Expression[] {
  switch (expression.kind) {
    case "constant":
      return [expression.value + 1, ...(expression.value > 2 ? [expression.value - 1] : [])].map(constant);
    case "name": {
      const others: Readonly<Record<Name, readonly Name[]>> = {
        x: ["last"],
        last: ["x"],
        i: ["x"],
        total: [],
      };
      return others[expression.name].map(name);
    }
    case "abs":
      return [
        expression.of,
        ...expressionMutants(expression.of).map((of): Expression => ({ kind: "abs", of })),
      ];
    case "binary": {
      const { operator, left, right } = expression;
      const other = { "+": "-", "-": "+", "*": "+", "%": undefined }[operator] as "+" | "-" | undefined;
      return [
        ...(other === undefined ? [] : [binary(other, left, right)]),
        ...expressionMutants(left).map((left) => binary(operator, left, right)),
        // a remainder needs a divisor above 0
        ...expressionMutants(right).filter((right) => operator !== "%" || right.kind === "constant")
          .map((right) => binary(operator, left, right)),
      ];
    }
  }
}
