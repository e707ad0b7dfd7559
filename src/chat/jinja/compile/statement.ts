import { compileCall, compileExpression, compileFilter, type Evaluate } from "./expression.ts";
import { PythonTypeError, PythonValueError, TemplateError } from "../errors.ts";
import { setMember } from "../library/globals.ts";
import { compileMacro } from "./macro.ts";
import { Loop } from "../library/loop.ts";
import type {
  Body,
  CallBlockNode,
  Expression,
  FilterNode,
  ForNode,
  IfNode,
  Statement,
} from "../syntax/nodes.ts";
import { type Frame, readPlace, type Scope } from "./scope.ts";
import { isTrue, iterate, iteratorOf } from "../values/sequences.ts";
import { strOf } from "../values/text.ts";
import { findFreeNames, loopSymbols, walkNames } from "./symbols.ts";
import { isList, Lazy, Namespace, NO_ARGS, stringOf, typeName, type Value } from "../values/values.ts";

/** How a statement ends: as usual, or by leaving the loop or its iteration. */
export type Signal = "next" | "break" | "continue";

/** A compiled statement. */
export type Execute = (frame: Frame) => Signal;

/** Compiles the statements of a scope, whose symbols have been read. */
export function compileBody(body: Body, scope: Scope): Execute {
  const statements = body.map((node) => compileStatement(node, scope));
  const [only] = statements;
  if (only !== undefined && statements.length === 1) return only;
  return (frame) => {
    for (const execute of statements) {
      const signal = execute(frame);
      if (signal !== "next") return signal;
    }
    return "next";
  };
}

function compileStatement(node: Statement, scope: Scope): Execute {
  switch (node.kind) {
    case "data": {
      const { text } = node;
      return ({ run }) => {
        run.write(text);
        return "next";
      };
    }
    case "print": {
      const value = compileExpression(node.value, scope);
      return (frame) => {
        frame.run.write(strOf(value(frame), frame.run));
        return "next";
      };
    }
    case "if":
      return compileIf(node, scope.conditional());
    case "for":
      return compileFor(node, scope);
    case "set":
      return compileSet(node.target, node.value, scope);
    case "set_block":
      return compileSetBlock(node, scope);
    case "macro": {
      const macro = compileMacro(node, scope, compileBody);
      const { slot } = scope.place(node.name);
      return (frame) => {
        frame.slots[slot] = macro(frame);
        return "next";
      };
    }
    case "call_block":
      return compileCallBlock(node, scope);
    case "filter_block":
      return compileFilterBlock(node.filter, node.body, scope);
    case "with":
      return compileWith(node, scope);
    case "break":
    case "continue":
      return () => node.kind;
  }
}

function compileIf({ branches, otherwise }: IfNode, scope: Scope): Execute {
  const compiled = branches.map(({ test, body }) => ({
    test: compileExpression(test, scope),
    body: compileBody(body, scope),
  }));
  const last = compileBody(otherwise, scope);
  return (frame) => {
    for (const { test, body } of compiled) if (isTrue(test(frame))) return body(frame);
    return last(frame);
  };
}

/** Compiles what assigns a value to a name, a member of a namespace, or the parts of a tuple. */
function compileTarget(node: Expression, scope: Scope): (frame: Frame, value: Value) => void {
  if (node.kind === "name") {
    const { slot } = scope.place(node.name); // a name that a scope sets belongs to its function
    return (frame, value) => frame.slots[slot] = value;
  }
  if (node.kind === "namespace_member") {
    const place = scope.place(node.name);
    return (frame, value) => setMember(requireNamespace(readPlace(frame, place)), node.member, value);
  }
  if (node.kind !== "tuple") return scope.fail("cannot assign to an expression", node.at);
  const targets = node.items.map((item) => compileTarget(item, scope));
  return (frame, value) => {
    const items = isList(value) ? value : [...iterate(value)];
    if (items.length !== targets.length) {
      throw new PythonValueError(
        `a value must have ${targets.length} parts to be assigned: found ${items.length}`,
      );
    }
    for (const [at, target] of targets.entries()) target(frame, items[at] as Value);
  };
}

function requireNamespace(value: Value | undefined): Namespace {
  if (value instanceof Namespace) return value;
  throw new TemplateError("a member must be set of a namespace, which 'namespace()' makes");
}

function compileSet(target: Expression, value: Expression, scope: Scope): Execute {
  const assign = compileTarget(target, scope);
  const evaluate = compileExpression(value, scope);
  return (frame) => {
    assign(frame, evaluate(frame));
    return "next";
  };
}

/** Runs a body and returns what it writes, or the signal by which it leaves a loop. */
function capture(frame: Frame, body: Execute): string | { signal: Signal } {
  let signal: Signal = "next";
  const text = frame.run.capture(() => {
    signal = body(frame);
  });
  return signal === "next" ? text : { signal };
}

function compileSetBlock(node: Extract<Statement, { kind: "set_block" }>, scope: Scope): Execute {
  const inner = scope.inner();
  inner.symbols.readBody(node.body);
  const enter = inner.enter();
  const body = compileBody(node.body, inner);
  const assign = compileTarget(node.target, scope);
  const filter = node.filter === undefined ? undefined : compileBlockFilter(node.filter, inner);
  return (frame) => {
    enter(frame);
    const text = capture(frame, body);
    if (typeof text !== "string") return text.signal;
    assign(frame, filter === undefined ? text : filter(frame, text));
    return "next";
  };
}

/** Compiles the filters of a block, the innermost of which reads the text of the block. */
function compileBlockFilter(node: FilterNode, scope: Scope): (frame: Frame, text: string) => Value {
  let text = "";
  const read: Evaluate = () => text;
  const compile = (node: FilterNode): Evaluate =>
    compileFilter(node, node.value === undefined ? read : compile(node.value as FilterNode), scope);
  const evaluate = compile(node);
  return (frame, captured) => {
    text = captured;
    return evaluate(frame);
  };
}

function compileFilterBlock(filterNode: FilterNode, bodyNode: Body, scope: Scope): Execute {
  const inner = scope.inner();
  inner.symbols.readBody(bodyNode).readExpression(filterNode);
  const enter = inner.enter();
  const body = compileBody(bodyNode, inner);
  const filter = compileBlockFilter(filterNode, inner);
  return (frame) => {
    enter(frame);
    const text = capture(frame, body);
    if (typeof text !== "string") return text.signal;
    frame.run.write(requireText(filter(frame, text)));
    return "next";
  };
}

function requireText(value: Value): string {
  const text = stringOf(value);
  if (text === undefined) throw new PythonTypeError(`a block must give a string, not ${typeName(value)}`);
  return text;
}

function compileWith(node: Extract<Statement, { kind: "with" }>, scope: Scope): Execute {
  const inner = scope.inner();
  for (const target of node.targets) inner.symbols.readExpression(target);
  inner.symbols.readBody(node.body);
  const enter = inner.enter();
  const assignments = node.targets.map((target, at) => ({
    assign: compileTarget(target, inner),
    value: compileExpression(node.values[at] as Expression, scope),
  }));
  const body = compileBody(node.body, inner);
  return (frame) => {
    enter(frame);
    for (const { assign, value } of assignments) assign(frame, value(frame));
    return body(frame);
  };
}

/** A `call` block gives its body to a macro as `caller`; a `generation` block writes its body between the marks. */
function compileCallBlock(node: CallBlockNode, scope: Scope): Execute {
  const caller = compileMacro(node, scope, compileBody);
  if (node.call === undefined) {
    return (frame) => {
      const { run } = frame;
      const { start, end } = run.options.marks;
      const text = caller(frame).call(run, NO_ARGS);
      run.write(`${start}${requireText(text)}${end}`);
      return "next";
    };
  }
  const call = compileCall(node.call, scope, caller);
  return (frame) => {
    frame.run.write(requireText(call(frame)));
    return "next";
  };
}

function compileFor(node: ForNode, scope: Scope): Execute {
  walkNames([node], ({ name, use, at }) => {
    if (name === "loop" && use !== "load") {
      scope.fail("the variable 'loop' must not be set inside a loop", at);
    }
  });
  const iterable = compileExpression(node.iterable, scope);
  const keep = node.test === undefined ? undefined : compileLoopTest(node, node.test, scope);
  if (!node.recursive) {
    const loop = compileLoop(node, scope.inner());
    return (frame) => {
      const items = iterable(frame);
      return loop(frame, {
        items: keep === undefined ? items : keep(frame, items),
        depth0: 0,
        recurse: undefined,
      });
    };
  }
  const inner = scope.function();
  const loop = compileLoop(node, inner);
  const render = (outer: Frame, items: Value, depth0: number): string =>
    outer.run.nest(() =>
      outer.run.capture(() => {
        const kept = keep === undefined ? items : keep(outer, items);
        const recurse = (items: Value, depth0: number) => render(outer, items, depth0);
        loop(outer.inner(), { items: kept, depth0, recurse });
      })
    );
  return (frame) => {
    frame.run.write(render(frame, iterable(frame), 0));
    return "next";
  };
}

/** What a loop runs over. */
interface LoopInput {
  readonly items: Value;
  readonly depth0: number;
  readonly recurse: ((items: Value, depth0: number) => Value) | undefined;
}

/** Compiles a loop. `else` runs if no iteration has come to its end, as in Jinja2: one that `continue` ends does not count. */
function compileLoop(node: ForNode, inner: Scope): (frame: Frame, input: LoopInput) => Signal {
  const usesLoop = node.recursive || findFreeNames(node.body, ["loop"]).has("loop");
  const loopSlot = usesLoop ? inner.parameter("loop") : undefined;
  const elseScope = inner.sibling();
  loopSymbols(node, "body", inner.symbols);
  loopSymbols(node, "else", elseScope.symbols);
  const enter = inner.enter();
  const assign = compileTarget(node.target, inner);
  const body = compileBody(node.body, inner);
  const enterElse = elseScope.enter();
  const otherwise = compileBody(node.otherwise, elseScope);
  return (frame, input) => {
    const { run } = frame;
    let isCompleted = false;
    const iterateOnce = (item: Value): Signal => {
      run.step();
      assign(frame, item);
      enter(frame);
      const signal = body(frame);
      if (signal === "next") isCompleted = true;
      return signal;
    };
    if (loopSlot !== undefined) {
      const loop = new Loop(input.items, { run, ...input });
      for (let item = loop.next(); item !== undefined; item = loop.next()) {
        frame.slots[loopSlot] = loop;
        if (iterateOnce(item) === "break") break;
      }
    } else if (isList(input.items)) {
      for (const item of input.items) if (iterateOnce(item) === "break") break;
    } else {
      const iterator = iteratorOf(input.items); // a generator goes on after a loop that 'break' leaves
      for (let next = iterator.next(); !next.done; next = iterator.next()) {
        if (iterateOnce(next.value) === "break") break;
      }
    }
    if (isCompleted) return "next";
    enterElse(frame);
    return otherwise(frame);
  };
}

/** Compiles the `if` of a loop. It is a function of its own, which gives the items that the loop keeps. */
function compileLoopTest(
  node: ForNode,
  testNode: Expression,
  scope: Scope,
): (frame: Frame, items: Value) => Lazy {
  const inner = scope.function();
  loopSymbols(node, "test", inner.symbols);
  const enter = inner.enter();
  const assign = compileTarget(node.target, inner);
  const test = compileExpression(testNode, inner);
  function* keep(outer: Frame, items: Value): Generator<Value> {
    const frame = outer.inner();
    enter(frame);
    const iterator = iteratorOf(items);
    for (let next = iterator.next(); !next.done; next = iterator.next()) {
      outer.run.step();
      assign(frame, next.value);
      if (isTrue(test(frame))) yield next.value;
    }
  }
  return (frame, items) => new Lazy(keep(frame, items));
}
