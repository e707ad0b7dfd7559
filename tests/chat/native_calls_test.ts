import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ChatFormat, renderChat } from "../../src/chat/chat_format.ts";
import { History } from "../../src/history.ts";
import { TokenError } from "../../src/errors.ts";
import type { Message, ToolCall } from "../../src/message.ts";
import { EpisodeWriter } from "../../src/rollout/tokens/episode_writer.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { task } from "../rollout/tokens/written_episode.ts";
import { GEMMA, GLM, HARMONY, KIMI, LLAMA3, MINIMAX, MINIMAX_M3, NEMOTRON, PHI } from "./model_templates.ts";

const SHOWING = { GEMMA, HARMONY, MINIMAX, MINIMAX_M3 };
const DROPPING = { GLM, LLAMA3, NEMOTRON, PHI };
const TOKENS = { bos_token: "<s>", eos_token: "</s>" };
const PAY: ToolCall = { id: "call00001", name: "pay", arguments: { amount: 50 } };
const calling = (content: string, ...calls: ToolCall[]): Message[] => [
  { role: "user", content: "q" },
  { role: "assistant", content, tool_calls: calls },
];

for (const [name, chatTemplate] of Object.entries(SHOWING)) {
  Deno.test(`a native call is in the text of the template: ${name}`, () => {
    for (const trusted of [[], ["assistant"]]) {
      const text = renderChat(calling("", PAY), { chatTemplate, trusted });
      assertStringIncludes(text, "pay");
      assertStringIncludes(text, "amount");
    }
  });
}

Deno.test("a template that shows the id of a call and not its name must get ids with names: KIMI", () => {
  const render = (id?: string) =>
    renderChat(calling("", { ...PAY, ...(id && { id }) }), { chatTemplate: KIMI });
  assertStringIncludes(
    render("functions.pay:0"),
    '<|tool_call_begin|>functions.pay:0<|tool_call_argument_begin|>{"amount"',
  );
  assertThrows(
    () => render("call00001"),
    TypeError,
    "it drops 'pay', and shows the id 'call00001', not one such as 'functions.pay:0'",
  );
  const { id: _, ...anonymous } = PAY;
  assertThrows(
    () => renderChat(calling("", anonymous), { chatTemplate: KIMI }),
    TypeError,
    "it drops 'pay', and shows the id ''",
  );
  const anyone =
    "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments.amount }}{% endfor %}{% endfor %}";
  const call = { ...PAY, id: "functions.pay:0" };
  assertThrows(() => renderChat(calling("", call), { chatTemplate: anyone }), TypeError, "it drops 'pay'");
});

for (const [name, chatTemplate] of Object.entries(DROPPING)) {
  Deno.test(`a native call that the template drops is an error, also beside a text that names <tool_call>: ${name}`, () => {
    const texts = ["", "I pay.", "<tool_call>", "I write <tool_call> to pay.", "<tool_call>pay</tool_call>"];
    for (const content of texts) {
      for (const trusted of [[], ["assistant"]]) {
        const render = () =>
          renderChat(calling(content, PAY), { chatTemplate, trusted, templateKwargs: TOKENS });
        assertThrows(render, TypeError, "it drops 'pay'");
      }
    }
  });

  Deno.test(`calls that a text has stay, although the template drops native ones: ${name}`, () => {
    const texts = [
      '<tool_call>\n{"name": "pay", "arguments": {"amount": 50}}\n</tool_call>',
      "<tool_call>\n<function=pay>\n<parameter=amount>\n50\n</parameter>\n</function>\n</tool_call>",
      "<tool_call>pay\n<arg_key>amount</arg_key>\n<arg_value>50</arg_value>\n</tool_call>",
    ];
    const render = (content: string, ...calls: ToolCall[]) =>
      renderChat(calling(content, ...calls), { chatTemplate, templateKwargs: TOKENS });
    for (const content of texts) {
      assertStringIncludes(render(content, PAY), "amount");
      assertStringIncludes(render(content + content, PAY, PAY), "amount");
      assertThrows(() => render(content, PAY, PAY), TypeError, "it drops 'pay', 'pay'");
      assertThrows(() => render(content, PAY, { ...PAY, name: "ask" }), TypeError, "it drops 'pay', 'ask'");
      assertThrows(() => render(content, { ...PAY, arguments: { to: "x" } }), TypeError, "it drops 'pay'");
      assertThrows(() => render(content, { ...PAY, arguments: '{"to": 1}' }), TypeError, "it drops 'pay'");
    }
    const list =
      '<tool_call>\n[{"name": "pay", "arguments": {"amount": 50}}, {"name": "ask", "arguments": {}}]\n</tool_call>';
    assertStringIncludes(render(list, PAY, { name: "ask", arguments: {} }), "amount");
  });
}

/** Writes a reply with a native call whose sampled text is given. Returns the text of the tokens. */
function write(chatTemplate: string, said: string, calls: readonly ToolCall[]): string {
  const tokenizer = { ...byteTokenizer({ specialTokens: ["<|eos|>"], chatTemplate }), eosToken: "<|eos|>" };
  const writer = new EpisodeWriter({ tokenizer, family: "tokenizer", mode: "append", onRewrite: "keep" });
  writer.start({ task, history: { prompt: History.fromChats([{ role: "user", content: "q" }]) } });
  const ids = tokenizer.encode(said);
  const message = { role: "assistant", content: "", tool_calls: calls };
  writer.reply({ message, tokens: { ids, logProbs: ids.map(() => -1) } });
  return tokenizer.decode(writer.tokens().ids);
}

for (const [name, chatTemplate] of Object.entries({ ...SHOWING, ...DROPPING, KIMI })) {
  Deno.test(`append: sampled ids must have the native calls of their message: ${name}`, () => {
    for (const said of ["", "I pay nothing", '{"name": "ask"}']) {
      const calls = said.includes("pay") ? [PAY, PAY] : [PAY];
      assertThrows(() => write(chatTemplate, said, calls), TokenError, "must decode its ids to its text");
    }
    assertStringIncludes(write(chatTemplate, '<call>{"name": "pay"}', [PAY]), '<call>{"name": "pay"}');
    const named = { ...PAY, name: 'a"é' };
    assertStringIncludes(write(chatTemplate, JSON.stringify(named), [named]), "é");
  });
}

Deno.test("drop_tool_roles asks for calls to be dropped, as TorchRL does", () => {
  const templateKwargs = { ...TOKENS, drop_tool_roles: true };
  for (const family of ["dialogpt", "falcon", "deepseek"]) {
    const text = renderChat(calling("I pay.", PAY), { family, templateKwargs });
    assertEquals(text.includes("amount"), false);
    assert(new ChatFormat({ family, templateKwargs }).render(calling("", PAY)).length > 0);
  }
});
