import { assertEquals, assertThrows } from "@std/assert";
import {
  PythonTypeError,
  TemplateLimitError,
  UndefinedError,
} from "../../../../src/chat/jinja/jinja_errors.ts";
import { toValue } from "../../../../src/chat/jinja/values/convert.ts";
import {
  isIn,
  isTrue,
  itemAt,
  requireSize,
  sizeOf,
  sliceOf,
  toList,
} from "../../../../src/chat/jinja/values/sequences.ts";
import {
  Float,
  Lazy,
  Markup,
  Range,
  Tuple,
  Undefined,
  type Value,
} from "../../../../src/chat/jinja/values/values.ts";
import { newRun } from "../new_run.ts";

const dict = toValue({ a: 1, b: 2 });
const range = new Range(0, 10, 3);

Deno.test("toList() gives the items of each sequence, and of an iterator only once", () => {
  assertEquals(toList("a😀", newRun()), ["a", "😀"]);
  assertEquals(toList(dict, newRun()), ["a", "b"]);
  assertEquals(toList(range, newRun()), [0, 3, 6, 9]);
  assertEquals(toList(new Undefined("gone"), newRun()), []);
  const lazy = new Lazy([1, 2].values());
  assertEquals([toList(lazy, newRun()), toList(lazy, newRun())], [[1, 2], []]);
  assertThrows(() => toList(1, newRun()), PythonTypeError, "int must not be iterated");
  assertThrows(() => toList(new Range(0, 10_000_000, 1), newRun()), TemplateLimitError, "steps");
});

Deno.test("sizes count characters and items", () => {
  const values: Value[] = ["a😀", new Markup("ab"), [1], new Tuple([1, 2]), dict, range, new Undefined("")];
  assertEquals(values.map(sizeOf), [2, 2, 1, 2, 2, 4, 0]);
  assertThrows(() => requireSize(3), PythonTypeError, "int has no length");
});

Deno.test("isTrue() is Python's truth", () => {
  const wrong: Value[] = [
    null,
    false,
    "",
    0,
    [],
    toValue({}),
    new Float(0),
    new Range(3, 3, 1),
    new Undefined(""),
  ];
  const right: Value[] = ["0", 1, 2n ** 60n, [null], dict, new Float(NaN), new Lazy([].values())];
  assertEquals([wrong.some(isTrue), right.every(isTrue)], [false, true]);
});

Deno.test("isIn() looks for parts of texts, keys of dicts and items of lists", () => {
  const run = newRun();
  assertEquals([isIn("b", "abc", run), isIn("a", dict, run), isIn(1, dict, run)], [true, true, false]);
  assertEquals([isIn(new Float(1), [1, 2], run), isIn(6, range, run), isIn(7, range, run)], [
    true,
    true,
    false,
  ]);
  assertThrows(() => isIn(1, "abc", run), PythonTypeError, "must be str, not int");
});

Deno.test("itemAt() counts from the end below 0, and has no item beyond the ends", () => {
  assertEquals([itemAt("a😀b", 1), itemAt("a😀b", -1), itemAt("ab", 2)], ["😀", "b", undefined]);
  assertEquals([itemAt([1, 2], -2), itemAt([1, 2], -3), itemAt([1, 2], true)], [1, undefined, 2]);
  assertEquals([itemAt(range, -1), itemAt(range, 4), itemAt(dict, "a")], [9, undefined, 1]);
  assertEquals(itemAt(new Markup("<b>"), 0), new Markup("<"));
});

Deno.test("sliceOf() cuts as Python's slices", () => {
  const cut = (object: Value, ...bounds: (Value | undefined)[]) => sliceOf(object, bounds, newRun());
  assertEquals(cut("abcdef", 1, -1, 2), "bd");
  assertEquals(cut("a😀b", undefined, undefined, -1), "b😀a");
  assertEquals(cut([1, 2, 3, 4], -2), [3, 4]);
  assertEquals(cut([1, 2, 3, 4], 5, 0, -1), [4, 3, 2]);
  assertEquals(cut(new Tuple([1, 2, 3]), 3, 1), new Tuple([]));
  assertEquals(toList(cut(range, 1, 3), newRun()), [3, 6]);
  assertEquals(cut(new Markup("<b>"), 0, 2), new Markup("<b"));
  assertThrows(() => cut(dict, 0, 1), PythonTypeError, "dict must not be sliced");
  assertThrows(() => cut(new Undefined("x is gone"), 0), UndefinedError, "x is gone");
});
