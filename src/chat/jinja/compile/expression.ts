import { callValue, getAttribute, getItem } from "../values/attributes.ts";
import { isEqual, isOrdered } from "../values/compare.ts";
import { PythonTypeError, TemplateError } from "../jinja_errors.ts";
import { REGISTRY, UNSUPPORTED_FILTERS } from "../library/filters.ts";
import {
  type CallArguments,
  type CallNode,
  childrenOf,
  type CompareOperator,
  type Expression,
} from "../syntax/nodes.ts";
import { add, applyBinary, applySign, concat, makeDict } from "../values/operators.ts";
import { Run } from "../run.ts";
import { Frame, readPlace, type Scope } from "./scope.ts";
import { isIn, isTrue, iterate, sliceOf } from "../values/sequences.ts";
import { callStringMethod, isStringMethod, UNSUPPORTED_STRING_METHODS } from "../values/string_methods.ts";
import {
  type Args,
  Dict,
  NO_ARGS,
  NO_KEYWORDS,
  stringOf,
  Tuple,
  Undefined,
  type Value,
} from "../values/values.ts";

/** A compiled expression. */
export type Evaluate = (frame: Frame) => Value;

/** Compiles an expression to a function. */
export function compileExpression(node: Expression, scope: Scope): Evaluate {
  const compile = (child: Expression) => compileExpression(child, scope);
  switch (node.kind) {
    case "const": {
      const { value } = node;
      return () => value;
    }
    case "name":
      return compileName(node.name, scope);
    case "tuple":
    case "list":
      return compileItems(node.kind, node.items, scope);
    case "dict": {
      const pairs = node.pairs.map(([key, value]) => [compile(key), compile(value)] as const);
      return (frame) => makeDict(pairs.map(([key, value]) => [key(frame), value(frame)]));
    }
    case "concat": {
      const items = node.items.map(compile);
      return (frame) => concat(items.map((item) => item(frame)), frame.run);
    }
    case "attribute": {
      const object = compile(node.object);
      const { name } = node;
      return (frame) => getAttribute(object(frame), name);
    }
    case "item":
      return compileItem(node.object, node.index, scope);
    case "slice":
      return scope.fail("a slice must be the only index", node.at);
    case "conditional":
      return compileConditional(node, scope.conditional());
    case "and":
    case "or": {
      const truth = constantTruth(node.left, scope);
      // Jinja2 has computed the result by then, and compiles no part of the other side.
      if (truth === (node.kind === "or")) return compile(node.left);
      const [left, right] = [compile(node.left), compile(node.right)];
      const isAnd = node.kind === "and";
      return (frame) => {
        const value = left(frame);
        return isTrue(value) === isAnd ? right(frame) : value;
      };
    }
    case "not": {
      const value = compile(node.value);
      return (frame) => !isTrue(value(frame));
    }
    case "negative":
    case "positive": {
      const value = compile(node.value);
      const sign = node.kind === "negative" ? "-" : "+";
      return (frame) => applySign(sign, value(frame));
    }
    case "binary": {
      const { operator } = node;
      const [left, right] = [compile(node.left), compile(node.right)];
      if (operator === "+") return (frame) => add(left(frame), right(frame), frame.run);
      return (frame) => applyBinary(operator, left(frame), right(frame), frame.run);
    }
    case "compare":
      return compileCompare(node.first, node.rest, scope);
    case "call":
      return compileCall(node, scope);
    case "filter": {
      if (node.value === undefined) return scope.fail("a filter must have a value", node.at);
      return compileFilter(node, compile(node.value), scope);
    }
    case "test":
      return compileTest(node, scope);
    case "namespace_member":
      return scope.fail("a member of a namespace must be set by 'set'", node.at);
  }
}

/** Expressions that Jinja2 does not compute when it loads a template, even if all parts are known. */
const UNCOMPUTED: ReadonlySet<Expression["kind"]> = new Set(["name", "call", "namespace_member"] as const);
/** Filters that read the variables of a rendering. */
const CONTEXT_FILTERS: ReadonlySet<string> = new Set(
  ["map", "random", "reject", "rejectattr", "select", "selectattr"],
);

/** Results of {@linkcode constantTruth} for `and` and `or`, so that long chains take linear time. */
const TRUTHS = new WeakMap<Expression, boolean | undefined>();

/** Returns the truth of an expression that is known when a template is loaded; `undefined` for others. */
function constantTruth(node: Expression, scope: Scope): boolean | undefined {
  if (node.kind === "and" || node.kind === "or") {
    if (TRUTHS.has(node)) return TRUTHS.get(node);
    const left = constantTruth(node.left, scope);
    const isDecided = left === undefined || left === (node.kind === "or");
    const truth = isDecided ? left : constantTruth(node.right, scope);
    TRUTHS.set(node, truth);
    return truth;
  }
  if (node.kind === "conditional") {
    const test = constantTruth(node.test, scope);
    const chosen = test === true ? node.yes : test === false ? node.no : undefined;
    return chosen && constantTruth(chosen, scope);
  }
  if (!isConstant(node)) return undefined;
  const run = new Run({ marks: { start: "", end: "" }, now: () => new Date() });
  try {
    return isTrue(compileExpression(node, scope)(new Frame(run, new Map())));
  } catch (error) {
    if (error instanceof TemplateError) return undefined; // the error is raised when the expression is reached
    throw error;
  }
}

function isConstant(node: Expression): boolean {
  if (UNCOMPUTED.has(node.kind)) return false;
  if (node.kind === "conditional" && node.no === undefined) return false;
  if (node.kind === "filter" && (CONTEXT_FILTERS.has(node.name) || !REGISTRY.filters.has(node.name))) {
    return false;
  }
  if (node.kind === "test" && !REGISTRY.tests.has(node.name)) return false;
  return childrenOf(node).every(isConstant);
}

function compileName(name: string, scope: Scope): Evaluate {
  const place = scope.place(name);
  const missing = new Undefined(`'${name}' is undefined`);
  const { hops, slot } = place;
  return (frame) => {
    const value = hops === 0 ? frame.slots[slot] : readPlace(frame, place);
    return value === undefined ? missing : value;
  };
}

function compileItems(kind: "tuple" | "list", items: readonly Expression[], scope: Scope): Evaluate {
  const compiled = items.map((item) => compileExpression(item, scope));
  const isConstant = items.every((item) => item.kind === "const");
  const make = (values: readonly Value[]): Value => kind === "tuple" ? new Tuple(values) : values;
  if (isConstant) {
    const value = make(items.map((item) => item.kind === "const" ? item.value : null));
    return () => value;
  }
  return (frame) => make(compiled.map((item) => item(frame)));
}

function compileItem(objectNode: Expression, index: Expression, scope: Scope): Evaluate {
  const object = compileExpression(objectNode, scope);
  if (index.kind === "slice") {
    const bounds = index.bounds.map((bound) =>
      bound === undefined ? undefined : compileExpression(bound, scope)
    );
    return (frame) => sliceOf(object(frame), bounds.map((bound) => bound?.(frame)), frame.run);
  }
  const key = compileExpression(index, scope);
  return (frame) => getItem(object(frame), key(frame));
}

function compileConditional(node: Extract<Expression, { kind: "conditional" }>, scope: Scope): Evaluate {
  const test = compileExpression(node.test, scope);
  const yes = compileExpression(node.yes, scope);
  if (node.no !== undefined) {
    const no = compileExpression(node.no, scope);
    return (frame) => isTrue(test(frame)) ? yes(frame) : no(frame);
  }
  const missing = new Undefined("an inline 'if' without 'else' is false");
  return (frame) => isTrue(test(frame)) ? yes(frame) : missing;
}

function compareValues(a: Value, operator: CompareOperator, b: Value, run: Run): boolean {
  switch (operator) {
    case "==":
      return isEqual(a, b, run);
    case "!=":
      return !isEqual(a, b, run);
    case "in":
      return isIn(a, b, run);
    case "not in":
      return !isIn(a, b, run);
    default:
      return isOrdered(a, operator, b, run);
  }
}

/**
 * A chain such as `a < b < c` holds if each comparison holds; after a comparison that fails, the rest is not evaluated.
 */
function compileCompare(
  firstNode: Expression,
  rest: readonly { operator: CompareOperator; value: Expression }[],
  scope: Scope,
): Evaluate {
  const first = compileExpression(firstNode, scope);
  const others = rest.map(({ operator, value }) => ({ operator, value: compileExpression(value, scope) }));
  const [only] = others;
  if (only !== undefined && others.length === 1) {
    const { operator, value } = only;
    return (frame) => compareValues(first(frame), operator, value(frame), frame.run);
  }
  return (frame) => {
    let left = first(frame);
    for (const { operator, value } of others) {
      const right = value(frame);
      if (!compareValues(left, operator, right, frame.run)) return false;
      left = right;
    }
    return true;
  };
}

/** Compiles the arguments of a call, filter or test. */
export function compileArguments(node: CallArguments, scope: Scope): (frame: Frame) => Args {
  const args = node.args.map((arg) => compileExpression(arg, scope));
  const keywords = node.keywords.map(({ name, value }) => [name, compileExpression(value, scope)] as const);
  const rest = node.rest === undefined ? undefined : compileExpression(node.rest, scope);
  const keywordRest = node.keywordRest === undefined ? undefined : compileExpression(node.keywordRest, scope);
  if (rest === undefined && keywordRest === undefined && keywords.length === 0) {
    const [only] = args;
    if (only === undefined) return () => NO_ARGS;
    if (args.length === 1) return (frame) => ({ positional: [only(frame)], keywords: NO_KEYWORDS });
    return (frame) => ({ positional: args.map((arg) => arg(frame)), keywords: NO_KEYWORDS });
  }
  return (frame) => {
    const positional = args.map((arg) => arg(frame));
    const named = new Map(keywords.map(([name, value]) => [name, value(frame)]));
    if (rest !== undefined) { for (const item of iterate(rest(frame))) positional.push(item); }
    if (keywordRest !== undefined) addKeywords(named, keywordRest(frame));
    return { positional, keywords: named };
  };
}

function addKeywords(keywords: Map<string, Value>, mapping: Value): void {
  if (!(mapping instanceof Dict)) throw new PythonTypeError("what stands after '**' must be a mapping");
  for (const [key, value] of mapping.entries()) {
    const name = stringOf(key);
    if (name === undefined) throw new PythonTypeError("the keys of a mapping after '**' must be strings");
    if (keywords.has(name)) throw new PythonTypeError(`the argument '${name}' is given twice`);
    keywords.set(name, value);
  }
}

/** Compiles a call. `caller` gives the caller of a `call` block. */
export function compileCall(node: CallNode, scope: Scope, caller?: (frame: Frame) => Value): Evaluate {
  const { callee: target } = node;
  const args = compileArguments(node, scope);
  if (target.kind === "attribute" && caller === undefined) {
    const { name } = target;
    if (UNSUPPORTED_STRING_METHODS.includes(name)) {
      scope.fail(`the method '${name}' is not supported`, target.at);
    }
    const object = compileExpression(target.object, scope);
    const isString = isStringMethod(name);
    return (frame) => {
      const value = object(frame);
      if (isString && typeof value === "string") return callStringMethod(value, name, args(frame), frame.run);
      return callIn(frame.run, getAttribute(value, name), args(frame));
    };
  }
  const callee = compileExpression(target, scope);
  if (caller === undefined) return (frame) => callIn(frame.run, callee(frame), args(frame));
  return (frame) => {
    const value = callee(frame);
    const { positional, keywords } = args(frame);
    const named = [...keywords].slice(0, node.keywords.length);
    const others = [...keywords].slice(node.keywords.length);
    const all = new Map<string, Value>([...named, ["caller", caller(frame)], ...others]); // in the order of Jinja2
    return callIn(frame.run, value, { positional, keywords: all });
  };
}

function callIn(run: Run, callee: Value, args: Args): Value {
  run.step();
  return callValue(callee, args, run);
}

/** Compiles a filter over a value. */
export function compileFilter(
  node: Extract<Expression, { kind: "filter" }>,
  value: Evaluate,
  scope: Scope,
): Evaluate {
  const { name } = node;
  const args = compileArguments(node, scope);
  const reason = UNSUPPORTED_FILTERS.get(name);
  if (reason !== undefined) scope.fail(`the filter '${name}' is not supported, as ${reason}`, node.at);
  const apply = REGISTRY.filters.get(name);
  if (apply === undefined) return compileUnknown("filter", node, scope);
  return (frame) => apply(value(frame), args(frame), frame.run);
}

function compileTest(node: Extract<Expression, { kind: "test" }>, scope: Scope): Evaluate {
  const value = compileExpression(node.value, scope);
  const args = compileArguments(node, scope);
  const test = REGISTRY.tests.get(node.name);
  if (test === undefined) return compileUnknown("test", node, scope);
  return (frame) => test(value(frame), args(frame), frame.run);
}

/** As in Jinja2, an unknown name inside an `if` fails when the name is reached, since the condition may test the name. */
function compileUnknown(
  kind: "filter" | "test",
  { name, at }: { name: string; at: number },
  scope: Scope,
): Evaluate {
  if (!scope.isConditional) scope.fail(`the ${kind} '${name}' is unknown`, at);
  return () => {
    throw new TemplateError(`the ${kind} '${name}' is unknown`);
  };
}
