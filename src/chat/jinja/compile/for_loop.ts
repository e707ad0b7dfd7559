import { Loop } from "../library/loop.ts";
import type { Expression, ForNode } from "../syntax/nodes.ts";
import { isTrue, iteratorOf } from "../values/sequences.ts";
import { isList, Lazy, type Value } from "../values/values.ts";
import { compileExpression } from "./expression.ts";
import type { Frame, Scope } from "./scope.ts";
import type { CompileBody, Execute, Signal } from "./signal.ts";
import { findFreeNames, loopSymbols, walkNames } from "./symbols.ts";
import { compileTarget } from "./target.ts";

/** Compiles a loop. `compileBody` compiles what is inside. */
export function compileFor(node: ForNode, scope: Scope, compileBody: CompileBody): Execute {
  walkNames([node], ({ name, use, at }) => {
    if (name === "loop" && use !== "load") {
      scope.fail("the variable 'loop' must not be set inside a loop", at);
    }
  });
  const iterable = compileExpression(node.iterable, scope);
  const keep = node.test === undefined ? undefined : compileLoopTest(node, node.test, scope);
  if (!node.recursive) {
    const loop = compileLoop(node, scope.inner(), compileBody);
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
  const loop = compileLoop(node, inner, compileBody);
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

/** Values that a loop runs over. */
interface LoopInput {
  readonly items: Value;
  readonly depth0: number;
  readonly recurse: ((items: Value, depth0: number) => Value) | undefined;
}

/**
 * Compiles a loop. `else` runs if no iteration has come to the end, as in Jinja2: an iteration that `continue` ends does
 * not count.
 */
function compileLoop(
  node: ForNode,
  inner: Scope,
  compileBody: CompileBody,
): (frame: Frame, input: LoopInput) => Signal {
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

/** Compiles the `if` of a loop: a separate function, which gives the items that the loop keeps. */
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
