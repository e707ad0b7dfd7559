import { assertEquals, assertThrows } from "@std/assert";
import { PythonTypeError, PythonValueError } from "../../../../src/chat/jinja/jinja_errors.ts";
import { SEQUENCE_FILTERS } from "../../../../src/chat/jinja/library/sequence_filters.ts";
import { type Filter, TEXT_FILTERS } from "../../../../src/chat/jinja/library/text_filters.ts";
import { toValue } from "../../../../src/chat/jinja/values/convert.ts";
import { itemsOf } from "../../../../src/chat/jinja/values/sequences.ts";
import {
  Float,
  Group,
  Lazy,
  Markup,
  Tuple,
  Undefined,
  type Value,
} from "../../../../src/chat/jinja/values/values.ts";
import { newRun } from "../new_run.ts";

const FILTERS: Readonly<Record<string, Filter>> = { ...SEQUENCE_FILTERS, ...TEXT_FILTERS };

/** Applies a filter; a lazy result is read. */
function apply(
  name: string,
  value: Value,
  positional: Value[] = [],
  keywords: Record<string, Value> = {},
): Value {
  const filter = FILTERS[name];
  if (filter === undefined) throw new TypeError(`no filter '${name}'`);
  const result = filter(value, { positional, keywords: new Map(Object.entries(keywords)) }, newRun());
  return result instanceof Lazy ? [...itemsOf(result) ?? []] : result;
}

const people = toValue([{ n: "b", age: 2 }, { n: "A", age: 1 }, { n: "c", age: 2 }]);

Deno.test("batch and slice cut a sequence, and fill the last part", () => {
  assertEquals(apply("batch", [1, 2, 3], [2]), [[1, 2], [3]]);
  assertEquals(apply("batch", [1, 2, 3], [2, "x"]), [[1, 2], [3, "x"]]);
  assertEquals(apply("slice", [1, 2, 3, 4, 5], [2]), [[1, 2, 3], [4, 5]]);
  assertEquals(apply("slice", [1, 2, 3, 4, 5], [2, 0]), [[1, 2, 3], [4, 5, 0]]);
  assertThrows(() => apply("slice", [1], [0]), PythonValueError, "zero");
});

Deno.test("sort, unique, min and max ignore case unless told, and read an attribute", () => {
  assertEquals(apply("sort", ["b", "A", "c"]), ["A", "b", "c"]);
  assertEquals(apply("sort", ["b", "A", "a"], [], { case_sensitive: true }), ["A", "a", "b"]);
  assertEquals(apply("sort", [3, 1, 2], [true]), [3, 2, 1]);
  assertEquals(apply("unique", ["a", "A", "b"]), ["a", "b"]);
  assertEquals(apply("max", people, [], { attribute: "age" }), (people as readonly Value[])[0]);
  assertEquals(apply("min", ["b", "A"]), "A");
  assertEquals(apply("min", []) instanceof Undefined, true);
  assertThrows(() => apply("sort", [1, "a"]), PythonTypeError);
});

Deno.test("groupby groups items that are sorted by a key, with the key's first spelling", () => {
  const groups = apply("groupby", people, ["age"]) as readonly Value[];
  assertEquals(groups.map((group) => group instanceof Group && group.attribute("grouper")), [1, 2]);
  assertEquals(groups.map((group) => group instanceof Group && (group.attribute("list") as Value[]).length), [
    1,
    2,
  ]);
});

Deno.test("first, last, length, join, sum, reverse and items read any sequence", () => {
  assertEquals([apply("first", "ab"), apply("last", [1, 2]), apply("length", "a😀")], ["a", 2, 2]);
  assertEquals(apply("first", []) instanceof Undefined, true);
  assertEquals(apply("join", [1, "a"], ["-"]), "1-a");
  assertEquals(apply("join", people, [","], { attribute: "n" }), "b,A,c");
  assertEquals(apply("sum", [1, new Float(0.5)]), new Float(1.5));
  assertEquals(apply("sum", people, ["age", 10]), 15);
  assertEquals(apply("reverse", "ab"), "ba");
  assertEquals(apply("items", toValue({ a: 1 })), [new Tuple(["a", 1])]);
  assertThrows(() => apply("items", "a"), PythonTypeError);
});

Deno.test("filters of texts give what Jinja2 gives", () => {
  const cases: readonly [string, Value, Value[], Value][] = [
    ["capitalize", "aB", [], "Ab"],
    ["center", "ab", [4], " ab "],
    ["escape", "<a href='x'>&", [], new Markup("&lt;a href=&#39;x&#39;&gt;&amp;")],
    ["escape", new Markup("<b>"), [], new Markup("<b>")],
    ["forceescape", new Markup("<b>"), [], new Markup("&lt;b&gt;")],
    ["filesizeformat", 1_500_000, [], "1.5 MB"],
    ["filesizeformat", 1, [], "1 Byte"],
    ["filesizeformat", 2048, [true], "2.0 KiB"],
    ["format", "%s-%03d", ["a", 7], "a-007"],
    ["indent", "a\nb\n\nc", [2], "a\n  b\n\n  c"],
    ["replace", "aaa", ["a", "b", 2], "bba"],
    ["striptags", "<p>a <b>b</b>\n c</p>", [], "a b c"],
    ["title", "hello wORLD-x", [], "Hello World-X"],
    ["trim", "  a ", [], "a"],
    ["truncate", "one two three four", [12], "one two..."],
    ["truncate", "one two three four", [12, true], "one two t..."],
    ["truncate", "abcdefgh", [5], "abcdefgh"],
    ["urlencode", "a b/ü", [], "a%20b/%C3%BC"],
    ["urlencode", toValue({ q: "a b" }), [], "q=a+b"],
    ["wordcount", "one two_x, three", [], 3],
    ["tojson", toValue({ a: ["é", null, true] }), [], '{"a": ["é", null, true]}'],
    ["xmlattr", toValue({ id: 'a"b', no: null }), [], ' id="a&#34;b"'],
  ];
  for (const [name, value, args, text] of cases) {
    const found = apply(name, value, args);
    const expected = name === "tojson" || name === "xmlattr" ? String(text) : text;
    assertEquals(
      found instanceof Markup && typeof expected === "string" ? found.text : found,
      expected,
      name,
    );
  }
});

Deno.test("filters refuse what they cannot take", () => {
  assertThrows(() => apply("xmlattr", toValue({ "a b": 1 })), PythonValueError, "blank or mark");
  assertThrows(
    () => apply("format", "%s", ["a"], { b: 1 }),
    PythonTypeError,
    "all with or all without names",
  );
  assertThrows(() => apply("upper", "a", [1]), PythonTypeError);
  assertThrows(() => apply("batch", new Undefined("gone"), ["a"]), PythonTypeError);
  assertThrows(() => apply("tojson", new Undefined("x is gone")), PythonTypeError);
});
