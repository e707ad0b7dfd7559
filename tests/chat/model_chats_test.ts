import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { fromText } from "../../src/chat/conversions.ts";
import { renderChat } from "../../src/chat/chat_format.ts";
import { replySplitterOf } from "../../src/chat/replies/reply_format.ts";
import type { Message } from "../../src/message.ts";
import { HANG_MS } from "../deadline.ts";
import { GEMMA, KIMI } from "./model_templates.ts";

const GEMMA3 = "<start_of_turn>";
const DEEPSEEK = "<｜User｜><｜Assistant｜>";
const GLM_MARKS = "<|observation|><arg_key>";

function read(template: string, text: string): readonly Message[] {
  return fromText(text, { chatTemplate: template }).toChats();
}

const call = { name: "f", arguments: { a: 1 } };
const user = { role: "user", content: "q" };
const result = { role: "tool", content: "r" };
const answer = { role: "assistant", content: "Yes." };

Deno.test("fromText() reads chats of Gemma 3, and drops a generation prompt", () => {
  const text = "<bos><start_of_turn>user\nq<end_of_turn>\n<start_of_turn>model\nYes.<end_of_turn>\n";
  assertEquals(read(GEMMA3, text), [user, answer]);
  assertEquals(read(GEMMA3, `${text}<start_of_turn>model\n`), [user, answer]);
  assertEquals(read(GEMMA3, `${text}<start_of_turn>model\nNo`).at(-1), {
    role: "assistant",
    content: "No",
    is_complete: false,
  });
});

Deno.test("fromText() reads thoughts, calls and results of Gemma 4, which stand in one turn", () => {
  const text =
    "<bos><|turn>system\ns<turn|>\n<|turn>user\nq<turn|>\n<|turn>model\n<|channel>thought\nhm\n<channel|>" +
    '<|tool_call>call:f{a:1}<tool_call|><|tool_response>response:f{value:<|"|>r<|"|>}<tool_response|>' +
    "Yes.<turn|>\n";
  assertEquals(read(GEMMA, text), [
    { role: "system", content: "s" },
    user,
    { role: "assistant", content: "", reasoning_content: "hm", tool_calls: [call] },
    { ...result, name: "f" },
    answer,
  ]);
});

Deno.test("fromText() reads calls and results of DeepSeek V3 and V3.1", () => {
  const start = "<｜begin▁of▁sentence｜>s<｜User｜>q<｜Assistant｜>";
  const [open, close] = [
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
  ];
  const end = "<｜end▁of▁sentence｜>";
  const expected = [
    { role: "system", content: "s" },
    user,
    { role: "assistant", content: "I look.", reasoning_content: "hm", tool_calls: [call] },
    result,
    answer,
  ];
  const v3 =
    `${start}<think>hm</think>I look.${open}function<｜tool▁sep｜>f\n\`\`\`json\n{"a": 1}\n\`\`\`${close}${end}` +
    `<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>r<｜tool▁output▁end｜><｜tool▁outputs▁end｜>Yes.${end}`;
  assertEquals(read(DEEPSEEK, v3), expected);
  const v31 = `${start}hm</think>I look.${open}f<｜tool▁sep｜>{"a": 1}${close}${end}` +
    `<｜tool▁output▁begin｜>r<｜tool▁output▁end｜>Yes.${end}`;
  assertEquals(read(DEEPSEEK, v31), expected);
  assertEquals(read(DEEPSEEK, `${start}<think>`), expected.slice(0, 2));
});

Deno.test("fromText() reads calls of DeepSeek V3.2 and V4, whose parameters say if they are text", () => {
  for (const group of ["function_calls", "tool_calls"]) {
    const said = `I look.\n\n<｜DSML｜${group}>\n<｜DSML｜invoke name="f">\n` +
      '<｜DSML｜parameter name="a" string="true">1</｜DSML｜parameter>\n' +
      '<｜DSML｜parameter name="b" string="false">[1, null]</｜DSML｜parameter>\n' +
      `</｜DSML｜invoke>\n</｜DSML｜${group}><｜end▁of▁sentence｜>`;
    const results = "\n\n<function_results>\n<result>r</result>\n<result>2</result>\n</function_results>";
    const text =
      `<｜User｜>q<｜Assistant｜></think>${said}${results}\n\n<think></think>Yes.<｜end▁of▁sentence｜>`;
    assertEquals(read(DEEPSEEK, text), [
      user,
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [{ name: "f", arguments: { a: "1", b: [1, null] } }],
      },
      result,
      { role: "tool", content: "2" },
      answer,
    ]);
  }
});

Deno.test("a template of DeepSeek V3.2 gets the calls of a reply apart, without the line ends before them", () => {
  const split = replySplitterOf("｜DSML｜<function_results>");
  const said = 'I look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n' +
    '<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>';
  assertEquals<unknown>(split?.(said), { content: "I look.", calls: [call] });
  assertEquals<unknown>(split?.("I look.\n\n"), { content: "I look.\n\n" });
});

Deno.test("fromText() reads calls and results of GLM", () => {
  const text =
    "[gMASK]<sop><|system|>\ns<|user|>\nq<|assistant|>\n<think>hm</think>\nI look.\n<tool_call>f\n" +
    "<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call><|observation|>\n<tool_response>\nr\n</tool_response>" +
    "\n<tool_response>\n2\n</tool_response><|assistant|>\n<think></think>\nYes.<|user|>";
  assertEquals(read(GLM_MARKS, text), [
    { role: "system", content: "s" },
    user,
    {
      role: "assistant",
      content: "I look.",
      reasoning_content: "hm",
      tool_calls: [{ name: "f", arguments: { a: "1" } }],
    },
    result,
    { role: "tool", content: "2" },
    answer,
  ]);
});

Deno.test("fromText() reads calls and results of Kimi K2 with their ids", () => {
  const text = "<|im_system|>tool_declare<|im_middle|>[]<|im_end|><|im_user|>user<|im_middle|>q<|im_end|>" +
    "<|im_assistant|>assistant<|im_middle|>I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0" +
    '<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_calls_section_end|><|im_end|><|im_system|>tool' +
    "<|im_middle|>## Return of functions.f:0\nr<|im_end|><|im_assistant|>assistant<|im_middle|>Yes.<|im_end|>";
  assertEquals(read(KIMI, text), [
    user,
    { role: "assistant", content: "I look.", tool_calls: [{ id: "functions.f:0", ...call }] },
    { ...result, tool_call_id: "functions.f:0", name: "f" },
    answer,
  ]);
});

const word = fc.stringMatching(/^[a-zé😀<|>_ ]{0,12}$/).map((text) => `x${text}x`);

for (const [name, template] of Object.entries({ GEMMA, KIMI })) {
  Deno.test(`fromText() reads back the talks that renderChat() writes: ${name}`, () => {
    const turns = fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 4 });
    fc.assert(fc.property(turns, (said) => {
      const chat = said.flatMap(([user, assistant]) => [
        { role: "user", content: user },
        { role: "assistant", content: assistant },
      ]);
      const controls = /<[|/]?\w*[|]?>/;
      fc.pre(!controls.test(JSON.stringify(said)));
      const text = renderChat(chat, { chatTemplate: template });
      assertEquals(read(template, text), chat);
    }));
  });
}

Deno.test("fromText() refuses a text without a turn of the template", () => {
  for (const template of [GEMMA3, GEMMA, DEEPSEEK, GLM_MARKS, KIMI]) {
    assertThrows(() => read(template, "hello"), SyntaxError, "must contain a turn");
  }
});

Deno.test({
  name: "fromText() reads a chat once, however it is made",
  timeout: HANG_MS,
  fn: () => {
    const cases: [string, string, string][] = [
      [GEMMA, "<|turn>model\n", "<|tool_response>"],
      [GEMMA, "<|turn>model\n", "<|tool_response><tool_response|>"],
      [GEMMA, "<|turn>model\n", "<|channel>thought\n"],
      [DEEPSEEK, "<｜Assistant｜>", "<｜end▁of▁sentence｜>\n\n<function_results>"],
      [DEEPSEEK, "<｜Assistant｜>", "<｜tool▁call▁begin｜>"],
      [GLM_MARKS, "<|observation|>", "<tool_response>"],
      [KIMI, "<|im_user|>user<|im_middle|>", "<|im_user|>"],
    ];
    for (const [template, start, piece] of cases) {
      assert(read(template, start + piece.repeat(100_000)).length >= 0);
    }
  },
});
