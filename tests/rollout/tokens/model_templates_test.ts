import { tokenFormatOf } from "./token_format_of.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { History } from "../../../src/history.ts";
import { TokenError } from "../../../src/errors.ts";
import type { Message } from "../../../src/message.ts";
import { EpisodeWriter, type TokenOptions } from "../../../src/rollout/tokens/episode_writer.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import {
  GEMMA,
  GLM,
  HARMONY,
  KIMI,
  LLAMA3,
  MINIMAX,
  MINIMAX_M3,
  NEMOTRON,
  PHI,
} from "../../chat/model_templates.ts";
import { task } from "./written_episode.ts";

const EOS = "<|endoftext|>";

/** Control tokens that templates make of a role. */
const OF_ROLES = [
  "<|user|>",
  "<|assistant|>",
  "<|im_user|>",
  "<|im_tool|>",
  "]~b]",
  "[e~[",
  "<|end_of_text|>",
];

function optionsOf(template: string, mode: "append" | "keep" | "rerender"): TokenOptions {
  const written = template.match(/<\|[^<>|\n]+\|>|<\|"\|>|<\|[a-z_]+>|<[a-z_]+\|>/g) ?? [];
  const specials = [...new Set([...written, ...OF_ROLES, EOS])];
  const tokenizer = { ...byteTokenizer({ specialTokens: specials, chatTemplate: template }), eosToken: EOS };
  const modes = {
    append: { mode: "append" },
    keep: { mode: "append", onRewrite: "keep" },
    rerender: { mode: "rerender" },
  } as const;
  return { tokenizer, family: "tokenizer", ...modes[mode] };
}

interface Turn {
  readonly said: string;
  readonly end: string;
  readonly messages: readonly Message[];
}

/** Plays turns after a question `q`. Returns the text of the tokens after the prompt, and the next prompt. */
function play(options: TokenOptions, turns: readonly Turn[]): { text: string; prompt: string } {
  const { tokenizer } = options;
  const writer = new EpisodeWriter(options);
  let history = History.fromChats([{ role: "user", content: "q" }]);
  writer.start({ task, history: { prompt: history } });
  for (const { said, end, messages } of turns) {
    const ids = tokenizer.encode(said + end);
    const message = { role: "assistant", content: said };
    writer.reply({ message, tokens: { ids, logProbs: ids.map(() => -1) } });
    history = history.append(message).extend(messages);
    writer.step(history);
  }
  const { ids, promptText = "" } = writer.tokens();
  return { text: tokenizer.decode(ids).slice(promptText.length), prompt: writer.prompt.text };
}

const next: readonly Message[] = [{ role: "user", content: "next" }];
const result: readonly Message[] = [{ role: "tool", name: "f", content: "r" }];

Deno.test("gpt-oss: a turn that ended with <|return|>, <|end|> or <|call|> gets no other end token", () => {
  for (const mode of ["append", "rerender"] as const) {
    for (const end of ["<|return|>", "<|end|>"]) {
      const said = "<|channel|>final<|message|>hello";
      const { text } = play(optionsOf(HARMONY, mode), [{ said, end, messages: next }]);
      assertEquals(text, `${said}${end}<|start|>user<|message|>next<|end|>`);
    }
    const said = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}';
    const { text } = play(optionsOf(HARMONY, mode), [{ said, end: "<|call|>", messages: result }]);
    assertEquals(
      text,
      `${said}<|call|><|start|>functions.f to=assistant<|channel|>commentary<|message|>"r"<|end|>`,
    );
  }
});

Deno.test("gpt-oss, rerender: thoughts, a call, its result and an answer", () => {
  const call =
    "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.f " +
    '<|constrain|>json<|message|>{"a": 1}';
  const answer = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.";
  const { text, prompt } = play(optionsOf(HARMONY, "rerender"), [
    { said: call, end: "<|call|>", messages: result },
    { said: answer, end: "<|return|>", messages: next },
  ]);
  const shown = '<|start|>functions.f to=assistant<|channel|>commentary<|message|>"r"<|end|>';
  assertEquals(
    text,
    `${call}<|call|>${shown}<|start|>assistant${answer}<|return|><|start|>user<|message|>next<|end|>`,
  );
  assertEquals(
    prompt,
    "<|start|>user<|message|>q<|end|><|start|>assistant<|channel|>analysis<|message|>I look.<|end|>" +
      '<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>' + shown +
      "<|start|>assistant<|channel|>final<|message|>Yes.<|end|><|start|>user<|message|>next<|end|><|start|>assistant",
  );
});

Deno.test("Gemma 4: the result of a call stands in its turn, once in each mode", () => {
  const said = '<|tool_call>call:f{a:<|"|>x<|"|>}<tool_call|>';
  const shown = 'response:f{value:<|"|>r<|"|>}<tool_response|>';
  for (const mode of ["append", "rerender"] as const) {
    const turns = [{ said, end: "<|tool_response>", messages: result }, {
      said: "Yes.",
      end: "<turn|>",
      messages: next,
    }];
    const { text, prompt } = play(optionsOf(GEMMA, mode), turns);
    assertEquals(text, `${said}<|tool_response>${shown}Yes.<turn|>\n<|turn>user\nnext<turn|>\n`);
    assertEquals(prompt, `<|turn>user\nq<turn|>\n<|turn>model\n${text}<|turn>model\n`);
  }
});

Deno.test("Kimi K2: results have the ids of the calls that the reply wrote", () => {
  const call = (id: string) =>
    `<|tool_call_begin|>${id}<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>`;
  const said = `I look.<|tool_calls_section_begin|>${call("functions.f:3")}${call("functions.g:4")}` +
    "<|tool_calls_section_end|>";
  const messages = ["f", "g"].map((name) => ({ role: "tool", name, content: "r" }));
  const results = ["functions.f:3", "functions.g:4"].map((id) =>
    `<|im_tool|>tool<|im_middle|>## Return of ${id}\nr<|im_end|>`
  ).join("");
  for (const mode of ["append", "rerender"] as const) {
    const { text, prompt } = play(optionsOf(KIMI, mode), [{ said, end: "<|im_end|>", messages }]);
    assertEquals(text, `${said}<|im_end|>${results}`);
    assert(prompt.endsWith(`${said}<|im_end|>${results}<|im_assistant|>assistant<|im_middle|>`));
  }
});

Deno.test("MiniMax M2: the result of a call in the reply's text is shown", () => {
  const said = '\n<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n' +
    "</minimax:tool_call>";
  for (const mode of ["append", "rerender"] as const) {
    const { text, prompt } = play(optionsOf(MINIMAX, mode), [{ said, end: "[e~[", messages: result }]);
    assertEquals(text, `${said}[e~[\n]~b]tool\n<response>r</response>[e~[\n`);
    assertEquals(prompt, `]~b]user\nq[e~[\n]~b]ai\n${text}]~b]ai\n`);
  }
});

Deno.test("MiniMax M3: the result of a call with nested arguments is shown", () => {
  const tags = [
    "<tool_call>\n",
    '<invoke name="f">',
    "<a>",
    "<item>1",
    "</item>",
    "<item>",
    "<b>  x\n",
    "</b>",
  ];
  const ends = ["</item>", "</a>", "</invoke>\n", "</tool_call>"];
  const said = `I look.${[...tags, ...ends].map((tag) => `]<]minimax[>[${tag}`).join("")}`;
  for (const mode of ["append", "rerender"] as const) {
    const { text, prompt } = play(optionsOf(MINIMAX_M3, mode), [{ said, end: "[e~[", messages: result }]);
    assertEquals(text, `${said}[e~[\n]~b]tool\n<response>r</response>[e~[\n`);
    assertEquals(prompt, `]~b]user\nq[e~[\n]~b]ai\n${text}]~b]ai\n`);
  }
});

Deno.test("a template that shows results only after calls refuses a result without a call", () => {
  for (const template of [GEMMA, HARMONY]) {
    const turn = { said: "hello", end: EOS, messages: result };
    assertThrows(
      () => play(optionsOf(template, "rerender"), [turn]),
      TokenError,
      "must get a tool's result after",
    );
  }
});

Deno.test("Nemotron 3: a thought that the prompt opened stays in its turn and leaves later prompts", () => {
  const turn = { said: "hm\n</think>\n\nhello", end: "<|im_end|>", messages: next };
  const rest = "<|im_end|>\n<|im_start|>user\nnext<|im_end|>\n";
  for (const mode of ["keep", "rerender"] as const) {
    const { text, prompt } = play(optionsOf(NEMOTRON, mode), [turn, { ...turn, said: "no thought" }]);
    assertEquals(text, `${turn.said}${rest}<|im_start|>assistant\n<think>\nno thought${rest}`);
    if (mode === "keep") assert(prompt.includes("<think>\nhm\n</think>"));
    else assert(prompt.includes("assistant\n<think></think>\n\nhello<|im_end|>"));
  }
  const format = tokenFormatOf(optionsOf(NEMOTRON, "append"));
  assertThrows(
    () => format.requireWritable({ mode: "append" }),
    TypeError,
    "Use the token mode 'append' with",
  );
});

Deno.test("Phi 3: the token that ends a whole chat is no part of an episode", () => {
  for (const mode of ["append", "rerender"] as const) {
    const { text, prompt } = play(optionsOf(PHI, mode), [{ said: "hello", end: "<|end|>", messages: next }]);
    assertEquals(text, "hello<|end|>\n<|user|>\nnext<|end|>\n");
    assertEquals(prompt, `<|user|>\nq<|end|>\n<|assistant|>\n${text}<|assistant|>\n`);
  }
});

Deno.test("GLM 4: the sampled token of the next speaker stands once", () => {
  const said = "\n<think></think>\nhello";
  for (const mode of ["keep", "rerender"] as const) {
    const asked = play(optionsOf(GLM, mode), [{ said, end: "<|user|>", messages: next }]);
    assertEquals(asked.text, `${said}<|user|>\nnext`);
    const observed = play(optionsOf(GLM, mode), [{ said, end: "<|observation|>", messages: result }]);
    assertEquals(observed.text, `${said}<|observation|>\nr`);
  }
});

Deno.test("Llama 3.1: a message that ended with <|eom_id|> or <|end_of_text|> gets no <|eot_id|>", () => {
  for (const mode of ["append", "rerender"] as const) {
    for (const end of ["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"]) {
      const { text } = play(optionsOf(LLAMA3, mode), [{ said: "hello", end, messages: next }]);
      assertEquals(text, `hello${end}<|start_header_id|>user<|end_header_id|>\n\nnext<|eot_id|>`);
    }
  }
});
