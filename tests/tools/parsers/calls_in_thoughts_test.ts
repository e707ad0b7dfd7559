import { assertEquals } from "@std/assert";
import { CALL_STYLES } from "../../../src/tools/parsers/call_styles.ts";
import { HANG_MS } from "../../deadline.ts";

/** One call of `f` without arguments in each syntax, and one whose argument is `<think>`. */
const CALLS: Readonly<Record<string, readonly [plain: string, withTag?: string]>> = {
  tag: ["<tool>f\n{}</tool>", '<tool>f\n{"a": "<think>"}</tool>'],
  xml: ['<tool name="f">{}</tool>', '<tool name="f">{"a": "<think>"}</tool>'],
  json: [
    '{"message": "", "tools": [{"tool": "f", "args": {}}]}',
    '{"message": "", "tools": [{"tool": "f", "args": {"a": "<think>"}}]}',
  ],
  openai: [
    '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "f", "arguments": {"a": "<think>"}}</tool_call>',
  ],
  qwen25: [
    '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": "f", "arguments": {"a": "<think>"}}\n</tool_call>',
  ],
  "llama3-json": ['{"name": "f", "parameters": {}}', '{"name": "f", "parameters": {"a": "<think>"}}'],
  mistral: [
    '[TOOL_CALLS] [{"name": "f", "arguments": {}}]',
    '[TOOL_CALLS] [{"name": "f", "arguments": {"a": "<think>"}}]',
  ],
  deepseek: [
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "<think>"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  kimi: [
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": "<think>"}<|tool_call_end|><|tool_calls_section_end|>',
  ],
  gemma: ["<|tool_call>call:f{}<tool_call|>", '<|tool_call>call:f{a:<|"|><think><|"|>}<tool_call|>'],
  cohere: [
    '<|START_ACTION|>[{"tool_name": "f", "parameters": {}}]<|END_ACTION|>',
    '<|START_ACTION|>[{"tool_name": "f", "parameters": {"a": "<think>"}}]<|END_ACTION|>',
  ],
  lfm2: [
    "<|tool_call_start|>[f()]<|tool_call_end|>",
    '<|tool_call_start|>[f(a="<think>")]<|tool_call_end|>',
  ],
  granite: [
    '<|tool_call|>[{"name": "f", "arguments": {}}]<|/tool_call|>',
    '<|tool_call|>[{"name": "f", "arguments": {"a": "<think>"}}]<|/tool_call|>',
  ],
  "qwen3-coder": [
    "<tool_call>\n<function=f>\n</function>\n</tool_call>",
    "<tool_call>\n<function=f>\n<parameter=a>\n<think>\n</parameter>\n</function>\n</tool_call>",
  ],
  glm: [
    "<tool_call>f\n</tool_call>",
    "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value><think></arg_value>\n</tool_call>",
  ],
  minimax: [
    '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n</minimax:tool_call>',
    '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a"><think></parameter>\n</invoke>\n</minimax:tool_call>',
  ],
  pythonic: ["[f()]", '[f(a="<think>")]'],
};

const THOUGHTS: readonly (readonly [open: string, close: string])[] = [
  ["<think>", "</think>"],
  ["<thinking>\n", "\n</thinking>"],
  ["<THINK>", "</THINK>"],
  ["[THINK]", "[/THINK]"],
  ["<seed:think>", "</seed:think>"],
  ["<|START_THINKING|>", "<|END_THINKING|>"],
  ["<|channel>thought\n", "<channel|>"],
  ["◁think▷", "◁/think▷"],
];

function parse(style: string, content: string) {
  const { text, calls, callsInThoughts = 0 } =
    CALL_STYLES[style]?.parser().parse({ role: "assistant", content }) ?? { text: "", calls: [] };
  return { text, names: calls.map(({ name, fault }) => fault ?? name), callsInThoughts, calls };
}

for (const [style, [call, withTag]] of Object.entries(CALLS)) {
  Deno.test(`${style} counts calls in thoughts and reads those outside of them`, () => {
    for (const [open, close] of THOUGHTS) {
      const thought = `${open}I could write this.${close}`;
      const drafted = `${open}${call}${close}`;
      const inThought = parse(style, `${drafted}\nDone.`);
      assertEquals([inThought.names, inThought.callsInThoughts], [[], 1], drafted);
      assertEquals(inThought.text, `${drafted}\nDone.`);
      const after = parse(style, `${drafted}\n${call}`);
      assertEquals([after.names, after.callsInThoughts], [["f"], 1], drafted);
      assertEquals(parse(style, `${thought}\n${call}`).names, ["f"], thought);
      assertEquals(parse(style, `${thought}\n${call}`).callsInThoughts, 0, thought);
      if (style === "mistral") continue; // nothing marks the end of its calls
      const prompted = parse(style, `Perhaps ${call}${close}\n${call}`);
      assertEquals(prompted.names, ["f"], close);
    }
  });

  Deno.test(`${style} takes a tag of thoughts in an argument for text`, () => {
    for (const tag of ["<think>", "</think>"]) {
      const { names, calls } = parse(style, (withTag ?? "").replace("<think>", tag));
      assertEquals(names, ["f"], withTag);
      assertEquals(calls[0]?.arguments, { a: tag });
    }
  });
}

Deno.test("a thought without its closing tag reaches to the end, but a section of Kimi's calls ends it", () => {
  for (const [style, [call]] of Object.entries(CALLS)) {
    assertEquals(parse(style, `<think>So ${call}`).names, style === "kimi" ? ["f"] : [], style);
  }
});

Deno.test("thoughts between calls do not hide the calls, and stay in the text", () => {
  const [call] = CALLS.openai ?? [""];
  const { names, text } = parse("openai", `Text.\n${call}<think>a</think>${call} <think>b ${call}</think>`);
  assertEquals(names, ["f", "f"]);
  assertEquals(text, `Text.\n<think>a</think> <think>b ${call}</think>`);
});

Deno.test("a thought that names the tag of calls does not hide the call after it", () => {
  const [call] = CALLS.openai ?? [""];
  assertEquals(parse("openai", `I must write <tool_call> first.</think>${call}`).names, ["f"]);
  const [glm] = CALLS.glm ?? [""];
  assertEquals(parse("glm", `I must write <tool_call> first.</think>${glm}`).names, ["f"]);
});

Deno.test("harmony reads calls in each channel, as the format marks them", () => {
  const call = "<|channel|>analysis to=functions.f<|message|>{}<|call|>";
  assertEquals(parse("harmony", call).names, ["f"]);
  const quoted = `<|channel|>analysis<|message|>I could call to=functions.f {}<|end|>`;
  assertEquals(parse("harmony", quoted).names, []);
});

Deno.test({ name: "parsers read thoughts and calls of a long reply once", timeout: HANG_MS }, () => {
  for (const [style, [call]] of Object.entries(CALLS)) {
    for (
      const part of [
        "<think>",
        "</think>",
        "<think></think>",
        `<think>${call.slice(0, 25)}`,
        "[THINK]</think>",
      ]
    ) {
      parse(style, part.repeat(20_000));
    }
  }
});
