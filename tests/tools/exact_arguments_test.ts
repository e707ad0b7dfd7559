import { assertEquals } from "@std/assert";
import { exactArguments } from "../../src/tools/exact_arguments.ts";
import { qwen25Calls } from "../../src/tools/qwen25_calls.ts";

Deno.test("exactArguments() keeps numbers as they were written", () => {
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
  for (const [json, expected] of cases) assertEquals(exactArguments(json), expected, json);
});

Deno.test("qwen25Calls() gives the text of arguments where it tells more than they do", () => {
  const content = '<tool_call>\n{"name": "pay", "arguments": {"amount": 50.0}}\n</tool_call>';
  const { calls } = qwen25Calls().parse({ role: "assistant", content });
  assertEquals(calls, [{ name: "pay", arguments: { amount: 50 }, argumentsText: '{"amount":50.0}' }]);
});
