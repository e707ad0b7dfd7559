import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  PythonTypeError,
  PythonValueError,
  UndefinedError,
  UnsupportedError,
} from "../../../../src/chat/jinja/jinja_errors.ts";
import {
  callValue,
  getAttribute,
  getItem,
  hasAttribute,
} from "../../../../src/chat/jinja/values/attributes.ts";
import { toValue } from "../../../../src/chat/jinja/values/convert.ts";
import { toList } from "../../../../src/chat/jinja/values/sequences.ts";
import {
  Float,
  NO_KEYWORDS,
  Range,
  Tuple,
  Undefined,
  type Value,
} from "../../../../src/chat/jinja/values/values.ts";
import { newRun } from "../new_run.ts";

function call(object: Value, name: string, ...positional: Value[]): Value {
  return callValue(getAttribute(object, name), { positional, keywords: NO_KEYWORDS }, newRun());
}

Deno.test("a dot prefers attributes to items, and brackets prefer items to attributes", () => {
  const dict = toValue({ items: "own", key: 1 });
  assertEquals(getItem(dict, "items"), "own");
  assertEquals(toList(call(dict, "items"), newRun()).length, 2);
  assertEquals([getAttribute(dict, "key"), getItem("ab", 1)], [1, "b"]);
  assertEquals(hasAttribute(dict, "key"), false);
});

Deno.test("what an object lacks is undefined, and use of that fails with the reason", () => {
  const missing = getAttribute([1], "name");
  assert(missing instanceof Undefined);
  assertThrows(() => getAttribute(missing, "more"), UndefinedError, "a list has no 'name'");
  assertThrows(() => callValue(missing, { positional: [], keywords: NO_KEYWORDS }, newRun()), UndefinedError);
  assertThrows(
    () => callValue(1, { positional: [], keywords: NO_KEYWORDS }, newRun()),
    PythonTypeError,
    "called",
  );
});

Deno.test("a template reaches neither Python's inner attributes nor methods that change an object", () => {
  const list = [1];
  for (const [object, name] of [["a", "__class__"], [list, "append"], [toValue({}), "update"]] as const) {
    const found = getAttribute(object, name);
    assert(found instanceof Undefined, name);
    assert(found.reason.includes("unsafe"), found.reason);
  }
  assertThrows(() => getAttribute("a", "encode"), UnsupportedError);
  assertThrows(() => getAttribute(new Float(1), "hex"), UnsupportedError);
});

Deno.test("objects of JavaScript give none of their own members away", () => {
  for (const name of ["constructor", "prototype", "toString", "length", "hasOwnProperty"]) {
    for (const object of ["a", [1], toValue({ a: 1 }), 1, new Range(0, 1, 1)]) {
      assert(getAttribute(object, name) instanceof Undefined, name);
    }
  }
});

Deno.test("methods of dicts, lists and numbers give what Python gives", () => {
  const dict = toValue({ a: 1 });
  assertEquals([call(dict, "get", "a"), call(dict, "get", "b"), call(dict, "get", "b", 2)], [1, null, 2]);
  assertEquals([call([1, 2, 1], "count", 1), call(new Tuple([3, 4]), "index", 4)], [2, 1]);
  assertThrows(() => call([1], "index", 2), PythonValueError, "not in the list");
  assertThrows(() => call(dict, "get"), PythonTypeError);
  assertEquals([call(255, "bit_length"), call(-255, "bit_count"), getAttribute(7, "denominator")], [8, 8, 1]);
  assertEquals([call(new Float(2), "is_integer"), call(new Float(2.5), "is_integer")], [true, false]);
  assertEquals(toList(call(dict, "fromkeys", ["x", "y"]), newRun()), ["x", "y"]);
});
