import { assert, assertEquals, assertThrows } from "@std/assert";
import { callGrammar } from "../../../src/gateway/grammar/call_grammar.ts";
import { CALL_SYNTAXES } from "../../../src/gateway/grammar/call_syntaxes.ts";
import { freeText, literal } from "../../../src/gateway/grammar/ebnf.ts";
import { CALL_STYLES } from "../../../src/tools/parsers/call_styles.ts";

Deno.test("CALL_SYNTAXES has syntaxes without special tokens only, and each defines the rules that it uses", () => {
  for (const [name, syntax] of Object.entries(CALL_SYNTAXES)) {
    assertEquals(CALL_STYLES[name]?.hasSpecialTokens ?? false, false, name);
    const parameters = { properties: { a: {} } };
    const options = { tools: [{ name: "add", description: "", parameters }], syntax, isThinking: false };
    const grammar = callGrammar({ mode: "required", isSingle: false }, options) ?? "";
    const rules = new Set(Array.from(grammar.matchAll(/^([\w-]+) ::=/gm), ([, rule]) => rule));
    const bare = grammar.replace(/"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]/g, " ");
    const used = Array.from(bare.matchAll(/[A-Za-z][\w-]*/g), ([word]) => word);
    assertEquals(used.filter((word) => !rules.has(word)), [], name);
    assert(syntax.open.startsWith(syntax.mark.trimEnd()), name);
  }
});

Deno.test("literal() escapes what a grammar reads in quotes", () => {
  assertEquals(literal('a"\\\n\té'), '"a\\"\\\\\\n\\u0009\\u00e9"');
});

Deno.test("freeText() refuses a mark whose start could overlap", () => {
  assertThrows(() => freeText("<<a>"), TypeError, "must occur in it once");
});
