import { PythonValueError, TemplateError } from "../jinja_errors.ts";
import { setMember } from "../library/globals.ts";
import type { Expression } from "../syntax/nodes.ts";
import { iterate } from "../values/sequences.ts";
import { isList, Namespace, type Value } from "../values/values.ts";
import { type Frame, readPlace, type Scope } from "./scope.ts";

/** Compiles what assigns a value to a name, a member of a namespace, or the parts of a tuple. */
export function compileTarget(node: Expression, scope: Scope): (frame: Frame, value: Value) => void {
  if (node.kind === "name") {
    const { slot } = scope.place(node.name); // a name that a scope sets belongs to the scope's function
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
