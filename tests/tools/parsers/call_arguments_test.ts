import { assertEquals } from "@std/assert";
import { exactArgumentTexts } from "../../../src/tools/parsers/call_arguments.ts";
import { jsonCalls } from "../../../src/tools/parsers/json_calls.ts";
import { llama3JsonCalls } from "../../../src/tools/parsers/llama3_json_calls.ts";
import { mistralCalls } from "../../../src/tools/parsers/mistral_calls.ts";
import type { Message } from "../../../src/message.ts";
import { parseMessage } from "../../../src/parse_message.ts";
import { openaiCalls } from "../../../src/tools/parsers/openai_calls.ts";
import { pythonicCalls } from "../../../src/tools/parsers/pythonic_calls.ts";
import { qwen25Calls } from "../../../src/tools/parsers/qwen25_calls.ts";
import { tagCalls } from "../../../src/tools/parsers/tag_calls.ts";
import type { ToolCallParser } from "../../../src/tools/parsers/tool_call_parser.ts";
import { xmlCalls } from "../../../src/tools/parsers/xml_calls.ts";

Deno.test("exactArgumentTexts() keeps numbers as the model wrote them", () => {
  const cases: [string, (string | undefined)[]][] = [
    ['{"name": "pay", "arguments": {"amount": 50.0}}', ['{"amount":50.0}']],
    ['{"name": "pay", "parameters": {"amounts": [1e2, -0.10]}}', ['{"amounts":[1e2,-0.10]}']],
    ['{"name": "pay", "arguments": "{\\"amount\\": 50.0}"}', ['{"amount": 50.0}']],
    ['[{"name": "a", "arguments": {"x": 12345678901234567890}}, {"name": "b"}, 1]', [
      '{"x":12345678901234567890}',
      undefined,
      undefined,
    ]],
    ['{"name": "pay", "arguments": {"amount": 50, "part": 0.5}}', []],
    ['{"name": "pay", "arguments": {"amount": 50.0, "odd": NaN}}', ['{"amount":50.0,"odd":NaN}']],
    ['{"name": "pay", "arguments": "{\\"odd\\": -Infinity}"}', ['{"odd": -Infinity}']],
    ['{"name": "pay", "arguments": {"s": "NaN 50.0 1e2"}}', [undefined]],
    ["50.0", [undefined]],
    ['{"name": 50.0', []],
  ];
  for (const [json, expected] of cases) assertEquals(exactArgumentTexts(json), expected, json);
});

Deno.test("parse() returns the text of arguments when parsing loses information", () => {
  const call = '{"name": "pay", "arguments": {"amount": 50.0}}';
  const texts: [ToolCallParser, string][] = [
    [qwen25Calls(), `<tool_call>\n${call}\n</tool_call>`],
    [openaiCalls(), `<tool_call>{"function": ${call}}</tool_call>`],
    [llama3JsonCalls(), `<|python_tag|>${call}`],
    [mistralCalls(), `[TOOL_CALLS] [${call}]`],
    [mistralCalls(), '[TOOL_CALLS]pay[ARGS]{"amount":50.0}'],
    [tagCalls(), '<tool>pay\n{"amount":50.0}</tool>'],
    [xmlCalls(), '<tool name="pay">{"amount":50.0}</tool>'],
    [pythonicCalls(), "[pay(amount=50.0)]"],
    [jsonCalls(), '{"tools": [{"tool": "pay", "args": "{\\"amount\\":50.0}"}]}'],
  ];
  for (const [parser, content] of texts) {
    const { calls } = parser.parse({ role: "assistant", content });
    const expected = { name: "pay", arguments: { amount: 50 }, argumentsText: '{"amount":50.0}' };
    assertEquals(calls, [expected], content);
  }
});

Deno.test("parse() keeps numbers of native calls as the model wrote them", () => {
  const text = '{"a":50.0,"b":1e2,"c":12345678901234567890,"d":-0.0}';
  const raw = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "1", function: { name: "f", arguments: text } }],
  };
  const message = parseMessage(raw, 0);
  const again = parseMessage(JSON.parse(JSON.stringify(message)), 0);
  assertEquals(again, message);
  for (const parser of [openaiCalls(), pythonicCalls(), qwen25Calls()]) {
    const [call] = parser.parse(message).calls;
    assertEquals(call?.argumentsText, text);
  }
});

Deno.test("pythonicCalls() writes Python's numbers as JSON", () => {
  const texts = {
    ".5": 0.5,
    "-.5e1": -5,
    "5.": "5.0",
    "+1_000.0": "1000.0",
    "1e2": "1e2",
    "0x1_F": 31,
    "-0o17": -15,
    "0_0": 0,
    "05.5": 5.5,
    "-0.0": "-0.0",
  };
  for (const [python, json] of Object.entries(texts)) {
    const [call] =
      pythonicCalls().parse({ role: "assistant", content: `[f(x=${python}, y={1.0: 1.50})]` }).calls;
    assertEquals(
      call?.argumentsText,
      `{"x":${python === "-.5e1" ? "-0.5e1" : json},"y":{"1.0":1.50}}`,
      python,
    );
  }
});

Deno.test("openaiCalls() reads messages without content", () => {
  const message = { role: "assistant", content: null } as unknown as Message;
  assertEquals(openaiCalls().parse(message), { text: "", calls: [] });
});
