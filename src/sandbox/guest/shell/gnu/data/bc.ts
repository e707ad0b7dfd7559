import { type CommandContext, type GnuCommand, readInputs, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";
import {
  add,
  compare,
  type Decimal,
  decimalText,
  divide,
  fromInteger,
  isZero,
  multiply,
  negate,
  parseDecimal,
  power,
  remainder,
  squareRoot,
  toInteger,
  ZERO,
} from "./decimal.ts";
import { type Expression, parseProgram, type Statement, type Target } from "./bc_syntax.ts";
import { arctangent, bessel, cosine, exponential, logarithm, sine } from "./decimal_functions.ts";

/** `bc`: a calculator of any precision, with GNU's extensions. */
export const bc: GnuCommand = (args, context) => {
  const options = parseOptions(args, "l,mathlib:q,quiet:s,standard:w,warn:i,interactive");
  if (options.has("i")) throw new UsageError("-i: the sandbox has no terminal", { hasHint: false });
  const names = [...options.operands, "-"];
  const { inputs, failed } = readInputs(names, context);
  if (failed) return 1;
  const machine = new Calculator(context, options.has("l"));
  for (const { text } of inputs) if (!machine.run(text)) break;
  return 0;
};

const MAX_SCALE = 100_000;
const MAX_BASE = 16;
const MAX_POWER_BITS = 8_000_000n;
const MAX_CALLS = 500;
const LINE_WIDTH = 70;

/** A failed statement, after which the next line runs. */
class RuntimeError extends Error {}

type Signal = "break" | "continue" | "return" | "quit" | undefined;

type Arrays = Map<number, Decimal>;

class Calculator {
  readonly #context: CommandContext;
  readonly #hasLibrary: boolean;
  readonly #values = new Map<string, Decimal>();
  readonly #arrays = new Map<string, Arrays>();
  readonly #functions = new Map<string, Extract<Statement, { type: "define" }>>();
  #scale: number;
  #inputBase = 10;
  #outputBase = 10;
  #last: Decimal = ZERO;
  #returned: Decimal = ZERO;
  #calls = 0;
  #column = 0;

  constructor(context: CommandContext, hasLibrary: boolean) {
    this.#context = context;
    this.#hasLibrary = hasLibrary;
    this.#scale = hasLibrary ? 20 : 0;
  }

  /** Runs a program. Returns false if the program quits. */
  run(source: string): boolean {
    for (const piece of parseProgram(source)) {
      if (piece.type === "error") {
        this.#complain(`(standard_in) ${piece.line}: ${piece.message}`);
        continue;
      }
      try {
        if (piece.hasQuit) return false;
        for (const statement of piece.statements) {
          if (this.#execute(statement) === "quit") return false;
        }
      } catch (error) {
        if (!(error instanceof RuntimeError)) throw error;
        this.#complain(error.message);
        this.#calls = 0;
      }
    }
    return true;
  }

  #complain(message: string): void {
    this.#context.warn(message);
  }

  #execute(statement: Statement): Signal {
    this.#context.poll();
    switch (statement.type) {
      case "expression": {
        const value = this.#evaluate(statement.value);
        if (statement.isPrinted) {
          this.#print(`${this.#text(value)}\n`);
          this.#last = value;
        }
        return undefined;
      }
      case "string":
        this.#print(statement.text);
        return undefined;
      case "print":
        for (const item of statement.items) {
          if (typeof item === "string") this.#print(item);
          else {
            this.#last = this.#evaluate(item);
            this.#print(this.#text(this.#last));
          }
        }
        return undefined;
      case "block":
        for (const inner of statement.body) {
          const signal = this.#execute(inner);
          if (signal) return signal;
        }
        return undefined;
      case "if":
        if (!isZero(this.#evaluate(statement.condition))) return this.#execute(statement.then);
        return statement.otherwise ? this.#execute(statement.otherwise) : undefined;
      case "loop":
        return this.#loop(statement);
      case "define":
        this.#functions.set(statement.name, statement);
        return undefined;
      case "return":
        this.#returned = statement.value ? this.#evaluate(statement.value) : ZERO;
        return "return";
      case "signal":
        return statement.signal;
    }
  }

  #loop({ start, condition, step, body }: Extract<Statement, { type: "loop" }>): Signal {
    if (start) this.#evaluate(start);
    while (!condition || !isZero(this.#evaluate(condition))) {
      const signal = this.#execute(body);
      if (signal === "break") break;
      if (signal === "return" || signal === "quit") return signal;
      if (step) this.#evaluate(step);
    }
    return undefined;
  }

  #evaluate(node: Expression): Decimal {
    this.#context.poll();
    switch (node.type) {
      case "number":
        return parseDecimal(node.text, node.text.length === 1 && node.text !== "." ? 16 : this.#inputBase);
      case "target":
        return this.#read(node.target);
      case "negate":
        return negate(this.#evaluate(node.value));
      case "not":
        return isZero(this.#evaluate(node.value)) ? fromInteger(1n) : ZERO;
      case "logic": {
        const left = !isZero(this.#evaluate(node.left));
        const right = !isZero(this.#evaluate(node.right));
        return fromInteger((node.operator === "&&" ? left && right : left || right) ? 1n : 0n);
      }
      case "binary":
        return this.#evaluateChain(node);
      case "assign": {
        const value = this.#evaluate(node.value);
        const result = node.operator === ""
          ? value
          : this.#operate(node.operator, this.#read(node.target), value);
        this.#write(node.target, result);
        return this.#isSetting(node.target) ? this.#read(node.target) : result;
      }
      case "step": {
        const before = this.#read(node.target);
        const after = add(before, fromInteger(BigInt(node.by)));
        this.#write(node.target, after);
        return node.isPrefix ? after : before;
      }
      case "call":
        return this.#call(node.name, node.args);
    }
  }

  #operate(operator: string, left: Decimal, right: Decimal): Decimal {
    switch (operator) {
      case "+":
        return add(left, right);
      case "-":
        return add(left, negate(right));
      case "*":
        return multiply(left, right, this.#scale);
      case "/":
      case "%":
        if (isZero(right)) throw new RuntimeError("Runtime error: Divide by zero");
        return operator === "/" ? divide(left, right, this.#scale) : remainder(left, right, this.#scale);
      case "^": {
        const exponent = toInteger(right);
        if (isZero(left) && exponent < 0n) throw new RuntimeError("Runtime error: Divide by zero");
        const bits = BigInt(left.value.toString(16).length * 4) * (exponent < 0n ? -exponent : exponent);
        if (bits > MAX_POWER_BITS) {
          throw new RuntimeError("Runtime error: a power has more digits than the sandbox computes");
        }
        return power(left, exponent, this.#scale);
      }
      default: {
        const order = compare(left, right);
        const holds = operator === "<"
          ? order < 0
          : operator === "<="
          ? order <= 0
          : operator === ">"
          ? order > 0
          : operator === ">="
          ? order >= 0
          : operator === "=="
          ? order === 0
          : order !== 0;
        return fromInteger(holds ? 1n : 0n);
      }
    }
  }

  /** Evaluates operators from left to right. A chain such as `1+2+3` can be longer than the thread's stack is deep. */
  #evaluateChain(node: Extract<Expression, { type: "binary" | "logic" }>): Decimal {
    const chain = [node];
    let first: Expression = node.left;
    for (; first.type === "binary"; first = first.left) chain.push(first);
    let value = this.#evaluate(first);
    for (const { operator, right } of chain.toReversed()) {
      value = this.#operate(operator, value, this.#evaluate(right));
    }
    return value;
  }

  #isSetting({ name, index }: Target): boolean {
    return !index && (name === "scale" || name === "ibase" || name === "obase");
  }

  #read({ name, index }: Target): Decimal {
    if (index) return this.#array(name).get(this.#position(index)) ?? ZERO;
    if (name === "scale") return fromInteger(BigInt(this.#scale));
    if (name === "ibase") return fromInteger(BigInt(this.#inputBase));
    if (name === "obase") return fromInteger(BigInt(this.#outputBase));
    if (name === "last") return this.#last;
    return this.#values.get(name) ?? ZERO;
  }

  #write({ name, index }: Target, value: Decimal): void {
    if (index) this.#array(name).set(this.#position(index), value);
    else if (name === "scale") this.#scale = this.#setting(value, 0, MAX_SCALE);
    else if (name === "ibase") this.#inputBase = this.#setting(value, 2, MAX_BASE);
    else if (name === "obase") this.#outputBase = this.#setting(value, 2, Number.MAX_SAFE_INTEGER);
    else if (name === "last") this.#last = value;
    else this.#values.set(name, value);
  }

  #setting(value: Decimal, least: number, most: number): number {
    return Math.min(most, Math.max(least, Number(toInteger(value))));
  }

  #array(name: string): Arrays {
    const array = this.#arrays.get(name) ?? new Map<number, Decimal>();
    this.#arrays.set(name, array);
    return array;
  }

  #position(index: Expression): number {
    const position = toInteger(this.#evaluate(index));
    if (position < 0n || position > 16_777_215n) {
      throw new RuntimeError("Runtime error: Array index out of bounds");
    }
    return Number(position);
  }

  #call(name: string, args: readonly (Expression | { type: "array"; name: string })[]): Decimal {
    const value = (at = 0): Decimal => {
      const arg = args[at];
      return !arg || arg.type === "array" ? ZERO : this.#evaluate(arg);
    };
    if (name === "length") {
      const digits = value();
      const text = decimalText({ ...digits, value: digits.value < 0n ? -digits.value : digits.value }, 10);
      const shown = text.replace(/^0?\./, "").replace(".", "");
      return fromInteger(BigInt(Math.max(shown.length, digits.scale)));
    }
    if (name === "scale") return fromInteger(BigInt(value().scale));
    if (name === "sqrt") {
      const radicand = value();
      if (radicand.value < 0n) throw new RuntimeError("Runtime error: Square root of a negative number");
      return squareRoot(radicand, this.#scale);
    }
    if (name === "read") throw new RuntimeError("Runtime error: read() is not available in the sandbox");
    const defined = this.#functions.get(name);
    if (defined) return this.#callDefined(defined, args);
    const library = this.#hasLibrary ? LIBRARY[name] : undefined;
    if (library) return library(value(), this.#scale);
    if (this.#hasLibrary && name === "j") return bessel(toInteger(value(0)), value(1), this.#scale);
    throw new RuntimeError(`Runtime error: Function ${name} not defined.`);
  }

  #callDefined(
    { name, parameters, locals, body, isVoid }: Extract<Statement, { type: "define" }>,
    args: readonly (Expression | { type: "array"; name: string })[],
  ): Decimal {
    if (args.length !== parameters.length) throw new RuntimeError("Runtime error: Parameter number mismatch");
    if (this.#calls >= MAX_CALLS) {
      throw new RuntimeError(`Runtime error: more than ${MAX_CALLS} calls of ${name} and others at a time`);
    }
    const given = args.map((arg) =>
      arg.type === "array" ? new Map(this.#array(arg.name)) : this.#evaluate(arg)
    );
    const all = [...parameters, ...locals];
    const saved = all.map(({ name, isArray }) => isArray ? this.#arrays.get(name) : this.#values.get(name));
    all.forEach(({ name, isArray }, at) => {
      const value = at < given.length ? given[at] : undefined;
      if (isArray) this.#arrays.set(name, value instanceof Map ? value : new Map());
      else this.#values.set(name, value && !(value instanceof Map) ? value : ZERO);
    });
    const base = this.#inputBase;
    this.#calls++;
    this.#returned = ZERO;
    try {
      if (this.#execute(body) !== "return" || isVoid) this.#returned = ZERO;
    } finally {
      this.#calls--;
      this.#inputBase = base;
      all.forEach(({ name, isArray }, at) => {
        const value = saved[at];
        if (isArray) this.#arrays.set(name, value instanceof Map ? value : new Map());
        else this.#values.set(name, value && !(value instanceof Map) ? value : ZERO);
      });
    }
    const result = this.#returned;
    this.#returned = ZERO;
    return result;
  }

  #text(value: Decimal): string {
    return decimalText(value, this.#outputBase);
  }

  /** Prints text. Lines of numbers are broken as `bc` breaks them, with a backslash. */
  #print(text: string): void {
    const width = Number(this.#context.variables["BC_LINE_LENGTH"] ?? LINE_WIDTH);
    for (const character of text) {
      if (character === "\n") this.#column = 0;
      else if (width > 0 && this.#column >= width - 2) {
        this.#context.print("\\\n");
        this.#column = 1;
      } else this.#column++;
      this.#context.print(character);
    }
  }
}

const LIBRARY: Readonly<Record<string, (value: Decimal, scale: number) => Decimal>> = {
  s: sine,
  c: cosine,
  a: arctangent,
  l: logarithm,
  e: exponential,
};
