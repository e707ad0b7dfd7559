import { assert, assertEquals } from "@std/assert";
import { jsonCalls } from "../../../src/tools/parsers/json_calls.ts";
import { llama3JsonCalls } from "../../../src/tools/parsers/llama3_json_calls.ts";
import { mistralCalls } from "../../../src/tools/parsers/mistral_calls.ts";
import { openaiCalls } from "../../../src/tools/parsers/openai_calls.ts";
import { pythonicCalls } from "../../../src/tools/parsers/pythonic_calls.ts";
import { qwen25Calls } from "../../../src/tools/parsers/qwen25_calls.ts";
import { tagCalls } from "../../../src/tools/parsers/tag_calls.ts";
import type { ParsedMessage, ToolCallParser } from "../../../src/tools/parsers/tool_call_parser.ts";
import { HANG_MS } from "../../deadline.ts";

function parse(parser: ToolCallParser, content: string): ParsedMessage {
  return parser.parse({ role: "assistant", content });
}

const TEXTS: readonly (readonly [ToolCallParser, string, string])[] = [
  [pythonicCalls(), "a list in prose", "The values are [f(1), f(2), f(3)] = [1, 4, 9]."],
  [pythonicCalls(), "calls with text behind them", "[f(x=1)] is what I would call."],
  [pythonicCalls(), "calls with text before them", "I call [f(x=1)]"],
  [pythonicCalls(), "a comprehension", "[f(x=1) for x in y]"],
  [pythonicCalls(), "a list of words", "[see (1)]"],
  [pythonicCalls(), "arguments that are no literals", "[f(x=open('f'))]"],
  [pythonicCalls(), "a formatted string", "[f(x=f'{1}')]"],
  [pythonicCalls(), "numbers that Python refuses", "[f(x=007)]"],
  [pythonicCalls(), "a list that was cut", "[f(x='1"],
  [llama3JsonCalls(), "an answer with a name", '{"name": "Ada", "age": 3}'],
  [llama3JsonCalls(), "a list of answers", '[{"name": "Ada"}, {"name": "Bob", "parameters": {}}]'],
  [
    llama3JsonCalls(),
    "parameters that are a list",
    '{"type": "route", "name": "GET /a", "parameters": ["id"]}',
  ],
  [llama3JsonCalls(), "an answer that was cut, and braces", '{x: 1} or {"age": 3'],
  [llama3JsonCalls(), "a name that is no text", '{"name": {"first": "Ada"}, "parameters": {}}'],
  [jsonCalls(), "an answer with a name", '{"name": "Ada", "age": 3}'],
];

for (const [parser, what, text] of TEXTS) {
  Deno.test(`parse() reads as text: ${what}, ${text}`, () => {
    assertEquals(parse(parser, text), { text, calls: [] });
  });
}

Deno.test("pythonicCalls() reads literals and escapes as Python does", () => {
  const literals = parse(pythonicCalls(), `[grep(pattern=r'\\d+', text="a" "b", mask=0x1F)]`);
  assertEquals(literals, {
    text: "",
    calls: [{ name: "grep", arguments: { pattern: "\\d+", text: "ab", mask: 31 } }],
  });
  const list = String.raw`[f(a='\a\v\101\0', b=u'\N{BULLET}\N{cjk unified ideograph-4e00}', c=b'\xff', d='''x\
y\q''')]`;
  const [call] = parse(pythonicCalls(), list).calls;
  assertEquals(call?.arguments, { a: "\x07\vA\0", b: "•一", c: "ÿ", d: "xy\\q" });
  const [nested] = parse(pythonicCalls(), "[f(x={1, 2, 1.0}, y=(3,), z=(4), n=- 5, d={(1, 2): None})]").calls;
  assertEquals(nested?.arguments, { x: [1, 2], y: [3], z: 4, n: -5, d: { "[1,2]": null } });
});

Deno.test("pythonicCalls() reads what Python's ast reads, and nothing else", () => {
  const lines = Deno.readTextFileSync(new URL("python_calls.jsonl", import.meta.url)).trim().split("\n");
  assert(lines.length > 200);
  for (const { text, calls: expected } of lines.map((line) => JSON.parse(line))) {
    const { calls, text: rest } = parse(pythonicCalls(), text);
    assertEquals(calls.map(({ name, arguments: args }) => ({ name, arguments: args })), expected ?? [], text);
    assertEquals(rest, expected === null ? text : "");
  }
});

Deno.test("pythonicCalls() reports a list between tags that is none, and reads several", () => {
  assertEquals(parse(pythonicCalls(), "<|python_start|>[a(x=open('f'))]<|python_end|>").calls, [
    { name: "?", arguments: {}, fault: "an argument must be a literal at character 5" },
  ]);
  assertEquals(
    parse(pythonicCalls(), "One <|python_start|>[a()]<|python_end|> two <|python_start|>[b(x='z"),
    {
      text: "One  two",
      calls: [
        { name: "a", arguments: {} },
        { name: "?", arguments: {}, fault: "a text must be closed at character 7", isClosed: false },
      ],
    },
  );
});

Deno.test("llama3JsonCalls() keeps the text behind calls, and reads arguments as text or null", () => {
  const second = '{"type": "function", "function": {"name": "b", "parameters": null}}';
  assertEquals(
    parse(llama3JsonCalls(), `{"name": "a", "arguments": "{\\"x\\": 1}"}, ${second}\n\nThis calls a.`),
    {
      text: "This calls a.",
      calls: [{ name: "a", arguments: { x: 1 } }, { name: "b", arguments: {} }],
    },
  );
});

Deno.test("parse() keeps the written form of numbers beside NaN and infinities", () => {
  const numbers = '{"t":12345678901234567890,"f":1.0,"n":NaN,"s":"NaN"}';
  const texts: readonly (readonly [ToolCallParser, string])[] = [
    [openaiCalls(), `<tool_call>{"name":"w","arguments":${numbers}}</tool_call>`],
    [openaiCalls(), `<tool_call>{"name":"w","arguments":${JSON.stringify(numbers)}}</tool_call>`],
    [qwen25Calls(), `<tool_call>\n{"name":"w","parameters":${numbers}}\n</tool_call>`],
    [llama3JsonCalls(), `{"name":"w","parameters":${numbers}}`],
    [mistralCalls(), `[TOOL_CALLS]w[ARGS]${numbers}`],
    [tagCalls(), `<tool>w\n${numbers}</tool>`],
  ];
  for (const [parser, text] of texts) {
    const [call] = parse(parser, text).calls;
    assertEquals([call?.name, call?.argumentsText, call?.arguments.n], ["w", numbers, NaN], text);
  }
  const [call] =
    parse(openaiCalls(), '<tool_call>{"name":"w","arguments":{"x": [-Infinity, 2]}}</tool_call>').calls;
  assertEquals([call?.argumentsText, call?.arguments], ['{"x":[-Infinity,2]}', { x: [-Infinity, 2] }]);
});

Deno.test("parse() says which calls the text does not close", () => {
  const texts: readonly (readonly [ToolCallParser, string, boolean[]])[] = [
    [openaiCalls(), '<tool_call>{"name":"a"}</tool_call><tool_call>{"name":"b"}', [true, false]],
    [tagCalls(), "<tool>a\n{}</tool><tool>b\n{}", [true, false]],
    [pythonicCalls(), "<|python_start|>[a(), b()]", [false, false]],
    [pythonicCalls(), "[a(), b()]", [true, true]],
    [llama3JsonCalls(), '{"name":"a","parameters":{}}; {"name":"b","para', [true, false]],
    [llama3JsonCalls(), '<|python_tag|>{"name":"a","parameters":{"x": tr', [false]],
    [llama3JsonCalls(), '<|python_tag|>{"name":"a","parameters":{"x": oops}}', [true]],
    [mistralCalls(), '[TOOL_CALLS]a{}[TOOL_CALLS]b{"x": "\\u00', [true, false]],
    [mistralCalls(), '[TOOL_CALLS][{"name":"a","arguments":{}}, {', [false]],
  ];
  for (const [parser, text, closed] of texts) {
    assertEquals(parse(parser, text).calls.map(({ isClosed = true }) => isClosed), closed, text);
  }
});

Deno.test({ name: "pythonicCalls() reads very long calls once", timeout: HANG_MS }, () => {
  const pieces = [
    " ",
    "#\n",
    "1",
    "\\n",
    "'a' ",
    "1,",
    "[",
    "0x_f",
    "{1:",
    "a",
    "1_",
    "\\\n",
    "<|python_start|>",
  ];
  for (const piece of pieces) {
    for (const start of ["[a(x=", "[a(x='", "<|python_start|>[a(x=["]) {
      parse(pythonicCalls(), start + piece.repeat(1_000_000 / piece.length));
    }
  }
  parse(pythonicCalls(), `[a(x='${" ".repeat(10_000_000)}')]`);
  parse(llama3JsonCalls(), '{"name":"a","parameters":{"x":"' + "\\n".repeat(5_000_000));
});
