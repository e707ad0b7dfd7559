import { assertEquals } from "@std/assert";
import {
  findFreeNames,
  functionSymbols,
  loopSymbols,
  Symbols,
} from "../../../../src/chat/jinja/compile/symbols.ts";
import { parseTemplate } from "../../../../src/chat/jinja/syntax/parser.ts";

const bodyOf = (source: string) => parseTemplate(source).body;

Deno.test("a name that is only read comes from the context, and one that is set first from nothing", () => {
  const symbols = new Symbols(undefined).readBody(bodyOf("{{ a }}{% set b = 1 %}{{ b }}"));
  assertEquals([...symbols.loads], [
    ["0:a", { from: "context", name: "a" }],
    ["0:b", { from: "nothing" }],
  ]);
  assertEquals(symbols.find("b"), "0:b");
  assertEquals(symbols.find("c"), undefined);
});

Deno.test("a name that only some branches set begins with the value of the context", () => {
  const symbols = new Symbols(undefined).readBody(bodyOf("{% if x %}{% set a = 1 %}{% endif %}{{ a }}"));
  assertEquals(new Map(symbols.loads).get("0:a"), { from: "context", name: "a" });
});

Deno.test("a loop has its own variables, which begin with those around it", () => {
  const outer = new Symbols(undefined).readBody(bodyOf("{% set a = 1 %}"));
  const [loop] = bodyOf("{% for i in list %}{% set a = i %}{% else %}{{ b }}{% endfor %}");
  if (loop?.kind !== "for") throw new TypeError("no loop");
  const inner = loopSymbols(loop, "body", new Symbols(outer));
  assertEquals([...inner.loads], [
    ["1:i", { from: "parameter" }],
    ["1:a", { from: "outer", variable: "0:a" }],
  ]);
  assertEquals(new Map(loopSymbols(loop, "else", new Symbols(outer)).loads).get("1:b"), {
    from: "context",
    name: "b",
  });
});

Deno.test("parameters of a macro hide names around it", () => {
  const outer = new Symbols(undefined).readBody(bodyOf("{% set p = 1 %}"));
  const [macro] = bodyOf("{% macro m(p, q=p) %}{{ p }}{{ r }}{% endmacro %}");
  if (macro?.kind !== "macro") throw new TypeError("no macro");
  const symbols = functionSymbols(macro, new Symbols(outer));
  assertEquals([symbols.find("p"), symbols.find("q")], ["1:p", "1:q"]);
  assertEquals(new Map(symbols.loads).get("1:r"), { from: "context", name: "r" });
});

Deno.test("findFreeNames() finds names that are read before they are set, in every kind of tag", () => {
  const names = ["caller", "varargs", "kwargs"];
  const cases: readonly [string, string[]][] = [
    ["{{ caller() }}", ["caller"]],
    ["{% set caller = 1 %}{{ caller }}", []],
    ["{% if varargs %}{{ kwargs }}{% endif %}", ["varargs", "kwargs"]],
    ["{% for i in varargs %}{% endfor %}", ["varargs"]],
    ["{% with x = kwargs %}{% endwith %}", ["kwargs"]],
    ["{% filter upper %}{{ caller() }}{% endfilter %}", ["caller"]],
    ["{{ other }}", []],
  ];
  for (const [source, found] of cases) {
    assertEquals(findFreeNames(bodyOf(source), names), new Set(found), source);
  }
});
