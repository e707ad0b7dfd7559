import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import { tool } from "../../../src/tools/tool.ts";
import { ToolRunner } from "../../../src/tools/tool_runner.ts";
import { CALL_STYLES } from "../../../src/tools/parsers/call_styles.ts";
import type { ParsedCall } from "../../../src/tools/parsers/tool_call_parser.ts";
import { typedArguments } from "../../../src/tools/typed_arguments.ts";
import { HANG_MS } from "../../deadline.ts";

/** Syntaxes of released models. */
const STYLES = [
  "harmony",
  "deepseek",
  "kimi",
  "gemma",
  "cohere",
  "lfm2",
  "granite",
  "qwen3-coder",
  "glm",
  "minimax",
  "minimax-m3",
  "deepseek-dsml",
];

function parse(style: string, content: string) {
  const parser = CALL_STYLES[style]?.parser();
  assert(parser !== undefined);
  return parser.parse({ role: "assistant", content });
}

interface Case {
  readonly style: string;
  readonly what: string;
  readonly text: string;
  readonly calls: readonly Partial<ParsedCall>[];
  readonly rest: string;
}

const cases: readonly Case[] = JSON.parse(
  await Deno.readTextFile(new URL("model_calls.json", import.meta.url)),
);

for (const { style, what, text, calls, rest } of cases) {
  Deno.test(`call style ${style}: ${what}`, () => {
    assertEquals<unknown>(parse(style, text), { text: rest, calls });
  });
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
const word = fc.stringMatching(/^[a-z][a-z_]{0,8}$/);
const text = fc.array(
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 5 }),
    fc.constantFrom(
      "'",
      '"',
      "\\",
      "\n  ",
      "</parameter>",
      "</arg_value>",
      "<tool_call>",
      "}",
      "```",
      "é",
      "日本",
    ),
  ),
  { maxLength: 4 },
).map((parts) => parts.join(""));
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    text,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(word, tie("json"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const args = fc.dictionary(word, json, { maxKeys: 4, noNullPrototype: true });
const calls = fc.array(fc.record({ name: word, args }), { minLength: 1, maxLength: 3 });
interface Made {
  readonly name: string;
  readonly args: Record<string, Json>;
}

function gemmaValue(value: Json, isTop = false): string {
  if (typeof value === "string") return `<|"|>${value}<|"|>`;
  if (Array.isArray(value)) return `[${value.map((item) => gemmaValue(item)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const key = (name: string) => isTop ? name : `<|"|>${name}<|"|>`;
  return `{${Object.entries(value).map(([name, field]) => `${key(name)}:${gemmaValue(field)}`).join(",")}}`;
}

const shown = (value: Json) => typeof value === "string" ? value : JSON.stringify(value);

/** Writes calls as the chat templates of the models do. */
const WRITERS: Readonly<Record<string, (calls: readonly Made[]) => string>> = {
  harmony: (calls) =>
    calls.map(({ name, args }, at) =>
      `${
        at === 0 ? "" : "<|start|>assistant"
      }<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>` +
      `${JSON.stringify(args)}<|call|>`
    ).join(""),
  deepseek: (calls) =>
    "<｜tool▁calls▁begin｜>" + calls.map(({ name, args }, at) =>
      at % 2 === 0
        ? `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${JSON.stringify(args)}<｜tool▁call▁end｜>`
        : `\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${
          JSON.stringify(args)
        }\n\`\`\`` +
          "<｜tool▁call▁end｜>"
    ).join("") + "<｜tool▁calls▁end｜>",
  kimi: (calls) =>
    "<|tool_calls_section_begin|>" + calls.map(({ name, args }, at) =>
      `<|tool_call_begin|>functions.${name}:${at}<|tool_call_argument_begin|>${
        JSON.stringify(args)
      }<|tool_call_end|>`
    ).join("") + "<|tool_calls_section_end|>",
  gemma: (calls) =>
    calls.map(({ name, args }) => `<|tool_call>call:${name}${gemmaValue(args, true)}<tool_call|>`).join(""),
  cohere: (calls) => {
    const list = calls.map(({ name, args }, at) => ({
      tool_call_id: `${at}`,
      tool_name: name,
      parameters: args,
    }));
    return `<|START_ACTION|>${JSON.stringify(list, null, 4)}<|END_ACTION|>`;
  },
  granite: (calls) =>
    `<|tool_call|>${JSON.stringify(calls.map(({ name, args }) => ({ name, arguments: args })))}`,
  "qwen3-coder": (calls) =>
    calls.map(({ name, args }) =>
      `<tool_call>\n<function=${name}>\n${
        Object.entries(args).map(([key, value]) => `<parameter=${key}>\n${shown(value)}\n</parameter>\n`)
          .join("")
      }</function>\n</tool_call>`
    ).join("\n"),
  glm: (calls) =>
    calls.map(({ name, args }) =>
      `<tool_call>${name}\n${
        Object.entries(args).map(([key, value]) =>
          `<arg_key>${key}</arg_key>\n<arg_value>\n${shown(value)}\n</arg_value>\n`
        ).join("")
      }</tool_call>`
    ).join(""),
  minimax: (calls) =>
    `<minimax:tool_call>\n${
      calls.map(({ name, args }) =>
        `<invoke name="${name}">\n${
          Object.entries(args).map(([key, value]) =>
            `<parameter name="${key}">\n${shown(value)}\n</parameter>\n`
          )
            .join("")
        }</invoke>\n`
      ).join("")
    }</minimax:tool_call>`,
  "deepseek-dsml": (calls) =>
    `<｜DSML｜function_calls>\n${
      calls.map(({ name, args }) =>
        `<｜DSML｜invoke name="${name}">\n${
          Object.entries(args).map(([key, value]) =>
            `<｜DSML｜parameter name="${key}" string="${typeof value === "string"}">${
              shown(value)
            }</｜DSML｜parameter>\n`
          ).join("")
        }</｜DSML｜invoke>\n`
      ).join("")
    }</｜DSML｜function_calls>`,
};

/** Returns a JSON Schema of the types of values. */
function schemaOf(values: Record<string, Json>): Record<string, unknown> {
  const properties = Object.entries(values).map(([key, value]) => {
    const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    return [key, { type }];
  });
  return { type: "object", properties: Object.fromEntries(properties) };
}

for (const [style, write] of Object.entries(WRITERS)) {
  Deno.test(`call style ${style}: parse() reads what a template writes`, () => {
    const law = fc.property(calls, fc.constantFrom("", "I look.\n\n"), (made, before) => {
      // a value with the markers of Gemma's strings cannot be written in its syntax
      if (style === "gemma" && JSON.stringify(made).includes("<|")) return;
      const isHarmony = style === "harmony";
      const parsed = parse(style, (isHarmony ? "" : before) + write(made));
      assertEquals(parsed.text, isHarmony ? "" : before.trim());
      const read = parsed.calls.map(({ name, arguments: args, hasTextArguments }, at) => ({
        name,
        args: hasTextArguments ? typedArguments(args, schemaOf(made[at]?.args ?? {})) : args,
      }));
      assertEquals<unknown>(read, made);
    });
    fc.assert(law, { numRuns: 300 });
  });
}

const leaf = fc.oneof(text, fc.integer(), fc.boolean());
const list = fc.oneof(fc.array(text, { maxLength: 3 }), fc.array(fc.integer(), { maxLength: 3 }));
/** Values that MiniMax M3 can write: it omits null, and the values of a list have one type. */
const elements = fc.dictionary(
  word,
  fc.oneof(
    leaf,
    list,
    fc.dictionary(word, fc.oneof(leaf, list), { maxKeys: 3, noNullPrototype: true }),
    fc.record({ item: leaf }, { noNullPrototype: true }),
  ),
  { maxKeys: 4, noNullPrototype: true },
);
const MARK = "]<]minimax[>[";

function elementText(value: Json): string {
  if (Array.isArray(value)) return value.map((item) => element("item", item)).join("");
  if (typeof value !== "object" || value === null) return shown(value);
  return Object.entries(value).map(([name, field]) => element(name, field)).join("");
}

const element = (name: string, value: Json): string =>
  `${MARK}<${name}>${elementText(value)}${MARK}</${name}>`;

function deepSchemaOf(value: Json | undefined): Record<string, unknown> {
  if (Array.isArray(value)) return { type: "array", items: deepSchemaOf(value[0]) };
  if (typeof value !== "object" || value === null) return { type: typeof value };
  const properties = Object.entries(value).map(([key, field]) => [key, deepSchemaOf(field)]);
  return { type: "object", properties: Object.fromEntries(properties) };
}

Deno.test("call style minimax-m3: parse() reads what a template writes", () => {
  const law = fc.property(
    fc.array(fc.record({ name: word, args: elements }), { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "I look.\n\n"),
    (made, before) => {
      const written = made.map(({ name, args }) =>
        `${MARK}<invoke name="${name}">${elementText(args)}${MARK}</invoke>\n`
      ).join("");
      const { text, calls } = parse(
        "minimax-m3",
        `${before}${MARK}<tool_call>\n${written}${MARK}</tool_call>`,
      );
      assertEquals(text, before.trim());
      const read = calls.map(({ name, arguments: args }, at) => ({
        name,
        args: typedArguments(args, deepSchemaOf(made[at]?.args)),
      }));
      assertEquals<unknown>(read, made);
    },
  );
  fc.assert(law, { numRuns: 300 });
});

const pieces = fc.constantFrom(
  "<|channel|>",
  "commentary",
  " to=functions.f",
  "<|constrain|>",
  "json",
  "<|message|>",
  "<|start|>assistant",
  "<|call|>",
  "<｜tool▁calls▁begin｜>",
  "<｜tool▁call▁begin｜>",
  "<｜tool▁sep｜>",
  "<｜tool▁call▁end｜>",
  "<|tool_calls_section_begin|>",
  "<|tool_call_begin|>",
  "<|tool_call_argument_begin|>",
  "<|tool_call>call:",
  '<|"|>',
  "<tool_call|>",
  "<|START_ACTION|>",
  "<|tool_call_start|>",
  "<|tool_call|>",
  "<tool_call>",
  "</tool_call>",
  "<function=f>",
  "<parameter=a>",
  "</parameter>",
  "</function>",
  "<arg_key>a</arg_key><arg_value>",
  "</arg_value>",
  "<minimax:tool_call>",
  '<invoke name="f">',
  '<parameter name="__proto__">',
  "]<]minimax[>[<tool_call>",
  ']<]minimax[>[<invoke name="f">',
  "]<]minimax[>[<__proto__>",
  "]<]minimax[>[</__proto__>",
  "]<]minimax[>[</invoke>",
  "<｜DSML｜tool_calls>",
  '<｜DSML｜invoke name="f">',
  '<｜DSML｜parameter name="a" string="false">',
  "</｜DSML｜parameter>",
  "functions.f:0",
  '{"a": [1, {"b": null}]}',
  "[f(a=1)]",
  "{",
  "[",
  "\n",
  "f",
  ":",
  "😀",
);

for (const style of STYLES) {
  Deno.test(`call style ${style}: parse() never throws for the text of a model`, () => {
    fc.assert(fc.property(fc.array(pieces, { maxLength: 25 }), (texts) => {
      for (const { name, arguments: args } of parse(style, texts.join("")).calls) {
        assert(name !== "" && typeof args === "object" && args !== null);
      }
    }));
  });

  Deno.test(
    { name: `call style ${style}: parse() reads a text once, however it is made`, timeout: HANG_MS },
    () => {
      for (
        const piece of [
          "<|start|>assistant",
          "<|message|>",
          " to=f<|message|>",
          "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
          "<｜tool▁call▁begin｜>f<｜tool▁sep｜>[",
          "<|tool_calls_section_begin|><|tool_call_begin|>f:0<|tool_call_argument_begin|>{",
          "<|tool_call>call:f{a:[",
          "<|tool_call>call:f{a:<|",
          "<|START_ACTION|>[",
          "<|tool_call_start|>[f(",
          "<|tool_call|>[",
          "<tool_call>",
          "<tool_call><function=f><parameter=a>",
          "<parameter=a></parameter>",
          "<tool_call>f<arg_key>a</arg_key><arg_value>",
          "<minimax:tool_call><invoke name=f>",
          ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">]<]minimax[>[<a>',
          "]<]minimax[>[<a>",
        ]
      ) parse(style, piece.repeat(20_000));
      parse(style, `<tool_call><function=f>${"<parameter=a>x</parameter>y".repeat(20_000)}`);
      parse(style, `<|tool_call>call:f${"{a:".repeat(20_000)}`);
    },
  );
}

Deno.test("ToolRunner gives text arguments the types of a tool's schema, and refuses those of another type", async () => {
  const add = tool({
    name: "add",
    description: "Adds.",
    parameters: z.object({ a: z.number(), b: z.number().default(1), note: z.string().optional() }),
    run: ({ a, b, note }) => [a + b, note],
  });
  const runner = new ToolRunner((name) => name === "add" ? add : undefined);
  const answer = async (content: string) => {
    const calls = parse("qwen3-coder", content).calls.map((call, at) => ({ call, number: at + 1 }));
    const [outcome] = await runner.run(calls, { state: {}, idPrefix: "c" });
    return outcome?.fault?.kind ?? outcome?.value;
  };
  const call = (a: string) =>
    `<tool_call><function=add><parameter=a>${a}</parameter><parameter=note>12</parameter></function></tool_call>`;
  assertEquals(await answer(call("41")), [42, "12"]);
  assertEquals(await answer(call("many")), "bad_arguments");
});

Deno.test("typedArguments() converts texts to the types of a schema", () => {
  const schema = {
    type: "object",
    properties: {
      n: { type: "integer" },
      s: { type: "string" },
      maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
      flag: { type: "boolean" },
      list: { type: "array" },
      unit: { $ref: "#/$defs/unit" },
      level: { enum: [1, 2] },
      any: {},
    },
    $defs: { unit: { enum: ["C", "F"] } },
  };
  const convert = (args: Record<string, unknown>) => typedArguments(args, schema);
  assertEquals(
    convert({
      n: " 7 ",
      s: "7",
      maybe: "null",
      flag: "True",
      list: "[1, null]",
      unit: "C",
      level: "2",
      any: "3",
      other: "x",
    }),
    { n: 7, s: "7", maybe: null, flag: true, list: [1, null], unit: "C", level: 2, any: 3, other: "x" },
  );
  assertEquals(convert({ n: "seven", s: "None", maybe: "None", flag: "yes", list: "[1" }), {
    n: "seven",
    s: "None",
    maybe: null,
    flag: "yes",
    list: "[1",
  });
  assertEquals(Object.keys(typedArguments(JSON.parse('{"__proto__": "1"}'), schema)), ["__proto__"]);
});
