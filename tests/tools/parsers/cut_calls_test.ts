import { assertEquals } from "@std/assert";
import { CALL_STYLES } from "../../../src/tools/parsers/call_styles.ts";

/** Replies by call style: a whole one, whose cuts call nothing before the closing text, and what may be missing of it. */
const REPLIES: Readonly<Record<string, readonly { text: string; closes: string }[]>> = {
  tag: [{ text: 'I look.\n<tool>f\n{"a": [1, "</tool>"]}</tool>', closes: "</tool>" }],
  xml: [{ text: 'I look.\n<tool name="f" tag="t">{"a": "</tool>"}</tool>', closes: "</tool>" }],
  json: [{ text: '{"message": "I look.", "tools": [{"tool": "f", "args": {"a": 1}}]}', closes: "}" }],
  openai: [
    {
      text: 'I look.\n<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>',
      closes: "</tool_call>",
    },
    { text: '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', closes: "\n</tool_call>" },
  ],
  qwen25: [
    {
      text: 'I look.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
      closes: "\n</tool_call>",
    },
  ],
  "llama3-json": [
    { text: 'I look.<|python_tag|>{"name": "f", "parameters": {"a": {"b": 1}}}', closes: "}" },
    { text: '{"name": "f", "parameters": {"a": 1}}', closes: "}" },
  ],
  mistral: [
    { text: 'I look.[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}]', closes: "]" },
    { text: 'I look.[TOOL_CALLS]f[ARGS]{"a": {"b": 1}}', closes: "}" },
  ],
  pythonic: [
    { text: '[f(a="x", b=[1, 2])]', closes: "]" },
    { text: '<|python_start|>[f(a="x", b=[1, 2])]<|python_end|>', closes: "<|python_end|>" },
  ],
  harmony: [
    {
      text: '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
      closes: "<|call|>",
    },
  ],
  deepseek: [
    {
      text: 'I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>',
      closes: "}<｜tool▁call▁end｜>",
    },
  ],
  kimi: [
    {
      text:
        'I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
      closes: "}<|tool_call_end|>",
    },
  ],
  gemma: [{ text: 'I look.<|tool_call>call:f{a:<|"|>x<|"|>,b:1}<tool_call|>', closes: "}<tool_call|>" }],
  cohere: [
    {
      text:
        'I look.<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}]<|END_ACTION|>',
      closes: "]<|END_ACTION|>",
    },
  ],
  lfm2: [
    { text: 'I look.<|tool_call_start|>[f(a="x")]<|tool_call_end|>', closes: "]<|tool_call_end|>" },
  ],
  granite: [{ text: 'I look.<|tool_call|>[{"name": "f", "arguments": {"a": 1}}]', closes: "]" }],
  "qwen3-coder": [
    {
      text: "I look.<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>",
      closes: "</function>\n</tool_call>",
    },
  ],
  glm: [
    {
      text: "I look.<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
      closes: "</tool_call>",
    },
  ],
  "deepseek-dsml": [
    {
      text: 'I look.<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n' +
        '<｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
      closes: "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    },
  ],
  "minimax-m3": [
    {
      text:
        'I look.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<a>x]<]minimax[>[</a>' +
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
      closes: "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    },
  ],
  minimax: [
    {
      text:
        'I look.<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">x</parameter>\n</invoke>\n</minimax:tool_call>',
      closes: "</invoke>\n</minimax:tool_call>",
    },
  ],
};

for (const [style, { parser }] of Object.entries(CALL_STYLES)) {
  Deno.test(`${style} calls nothing of a reply that was cut off within its call, wherever that was`, () => {
    const replies = REPLIES[style] ?? [];
    assertEquals(replies.length > 0, true, `there is no reply of style ${style}`);
    for (const { text, closes } of replies) {
      const parse = (content: string) => parser().parse({ role: "assistant", content, is_complete: false });
      assertEquals(parse(text).calls.map(({ name, fault }) => [name, fault]), [["f", undefined]], text);
      const [, start = 0] = [text, Math.max(1, text.indexOf("I look.") + 7)];
      for (let length = start; length <= text.length - closes.length; length++) {
        const { calls, text: rest } = parse(text.slice(0, length));
        assertEquals(calls, [], text.slice(0, length));
        assertEquals(rest.startsWith(text.slice(0, text.indexOf("I look.") === 0 ? 7 : 0)), true);
      }
    }
  });
}

Deno.test("each style runs the closed calls before one that was cut off", () => {
  const replies: Readonly<Record<string, string>> = {
    tag: '<tool>f\n{}</tool>\n<tool>g\n{"a": 1}',
    xml: '<tool name="f">{}</tool><tool name="g">{"a": 1}',
    openai: '<tool_call>{"name": "f"}</tool_call>\n<tool_call>{"name": "g", "arguments": {}}',
    qwen25: '<tool_call>\n{"name": "f"}\n</tool_call>\n<tool_call>\n{"name": "g"}',
    "llama3-json": '<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {"a',
    mistral: '[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{"a"',
  };
  for (const [style, content] of Object.entries(replies)) {
    const message = { role: "assistant", content, is_complete: false };
    assertEquals(CALL_STYLES[style]?.parser().parse(message).calls.map(({ name }) => name), ["f"], style);
  }
});

Deno.test("a call without its closing tag runs if a stop text ended the reply there", () => {
  const replies = { tag: '<tool>f\n{"a": 1}', openai: '<tool_call>{"name": "f", "arguments": {"a": 1}}' };
  for (const [style, content] of Object.entries(replies)) {
    const { calls = [] } = CALL_STYLES[style]?.parser().parse({ role: "assistant", content }) ?? {};
    assertEquals(calls.map(({ name }) => name), ["f"], style);
  }
});

Deno.test("a native call whose arguments were cut off is left out, and an earlier one is not", () => {
  const call = (args: string | Record<string, unknown>) => ({ id: "c", name: "f", arguments: args });
  const parse = (...calls: ReturnType<typeof call>[]) =>
    CALL_STYLES.openai?.parser().parse({
      role: "assistant",
      content: "I look.",
      is_complete: false,
      tool_calls: calls,
    });
  for (const args of ["", " ", "{", '{"text": "a b', '{"a": 1', "nul"]) {
    assertEquals(parse(call(args)), { text: "I look.", calls: [] }, args);
    assertEquals(
      parse(call({ a: 1 }), call(args))?.calls.map(({ arguments: given }) => given),
      [{ a: 1 }],
      args,
    );
  }
  assertEquals(parse(call({}))?.calls.length, 1);
});
