/**
 * Compares the grammars of tool choices with what XGrammar, the default of SGLang and vLLM, accepts by them. Its build for
 * the web is fetched.
 */
import { assertEquals } from "@std/assert";
import { createRequire } from "node:module";
import { callGrammar } from "../../../src/gateway/grammar/call_grammar.ts";
import { CALL_SYNTAXES } from "../../../src/gateway/grammar/call_syntaxes.ts";
import { freeText } from "../../../src/gateway/grammar/ebnf.ts";
import type { ToolChoice } from "../../../src/gateway/model_request.ts";
import { CALL_STYLES } from "../../../src/tools/parsers/call_styles.ts";

/** What the checks use of XGrammar. */
interface XGrammar {
  readonly Grammar: { fromEBNF(grammar: string): Promise<object> };
  readonly Testings: { isGrammarAcceptString(grammar: object, text: string): Promise<boolean> };
}

/** The program is a script for browsers and Node: it reads Node's names, and becomes a global. */
async function loadXGrammar(): Promise<XGrammar> {
  const names = { require: createRequire(import.meta.url), __filename: import.meta.filename };
  Object.assign(globalThis, { ...names, __dirname: import.meta.dirname });
  const name = "npm:@mlc-ai/web-xgrammar@0.1.27";
  await import(name);
  return (globalThis as unknown as { xgrammar: XGrammar }).xgrammar;
}

const { Grammar, Testings } = await loadXGrammar();

const properties = { a: { type: "number" }, "b-2": { type: "string" } };
const TOOLS = ["add", "sub"].map((name) => ({ name, description: "", parameters: { properties } }));

/** Calls of each syntax, as models write them. */
const CALLS: Readonly<Record<string, readonly [add: string, sub: string]>> = {
  openai: [
    `<tool_call>\n{"name": "add", "arguments": {"a": 1.5e3, "b-2": "x \\u00e9 \\"<tool_call>\\" 世"}}\n</tool_call>`,
    `<tool_call>\n{"name": "sub", "arguments": {"a":[{}, -0.5, null],"b-2": {"x": [true]}}}\n</tool_call>`,
  ],
  qwen25: [
    `<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>`,
    `<tool_call>\n{"name": "sub", "arguments": {"a": 1}}\n</tool_call>`,
  ],
  tag: [`<tool>add\n{"a": 1}\n</tool>`, `<tool>sub\n{}\n</tool>`],
  xml: [`<tool name="add">{"a": 1}</tool>`, `<tool name="sub">{}</tool>`],
  "qwen3-coder": [
    "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b-2>\n<b>two</b>\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n<function=sub>\n</function>\n</tool_call>",
  ],
  glm: [
    "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "<tool_call>sub\n</tool_call>",
  ],
  minimax: [
    '<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>',
    '<minimax:tool_call>\n<invoke name="sub">\n</invoke>\n</minimax:tool_call>',
  ],
};
const BEFORE = "1 < 2 <<t <<too <m <think x\n";

/** Returns which of some texts a model may write under a choice. */
async function accepted(
  style: string,
  choice: Partial<ToolChoice>,
  texts: Readonly<Record<string, string>>,
  { isThinking = false } = {},
): Promise<string[]> {
  const grammar = callGrammar({ mode: "auto", isSingle: false, ...choice }, {
    tools: TOOLS,
    syntax: CALL_SYNTAXES[style],
    isThinking,
  });
  const compiled = await Grammar.fromEBNF(grammar ?? "");
  const names: string[] = [];
  for (const [name, text] of Object.entries(texts)) {
    if (await Testings.isGrammarAcceptString(compiled, text)) names.push(name);
  }
  return names;
}

for (const [style, [add, sub]] of Object.entries(CALLS)) {
  const { between = "", close = "" } = CALL_SYNTAXES[style] ?? {};
  const both = between === "" // two calls in one group
    ? add.slice(0, -close.length) + sub.slice("<minimax:tool_call>\n".length)
    : `${add}\n${sub}`;
  const texts = {
    add,
    sub,
    both,
    "text and add": BEFORE + add,
    "thought and add": `<think>\n${BEFORE}</think>\n\n${add}`,
    "end of a thought and add": `${BEFORE}</think>\n\n${add}`,
    text: BEFORE,
    "": "",
    "half of add": add.slice(0, -3),
    "another tool": add.replaceAll("add", "other"),
  };

  Deno.test(`XGrammar, ${style}: a tool choice allows the replies that it names, and no others`, async () => {
    assertEquals(await accepted(style, { mode: "none" }, texts), ["text", ""]);
    assertEquals(await accepted(style, { mode: "required" }, texts), [
      "add",
      "sub",
      "both",
      "thought and add",
    ]);
    assertEquals(await accepted(style, { mode: "required", names: ["add"] }, texts), [
      "add",
      "thought and add",
    ]);
    assertEquals(await accepted(style, { mode: "required", isSingle: true }, texts), [
      "add",
      "sub",
      "thought and add",
    ]);
    assertEquals(await accepted(style, { mode: "required" }, texts, { isThinking: true }), [
      "add",
      "sub",
      "both",
      "thought and add",
      "end of a thought and add",
    ]);
    const withText = ["text and add", "thought and add", "end of a thought and add", "text", ""];
    assertEquals(await accepted(style, { isSingle: true }, texts), ["add", "sub", ...withText]);
    assertEquals(await accepted(style, { names: ["add"] }, texts), ["add", ...withText]);
  });

  Deno.test(`XGrammar, ${style}: the parser reads the calls that the grammar allows`, () => {
    const parser = CALL_STYLES[style]?.parser();
    const read = (content: string) => parser?.parse({ role: "assistant", content }).calls ?? [];
    assertEquals(read(both).map(({ name, fault }) => [name, fault]), [["add", undefined], [
      "sub",
      undefined,
    ]]);
    assertEquals(
      Object.keys(read(add)[0]?.arguments ?? {}).length,
      (add.match(/"a"|b-2|=a>|key>a/g) ?? []).length,
    );
  });
}

Deno.test("XGrammar: a text without a mark is each text that does not have the mark", async () => {
  const grammar = await Grammar.fromEBNF(`root ::= ${freeText("<ab>")}\n`);
  const pieces = ["<", "a", "b", ">", "\n", "é"];
  let texts = [""];
  for (let length = 0; length < 4; length++) {
    texts = texts.flatMap((text) => [text, ...pieces.map((piece) => text + piece)]);
  }
  const wrong: string[] = [];
  for (const text of new Set(texts)) {
    if (await Testings.isGrammarAcceptString(grammar, text) === text.includes("<ab>")) wrong.push(text);
  }
  assertEquals(wrong, []);
});
