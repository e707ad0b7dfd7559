import { join, plain, type ValueCode } from "./code.ts";
import type { Runtime } from "./runtime.ts";
import { AwkFailure } from "./syntax.ts";
import { compareValues, isTrue, toNumber, type Value } from "./values.ts";

/** The number of a truth value. */
export const TRUE_FALSE = (holds: boolean) => holds ? 1 : 0;

/** Arithmetic of two numbers, by the operator. */
export const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => {
    if (right === 0) throw new AwkFailure("division by zero attempted");
    return left / right;
  },
  "%": (left, right) => {
    if (right === 0) throw new AwkFailure("division by zero attempted in `%'");
    return left % right;
  },
  "^": (left, right) => left ** right,
};

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  "==": (order) => order === 0,
  "!=": (order) => order !== 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** Compiles an operation on two operands. `concat` joins their texts. */
export function compileBinary(
  operator: string,
  left: ValueCode,
  right: ValueCode,
  runtime: Runtime,
): ValueCode {
  const operands: [ValueCode, ValueCode] = [left, right];
  const calculate = ARITHMETIC[operator];
  if (calculate) {
    return join<[Value, Value], Value>(operands, ([a, b]) => calculate(toNumber(a), toNumber(b)));
  }
  const holds = COMPARISONS[operator];
  if (holds) {
    return join<[Value, Value], Value>(
      operands,
      ([a, b]) => holds(compareValues(a, b, runtime.convert)) ? 1 : 0,
    );
  }
  return join<[Value, Value], Value>(operands, ([a, b]) => runtime.text(a) + runtime.text(b));
}

/** Compiles `&&` or `||`. */
export function compileLogic(kind: "and" | "or", left: ValueCode, right: ValueCode): ValueCode {
  const stopsAt = kind === "or";
  if (!left.isAsync && !right.isAsync) {
    return plain((frame) =>
      TRUE_FALSE(isTrue(left.run(frame) as Value) === stopsAt ? stopsAt : isTrue(right.run(frame) as Value))
    );
  }
  return {
    isAsync: true,
    run: async (frame) =>
      TRUE_FALSE(isTrue(await left.run(frame)) === stopsAt ? stopsAt : isTrue(await right.run(frame))),
  };
}

/** Compiles `condition ? yes : no`. */
export function compileChoice(condition: ValueCode, yes: ValueCode, no: ValueCode): ValueCode {
  if (![condition, yes, no].some(({ isAsync }) => isAsync)) {
    return plain((frame) => (isTrue(condition.run(frame) as Value) ? yes : no).run(frame) as Value);
  }
  return {
    isAsync: true,
    run: async (frame) => await (isTrue(await condition.run(frame)) ? yes : no).run(frame),
  };
}
