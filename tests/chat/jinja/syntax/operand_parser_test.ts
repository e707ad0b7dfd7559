import { assertEquals, assertThrows } from "@std/assert";
import { TemplateSyntaxError } from "../../../../src/chat/jinja/jinja_errors.ts";
import type { Expression } from "../../../../src/chat/jinja/syntax/nodes.ts";
import { parseTemplate } from "../../../../src/chat/jinja/syntax/parser.ts";

/** Returns the expression of a tag that prints, without the places of its nodes. */
function parse(text: string): unknown {
  const [statement] = parseTemplate(`{{ ${text} }}`).body;
  if (statement?.kind !== "print") throw new TypeError("no print");
  return JSON.parse(JSON.stringify(statement.value, (key, value) => key === "at" ? undefined : value));
}

const name = (name: string) => ({ kind: "name", name, use: "load" });
const constant = (value: unknown) => ({ kind: "const", value });
const NONE = { args: [], keywords: [] };

Deno.test("operands are constants, names, lists, dicts and texts that stand beside each other", () => {
  assertEquals(parse("true"), constant(true));
  assertEquals(parse("None"), constant(null));
  assertEquals(parse("'a' \"b\""), constant("ab"));
  assertEquals(parse("constructor"), name("constructor"), "a name of JavaScript is no constant");
  assertEquals(parse("[1, 2,]"), { kind: "list", items: [constant(1), constant(2)] });
  assertEquals(parse("{'a': x}"), { kind: "dict", pairs: [[constant("a"), name("x")]] });
  assertEquals(parse("()"), { kind: "tuple", items: [] });
  assertEquals(parse("(x)"), name("x"));
});

Deno.test("attributes, items, slices and calls follow an operand from left to right", () => {
  assertEquals(parse("a.b[0].1"), {
    kind: "item",
    object: { kind: "item", object: { kind: "attribute", object: name("a"), name: "b" }, index: constant(0) },
    index: constant(1),
  });
  assertEquals(parse("a[1:, ::2]"), {
    kind: "item",
    object: name("a"),
    index: {
      kind: "tuple",
      items: [
        { kind: "slice", bounds: [constant(1), null] },
        { kind: "slice", bounds: [null, null, constant(2)] },
      ],
    },
  });
  assertEquals(parse("f(1, *r, k=2, **m)"), {
    kind: "call",
    callee: name("f"),
    args: [constant(1)],
    keywords: [{ name: "k", value: constant(2) }],
    rest: name("r"),
    keywordRest: name("m"),
  });
});

Deno.test("filters and tests follow an operand, and `not` belongs to the test", () => {
  const filtered = { kind: "filter", value: name("a"), name: "first", ...NONE };
  assertEquals(parse("a | first | join(',')"), {
    kind: "filter",
    value: filtered,
    name: "join",
    args: [constant(",")],
    keywords: [],
  });
  assertEquals(parse("a is not divisibleby 3"), {
    kind: "not",
    value: { kind: "test", value: name("a"), name: "divisibleby", args: [constant(3)], keywords: [] },
  });
  assertEquals((parse("a is defined and b") as Expression).kind, "and");
});

Deno.test("operands that are not whole are refused", () => {
  const cases: readonly [string, string][] = [
    ["a.", "name or number after '.'"],
    ["f(k=1, 2)", "the arguments of a call must be"],
    ["f(k=1, k=2)", "'k' is given twice"],
    ["f(**m, *r)", "the arguments of a call must be"],
    ["{1}", "expected"],
    ["[1 2]", "expected"],
    ["a is x is y", "use parentheses"],
    ["*", "expected an expression"],
  ];
  for (const [text, reason] of cases) assertThrows(() => parse(text), TemplateSyntaxError, reason);
});
