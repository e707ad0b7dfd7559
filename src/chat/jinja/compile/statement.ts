import { PythonTypeError } from "../jinja_errors.ts";
import type { Body, CallBlockNode, Expression, FilterNode, IfNode, Statement } from "../syntax/nodes.ts";
import { isTrue } from "../values/sequences.ts";
import { strOf } from "../values/text.ts";
import { NO_ARGS, stringOf, typeName, type Value } from "../values/values.ts";
import { compileCall, compileExpression, compileFilter, type Evaluate } from "./expression.ts";
import { compileFor } from "./for_loop.ts";
import { compileMacro } from "./macro.ts";
import type { Frame, Scope } from "./scope.ts";
import type { Execute, Signal } from "./signal.ts";
import { compileTarget } from "./target.ts";

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
      return compileFor(node, scope, compileBody);
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

function compileSet(target: Expression, value: Expression, scope: Scope): Execute {
  const assign = compileTarget(target, scope);
  const evaluate = compileExpression(value, scope);
  return (frame) => {
    assign(frame, evaluate(frame));
    return "next";
  };
}

/** Runs a body and returns the written text, or the signal by which the body leaves a loop. */
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

/** A `call` block gives the body to a macro as `caller`; a `generation` block writes the body between the marks. */
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
