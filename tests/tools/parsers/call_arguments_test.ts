import { assertEquals } from "@std/assert";
import { exactArgumentTexts } from "../../../src/tools/parsers/call_arguments.ts";
import { jsonCalls } from "../../../src/tools/parsers/json_calls.ts";
import { llama3JsonCalls } from "../../../src/tools/parsers/llama3_json_calls.ts";
import { mistralCalls } from "../../../src/tools/parsers/mistral_calls.ts";
import { openaiCalls } from "../../../src/tools/parsers/openai_calls.ts";
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
    ['{"name": "pay", "arguments": {"amount": 50.0, "odd": NaN}}', []],
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
    [jsonCalls(), '{"tools": [{"tool": "pay", "args": "{\\"amount\\":50.0}"}]}'],
  ];
  for (const [parser, content] of texts) {
    const { calls } = parser.parse({ role: "assistant", content });
    const expected = { name: "pay", arguments: { amount: 50 }, argumentsText: '{"amount":50.0}' };
    assertEquals(calls, [expected], content);
  }
});
