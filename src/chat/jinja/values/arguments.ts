import { PythonTypeError } from "../jinja_errors.ts";
import { intOf } from "./numbers.ts";
import { type Args, typeName, Undefined, type Value } from "./values.ts";

/** Parameters of a function of Python. */
export interface Parameters {
  /** Names of parameters, in order. */
  readonly names: readonly string[];
  /**
   * Number of parameters that must be given.
   *
   * @default 0
   */
  readonly required?: number;
  /**
   * Number of parameters that must be given by position.
   *
   * @default 0
   */
  readonly positionalOnly?: number;
}

/** Returns the arguments in the order of the parameters, `undefined` for those that are not given. */
export function bindArguments(args: Args, parameters: Parameters): (Value | undefined)[] {
  const { positional, keywords } = args;
  const { names, required = 0, positionalOnly = 0 } = parameters;
  if (positional.length > names.length) {
    throw new PythonTypeError(
      `a call must have at most ${names.length} arguments: found ${positional.length}`,
    );
  }
  const bound: (Value | undefined)[] = [...positional];
  for (const [name, value] of keywords) {
    const at = names.indexOf(name);
    if (at === -1 || at < positionalOnly || bound[at] !== undefined) {
      throw new PythonTypeError(
        `a call must not have the argument '${name}'${at === -1 ? "" : " twice or by name"}`,
      );
    }
    bound[at] = value;
  }
  for (let at = 0; at < required; at++) {
    if (bound[at] === undefined) throw new PythonTypeError(`a call must have the argument '${names[at]}'`);
  }
  return bound;
}

/** Returns an argument as an integer that can be counted with. */
export function requireIndex(value: Value): number {
  const int = intOf(value);
  if (int !== undefined) return Number(int);
  if (value instanceof Undefined) value.fail();
  throw new PythonTypeError(`an argument must be an integer, not ${typeName(value)}`);
}
