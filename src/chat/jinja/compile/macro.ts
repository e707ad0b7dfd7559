import { compileExpression } from "./expression.ts";
import { PythonTypeError } from "../jinja_errors.ts";
import type { CallBlockNode, MacroNode } from "../syntax/nodes.ts";
import type { Run } from "../run.ts";
import type { Frame, Scope } from "./scope.ts";
import type { CompileBody } from "./signal.ts";
import { reprOf } from "../values/text.ts";
import { findFreeNames, functionSymbols } from "./symbols.ts";
import { type Args, Callable, Dict, Tuple, Undefined, type Value } from "../values/values.ts";

/** Arguments that a macro takes beside the parameters: the names that the body reads. */
interface MacroInfo {
  readonly name: string | undefined;
  readonly params: readonly string[];
  readonly takesCaller: boolean;
  readonly takesKeywords: boolean;
  readonly takesRest: boolean;
}

/** A macro, or the body of a `call` block. */
export class Macro extends Callable {
  override readonly typeName = "Macro";

  constructor(
    readonly info: MacroInfo,
    invoke: (run: Run, values: readonly (Value | undefined)[]) => string,
  ) {
    super(info.name ?? "caller", (run, args) => invoke(run, bindMacro(args, info)));
  }

  override attribute(name: string): Value | undefined {
    const { info } = this;
    switch (name) {
      case "name":
        return info.name ?? null;
      case "arguments":
        return new Tuple(info.params);
      case "catch_kwargs":
        return info.takesKeywords;
      case "catch_varargs":
        return info.takesRest;
      case "caller":
        return info.takesCaller;
      case "explicit_caller":
        return info.params.includes("caller");
    }
    return undefined;
  }

  repr(run: Run): string {
    return `<Macro ${this.info.name === undefined ? "anonymous" : reprOf(this.info.name, run)}>`;
  }
}

/** Returns the values of the parameters, then of `caller`, `kwargs` and `varargs`. A missing parameter is `undefined`. */
function bindMacro(args: Args, info: MacroInfo): (Value | undefined)[] {
  const { params, takesCaller, takesKeywords, takesRest } = info;
  const keywords = new Map(args.keywords);
  const take = (name: string) => {
    const value = keywords.get(name);
    keywords.delete(name);
    return value;
  };
  const values = params.map((name, at) => at < args.positional.length ? args.positional[at] : take(name));
  if (takesCaller && !params.includes("caller")) {
    const caller = take("caller") ?? null;
    values.push(caller === null ? new Undefined("no caller is defined") : caller);
  }
  if (takesKeywords) values.push(Dict.of(keywords, (key) => key));
  const [unknown] = keywords.keys();
  if (!takesKeywords && unknown !== undefined) {
    throw new PythonTypeError(`a macro has no parameter '${unknown}'`);
  }
  const rest = args.positional.slice(params.length);
  if (takesRest) values.push(new Tuple(rest));
  else if (rest.length > 0) throw new PythonTypeError(`a macro takes at most ${params.length} arguments`);
  return values;
}

/** Compiles a macro to a function that makes the macro's value in a frame. */
export function compileMacro(
  node: MacroNode | CallBlockNode,
  outer: Scope,
  compileBody: CompileBody,
): (frame: Frame) => Macro {
  const scope = outer.function();
  functionSymbols(node, scope.symbols);
  const names = node.params.map(({ name }) => name);
  const free = findFreeNames(node.body, ["caller", "kwargs", "varargs"]);
  const isOwn = (name: string) => free.has(name) && !names.includes(name);
  const special = ["caller", "kwargs", "varargs"].filter(isOwn);
  const firstDefault = names.length - node.defaults.length;
  if (free.has("caller") && names.includes("caller") && names.indexOf("caller") < firstDefault) {
    outer.fail("the parameter 'caller' must have a default, or be left out", node.at);
  }
  const slots = [...names, ...special].map((name) => scope.parameter(name));
  const enter = scope.enter();
  const defaults = names.map((name, at) => {
    const expression = node.defaults[at - firstDefault];
    if (expression !== undefined) return compileExpression(expression, scope);
    const missing = new Undefined(`the parameter '${name}' was not given`);
    return () => missing;
  });
  const body = compileBody(node.body, scope);
  const info: MacroInfo = {
    name: node.kind === "macro" ? node.name : undefined,
    params: names,
    takesCaller: free.has("caller"),
    takesKeywords: isOwn("kwargs"),
    takesRest: isOwn("varargs"),
  };
  return (defining) =>
    new Macro(info, (run, values) =>
      run.nest(() => {
        const frame = defining.inner();
        for (const [at, slot] of slots.entries()) frame.slots[slot] = values[at];
        enter(frame);
        for (const [at, value] of defaults.entries()) {
          const slot = slots[at] as number;
          if (frame.slots[slot] === undefined) frame.slots[slot] = value(frame);
        }
        return run.capture(() => body(frame));
      }));
}
