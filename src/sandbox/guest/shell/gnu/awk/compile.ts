import { UsageError } from "../command.ts";
import { type Code, type Frame, join, plain, type ValueCode } from "./code.ts";
import { ARITHMETIC, compileBinary, compileChoice, compileLogic, TRUE_FALSE } from "./operators.ts";
import { redirectionFailure, type Runtime } from "./runtime.ts";
import type { RecordReader } from "./records.ts";
import {
  type ArrayName,
  AwkFailure,
  type Expression,
  type FunctionDefinition,
  type Place,
} from "./syntax.ts";
import { type AwkArray, Cell, isTrue, toNumber, UserText, type Value } from "./values.ts";

/** What the compilation of a function or rule knows. */
export interface Scope {
  readonly runtime: Runtime;
  readonly locals: ReadonlyMap<string, number>;
  /** Compiled functions, and which of them may run a command. */
  readonly functions: ReadonlyMap<string, CompiledFunction>;
  /** Compiles the call of a builtin function. */
  readonly compileBuiltin: (name: string, args: readonly Expression[], scope: Scope) => ValueCode;
}

/** A function of the program. Its body is compiled when all functions are known. */
export interface CompiledFunction {
  readonly definition: FunctionDefinition;
  readonly isAsync: boolean;
  call(args: Cell[]): Value | Promise<Value>;
}

/** Compiles an expression. */
export function compileExpression(expression: Expression, scope: Scope): ValueCode {
  const { runtime } = scope;
  const compile = (part: Expression) => compileExpression(part, scope);
  switch (expression.kind) {
    case "number":
    case "text": {
      const { value } = expression;
      return plain(() => value);
    }
    case "regex":
      return compileMatch(plain(() => runtime.record.whole), expression, scope);
    case "group":
      return compile(expression.inner);
    case "list":
      return join(expression.items.map(compile), (values) => keyOf(values, runtime));
    case "name":
    case "field":
    case "element":
      return compileRead(expression, scope);
    case "unary": {
      const { operator } = expression;
      return join<[Value], Value>([compile(expression.operand)], ([value]) => {
        if (operator === "!") return isTrue(value) ? 0 : 1;
        return operator === "-" ? -toNumber(value) : toNumber(value);
      });
    }
    case "binary":
      return compileBinary(expression.operator, compile(expression.left), compile(expression.right), runtime);
    case "match": {
      const matched = compileMatch(compile(expression.text), expression.pattern, scope);
      return expression.isNegated
        ? join<[Value], Value>([matched], ([value]) => isTrue(value) ? 0 : 1)
        : matched;
    }
    case "and":
    case "or":
      return compileLogic(expression.kind, compile(expression.left), compile(expression.right));
    case "choice":
      return compileChoice(compile(expression.condition), compile(expression.yes), compile(expression.no));
    case "in": {
      const keys = expression.keys.map(compile);
      return join<[string, AwkArray], Value>(
        [compileKey(keys, runtime), compileArray(expression.array, scope)],
        ([key, array]) => array.has(key) ? 1 : 0,
      );
    }
    case "step":
      return compileUpdate(expression.place, plain(() => expression.by), scope, {
        update: (old, by) => toNumber(old) + toNumber(by),
        isOld: !expression.isPrefix,
      });
    case "assign":
      return compileAssignment(expression, scope);
    case "call":
      return compileCall(expression, scope);
    case "builtin":
      return scope.compileBuiltin(expression.name, expression.args, scope);
    case "getline":
      return compileGetline(expression, scope);
  }
}

/** Compiles the regular expression that an operand is: a constant, or text. */
export function compilePattern(pattern: Expression, scope: Scope): Code<RegExp> {
  const { runtime } = scope;
  if (pattern.kind === "regex") {
    const { source } = pattern;
    requireExpression(source, runtime);
    return { isAsync: false, run: () => runtime.compile(source) };
  }
  return join<[Value], RegExp>(
    [compileExpression(pattern, scope)],
    ([value]) => runtime.compile(runtime.text(value)),
  );
}

/** A wrong constant ends the program before it starts, with exit code 1. */
function requireExpression(source: string, runtime: Runtime): void {
  try {
    runtime.compile(source);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message, { exitCode: 1, hasHint: false });
  }
}

function compileMatch(text: ValueCode, pattern: Expression, scope: Scope): ValueCode {
  const { runtime } = scope;
  return join<[Value, RegExp], Value>([text, compilePattern(pattern, scope)], ([value, expression]) => {
    expression.lastIndex = 0;
    return TRUE_FALSE(expression.test(runtime.text(value)));
  });
}

function cellOf(name: string, { runtime, locals }: Scope): (frame: Frame) => Cell {
  const index = locals.get(name);
  if (index !== undefined) return (frame) => frame[index] as Cell;
  const cell = runtime.global(name);
  return () => cell;
}

function scalarOf(cell: Cell, name: string): Value {
  if (cell.isArray) throw new AwkFailure(`attempt to use array \`${name}' in a scalar context`);
  return cell.value;
}

function compileRead(place: Place, scope: Scope): ValueCode {
  const { runtime } = scope;
  if (place.kind === "name") {
    const cell = cellOf(place.name, scope);
    return plain((frame) => scalarOf(cell(frame), place.name));
  }
  if (place.kind === "field") {
    return join<[Value], Value>([compileExpression(place.index, scope)], ([index]) => {
      return runtime.record.field(fieldIndex(index));
    });
  }
  return join<[Cell], Value>([compileCell(place, scope)], ([cell]) => scalarOf(cell, "element"));
}

function fieldIndex(value: Value): number {
  const index = Math.trunc(toNumber(value));
  if (index < 0) throw new AwkFailure(`attempt to access field ${index}`);
  return index;
}

/** Compiles the key of an element: its parts joined by `SUBSEP`. */
export function compileKey(keys: readonly ValueCode[], runtime: Runtime): Code<string> {
  const [only] = keys;
  if (only && keys.length === 1) return join<[Value], string>([only], ([value]) => runtime.text(value));
  return join<Value[], string>(keys as ValueCode[], (values) => keyOf(values, runtime));
}

function keyOf(values: readonly Value[], runtime: Runtime): string {
  return values.map((value) => runtime.text(value)).join(runtime.setting("SUBSEP"));
}

/** Compiles the cell of a variable or of an element. */
export function compileCell(name: ArrayName, scope: Scope): Code<Cell> {
  if (name.kind === "name") return { isAsync: false, run: cellOf(name.name, scope) };
  const keys = name.keys.map((key) => compileExpression(key, scope));
  return join<[AwkArray, string], Cell>(
    [compileArray(name.array, scope), compileKey(keys, scope.runtime)],
    ([array, key]) => array.cell(key),
  );
}

/** Compiles the array of a variable or of an element. */
export function compileArray(name: ArrayName, scope: Scope): Code<AwkArray> {
  const shown = name.kind === "name" ? name.name : "element";
  return join<[Cell], AwkArray>([compileCell(name, scope)], ([cell]) => {
    if (!cell.isArray && cell.value !== undefined) {
      throw new AwkFailure(`attempt to use scalar \`${shown}' as an array`);
    }
    return cell.array;
  });
}

/** A place of the program that was looked up once. */
export interface Reference {
  value: Value;
}

class FieldReference implements Reference {
  readonly #runtime: Runtime;
  readonly #index: number;

  constructor(runtime: Runtime, index: number) {
    this.#runtime = runtime;
    this.#index = index;
  }

  get value(): Value {
    return this.#runtime.record.field(this.#index);
  }

  set value(value: Value) {
    if (this.#index === 0) this.#runtime.record.text = this.#runtime.text(value);
    else this.#runtime.record.setField(this.#index, value ?? "");
  }
}

/** The variable that splits fields. Fields of the present record are split before it changes. */
class SplitterReference implements Reference {
  readonly #runtime: Runtime;
  readonly #name: "FIELDWIDTHS" | "FPAT" | "FS";

  constructor(runtime: Runtime, name: "FIELDWIDTHS" | "FPAT" | "FS") {
    this.#runtime = runtime;
    this.#name = name;
  }

  get value(): Value {
    return this.#runtime.global(this.#name).value;
  }

  set value(value: Value) {
    this.#runtime.record.settle();
    this.#runtime.global(this.#name).value = value;
    this.#runtime.noteSplitter(this.#name);
  }
}

/** Compiles a place that is read or set. */
export function compileReference(place: Place, scope: Scope): Code<Reference> {
  const { runtime } = scope;
  if (place.kind === "field") {
    return join<[Value], Reference>([compileExpression(place.index, scope)], ([index]) => {
      return new FieldReference(runtime, fieldIndex(index));
    });
  }
  if (place.kind === "name" && !scope.locals.has(place.name)) {
    const splitter = SPLITTERS[place.name];
    if (splitter !== undefined) {
      return {
        isAsync: false,
        run: () => new SplitterReference(runtime, splitter),
      };
    }
  }
  const shown = place.kind === "name" ? place.name : "element";
  return join<[Cell], Reference>([compileCell(place, scope)], ([cell]) => {
    scalarOf(cell, shown);
    return cell;
  });
}

const SPLITTERS: Readonly<Record<string, "FIELDWIDTHS" | "FPAT" | "FS">> = {
  FIELDWIDTHS: "FIELDWIDTHS",
  FPAT: "FPAT",
  FS: "FS",
};

function compileUpdate(
  place: Place,
  operand: ValueCode,
  scope: Scope,
  { update, isOld = false }: { update: (old: Value, operand: Value) => Value; isOld?: boolean },
): ValueCode {
  return join<[Reference, Value], Value>(
    [compileReference(place, scope), operand],
    ([reference, by]) => {
      const old = reference.value;
      const value = update(old, by);
      reference.value = value;
      return isOld ? toNumber(old) : value;
    },
  );
}

function compileAssignment(
  { operator, place, value }: Extract<Expression, { kind: "assign" }>,
  scope: Scope,
): ValueCode {
  const code = compileExpression(value, scope);
  if (operator === "=") {
    return join<[Value, Reference], Value>(
      [code, compileReference(place, scope)],
      ([assigned, reference]) => {
        return reference.value = assigned;
      },
    );
  }
  const calculate = ARITHMETIC[operator === "**=" ? "^" : operator.slice(0, -1)];
  if (!calculate) throw new Error(`operator ${operator}`);
  return compileUpdate(place, code, scope, { update: (old, by) => calculate(toNumber(old), toNumber(by)) });
}

const MAX_CALLS = 2_000;

function compileCall({ name, args }: Extract<Expression, { kind: "call" }>, scope: Scope): ValueCode {
  const found = scope.functions.get(name) as CompiledFunction;
  const { parameters } = found.definition;
  if (args.length > parameters.length) {
    throw new AwkFailure(`function \`${name}' called with more arguments than declared`);
  }
  const cells = args.map((arg): Code<Cell> => {
    if (arg.kind === "name" || arg.kind === "element") {
      return join<[Cell], Cell>([compileCell(arg, scope)], ([cell]) => {
        return new Cell(cell.isArray ? undefined : cell.value, cell);
      });
    }
    return join<[Value], Cell>([compileExpression(arg, scope)], ([value]) => new Cell(value));
  });
  const { runtime } = scope;
  return join<Cell[], Value>(cells, (passed) => {
    const locals = parameters.map((_, index) => passed[index] ?? new Cell());
    if (++runtime.depth > MAX_CALLS) {
      throw new AwkFailure(
        `more than ${MAX_CALLS} calls inside of each other are not available in the sandbox`,
      );
    }
    const finish = (result: Value) => {
      runtime.depth--;
      return result;
    };
    const call = () => {
      const result = found.call(locals);
      return result instanceof Promise ? result.then(finish) : finish(result);
    };
    return found.isAsync && runtime.step() ? Promise.resolve().then(call) : call();
  }, { isAsync: found.isAsync });
}

function compileGetline(
  { from, source, place }: Extract<Expression, { kind: "getline" }>,
  scope: Scope,
): ValueCode {
  const { runtime } = scope;
  type Store = Reference | undefined;
  const store: Code<Store> = place
    ? compileReference(place, scope)
    : { isAsync: false, run: () => undefined };
  const take = (text: string | undefined, set: Store): Value => {
    if (text === undefined) return 0;
    if (from === "input") runtime.count();
    if (set) set.value = new UserText(text);
    else runtime.record.text = text;
    return 1;
  };
  if (from === "input") {
    return join<[Store], Value>([store], ([set]) => take(readMain(runtime), set));
  }
  const name = compileExpression(source as Expression, scope);
  const read = (reader: RecordReader, set: Store) => take(runtime.read(reader), set);
  if (from === "file") {
    return join<[Value, Store], Value>([name, store], ([value, set]) => {
      const reader = runtime.streams.file(runtime.text(value));
      if (typeof reader !== "string") return read(reader, set);
      runtime.global("ERRNO").value = reader;
      return -1;
    });
  }
  return join<[Value, Store], Value>([name, store], async ([value, set]) => {
    const command = runtime.text(value);
    const { streams } = runtime;
    return read(await (from === "command" ? streams.command(command) : streams.coprocess(command)), set);
  }, { isAsync: true });
}

/** Reads the next record of the command line's files; `undefined` at the end. */
export function readMain(runtime: Runtime): string | undefined {
  for (;;) {
    const file = runtime.file ?? runtime.nextFile();
    if (!file) return undefined;
    const text = runtime.read(file.reader);
    if (text !== undefined) return text;
    if (!runtime.nextFile()) return undefined;
  }
}

/** Runs `write`. A failure is a failure of the redirection. */
export function redirect(name: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw redirectionFailure(name, error);
  }
}
