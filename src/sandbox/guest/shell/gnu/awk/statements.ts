import { formatValues } from "./format.ts";
import { type Code, type Frame, join, type ValueCode } from "./code.ts";
import {
  compileArray,
  compileExpression,
  compileKey,
  compilePattern,
  compileReference,
  redirect,
  type Reference,
  type Scope,
} from "./compile.ts";
import { orderOf } from "./order.ts";
import type { Runtime } from "./runtime.ts";
import type { Expression, Redirection, Statement, SwitchCase } from "./syntax.ts";
import { type AwkArray, compareValues, isTrue, toNumber, UserText, type Value } from "./values.ts";

/** How a statement ended that leaves the statements around it. */
export type Flow = "break" | "continue" | Returned | undefined;

/** The end of a function, with its value. */
export class Returned {
  readonly value: Value;

  constructor(value: Value) {
    this.value = value;
  }
}

/** Ends the work on a record, on a file, or the program. */
export class Leave extends Error {
  readonly what: "next" | "nextfile" | "exit";

  constructor(what: "next" | "nextfile" | "exit") {
    super(what);
    this.what = what;
  }
}

/** A compiled statement. */
export type StatementCode = Code<Flow>;

/** Compiles a statement. */
export function compileStatement(statement: Statement, scope: Scope): StatementCode {
  const compile = (part: Statement) => compileStatement(part, scope);
  const value = (part: Expression) => compileExpression(part, scope);
  switch (statement.kind) {
    case "block":
      return sequence(statement.statements.map(compile));
    case "expression":
      return join<[Value], Flow>([value(statement.value)], () => undefined);
    case "print":
    case "printf":
      return compilePrint(statement, scope);
    case "if":
      return compileIf(
        value(statement.condition),
        compile(statement.yes),
        statement.no && compile(statement.no),
      );
    case "while":
      return compileLoop(
        {
          condition: value(statement.condition),
          body: compile(statement.body),
          isFirstFree: statement.isFirstFree,
        },
        scope.runtime,
      );
    case "for": {
      const { start, condition, step, body } = statement;
      const loop = compileLoop({
        condition: condition ? value(condition) : ALWAYS,
        body: compile(body),
        step: step && compile(step),
        isFirstFree: false,
      }, scope.runtime);
      return start ? sequence([compile(start), loop]) : loop;
    }
    case "each":
      return compileEach(statement, scope);
    case "switch":
      return compileSwitch(value(statement.value), statement.cases, scope);
    case "delete":
      return compileDelete(statement, scope);
    case "break":
    case "continue": {
      const { kind } = statement;
      return { isAsync: false, run: () => kind };
    }
    case "next":
    case "nextfile": {
      const { kind } = statement;
      return {
        isAsync: false,
        run: () => {
          throw new Leave(kind);
        },
      };
    }
    case "exit": {
      const { runtime } = scope;
      const code = statement.value;
      return join<[Value], Flow>([code ? value(code) : NOTHING], ([given]) => {
        if (code) runtime.exitCode = Math.trunc(toNumber(given)) & 255;
        throw new Leave("exit");
      });
    }
    case "return":
      return join<[Value], Flow>(
        [statement.value ? value(statement.value) : NOTHING],
        ([result]) => new Returned(result),
      );
  }
}

const ALWAYS: ValueCode = { isAsync: false, run: () => 1 };
const NOTHING: ValueCode = { isAsync: false, run: () => undefined };

function sequence(statements: readonly StatementCode[]): StatementCode {
  const [first, ...more] = statements;
  if (first && more.length === 0) return first;
  if (!statements.some(({ isAsync }) => isAsync)) {
    return {
      isAsync: false,
      run(frame) {
        for (const { run } of statements) {
          const flow = run(frame);
          if (flow !== undefined) return flow;
        }
        return undefined;
      },
    };
  }
  return {
    isAsync: true,
    async run(frame) {
      for (const { run } of statements) {
        const flow = await run(frame);
        if (flow !== undefined) return flow;
      }
      return undefined;
    },
  };
}

function compileIf(condition: ValueCode, yes: StatementCode, no: StatementCode | undefined): StatementCode {
  if (!condition.isAsync && !yes.isAsync && !no?.isAsync) {
    return {
      isAsync: false,
      run: (frame) => isTrue(condition.run(frame) as Value) ? yes.run(frame) : no?.run(frame),
    };
  }
  return {
    isAsync: true,
    run: async (frame) => isTrue(await condition.run(frame)) ? await yes.run(frame) : await no?.run(frame),
  };
}

interface Loop {
  readonly condition: ValueCode;
  readonly body: StatementCode;
  readonly step?: StatementCode | undefined;
  readonly isFirstFree: boolean;
}

/** A loop waits now and then, since the time limit of its process runs while it waits. */
function compileLoop({ condition, body, step, isFirstFree }: Loop, runtime: Runtime): StatementCode {
  return {
    isAsync: true,
    async run(frame) {
      for (let isFree = isFirstFree;; isFree = false) {
        if (runtime.step()) await undefined;
        if (!isFree) {
          const holds = condition.run(frame);
          if (!isTrue(holds instanceof Promise ? await holds : holds)) return undefined;
        }
        const result = body.run(frame);
        const flow = result instanceof Promise ? await result : result;
        if (flow === "break") return undefined;
        if (flow !== undefined && flow !== "continue") return flow;
        const stepped = step?.run(frame);
        if (stepped instanceof Promise) await stepped;
      }
    },
  };
}

function compileEach(
  { place, array, body: statement }: Extract<Statement, { kind: "each" }>,
  scope: Scope,
): StatementCode {
  const { runtime } = scope;
  const target = compileReference(place, scope);
  const body = compileStatement(statement, scope);
  const keys = join<[AwkArray], string[]>([compileArray(array, scope)], ([found]) => {
    return orderOf(found, runtime.text(runtime.global("PROCINFO").array.get("sorted_in")));
  });
  if (!target.isAsync && !body.isAsync && !keys.isAsync) {
    return {
      isAsync: false,
      run(frame) {
        for (const key of keys.run(frame) as string[]) {
          runtime.step();
          (target.run(frame) as Reference).value = new UserText(key);
          const flow = body.run(frame);
          if (flow === "break") return undefined;
          if (flow !== undefined && flow !== "continue") return flow;
        }
        return undefined;
      },
    };
  }
  return {
    isAsync: true,
    async run(frame) {
      for (const key of await keys.run(frame)) {
        runtime.step();
        (await target.run(frame)).value = new UserText(key);
        const flow = await body.run(frame);
        if (flow === "break") return undefined;
        if (flow !== undefined && flow !== "continue") return flow;
      }
      return undefined;
    },
  };
}

function compileSwitch(value: ValueCode, cases: readonly SwitchCase[], scope: Scope): StatementCode {
  const { runtime } = scope;
  const bodies = cases.map(({ body }) =>
    sequence(body.map((statement) => compileStatement(statement, scope)))
  );
  const labels = cases.map(({ value: label }): (value: Value, frame: Frame) => boolean => {
    if (label === undefined) return () => false;
    if (label.kind === "regex") {
      const pattern = compilePattern(label, scope);
      return (given, frame) => {
        const expression = pattern.run(frame) as RegExp;
        expression.lastIndex = 0;
        return expression.test(runtime.text(given));
      };
    }
    const constant = compileExpression(label, scope);
    return (given, frame) => compareValues(given, constant.run(frame) as Value, runtime.convert) === 0;
  });
  const fallback = cases.findIndex(({ value: label }) => label === undefined);
  return join<[Value], Flow>([value], async ([given], frame) => {
    const found = labels.findIndex((matches) => matches(given, frame));
    const start = found < 0 ? fallback : found;
    if (start < 0) return undefined;
    for (const { run } of bodies.slice(start)) {
      const flow = await run(frame);
      if (flow === "break") return undefined;
      if (flow !== undefined) return flow;
    }
    return undefined;
  }, { isAsync: true });
}

function compileDelete(
  { array, keys }: Extract<Statement, { kind: "delete" }>,
  scope: Scope,
): StatementCode {
  const found = compileArray(array, scope);
  if (keys === undefined) return join<[AwkArray], Flow>([found], ([all]) => void all.clear());
  const key = compileKey(keys.map((part) => compileExpression(part, scope)), scope.runtime);
  return join<[AwkArray, string], Flow>([found, key], ([all, name]) => void all.delete(name));
}

function compilePrint(
  { kind, items, to }: Extract<Statement, { kind: "print" | "printf" }>,
  scope: Scope,
): StatementCode {
  const { runtime } = scope;
  const values = items.map((item) => compileExpression(item, scope));
  const text = join<Value[], string>(values, (printed) => {
    if (kind === "printf") {
      const [format, ...rest] = printed;
      return formatValues(runtime.text(format), rest, runtime.convert);
    }
    const shown = printed.length === 0
      ? runtime.record.whole.text
      : printed.map((value) => runtime.shown(value)).join(runtime.setting("OFS"));
    return shown + runtime.setting("ORS");
  });
  if (to === undefined) return join<[string], Flow>([text], ([shown]) => void runtime.streams.print(shown));
  return compileRedirected(text, to, scope);
}

function compileRedirected(text: Code<string>, { kind, target }: Redirection, scope: Scope): StatementCode {
  const { runtime } = scope;
  return join<[string, Value], Flow>([text, compileExpression(target, scope)], ([shown, given]) => {
    const name = runtime.text(given);
    redirect(name, () => runtime.streams.write(kind, name, shown));
  });
}
