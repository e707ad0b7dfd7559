import { assertEquals } from "@std/assert";
import { z } from "zod";
import type { Message } from "../../src/message.ts";
import { jsonCalls } from "../../src/tools/parsers/json_calls.ts";
import { tagCalls } from "../../src/tools/parsers/tag_calls.ts";
import { tool } from "../../src/tools/tool.ts";
import type { ToolCallerOptions } from "../../src/tools/tool_caller.ts";
import { xmlCalls } from "../../src/tools/parsers/xml_calls.ts";
import { anyTool, stepWithTools } from "../tools/play_tools.ts";

interface StepCase {
  name: string;
  input: string[];
  next_prompt: Message[][];
}

interface ParserCase {
  name: "xmlparser";
  input: string;
  text: string;
  calls: { tool: string; args: Record<string, unknown>; tag: string | null }[];
}

/** A case that differs from upstream on purpose, and the text that the model reads. */
interface Fault {
  fault: string;
  expectedText: string;
}

const faults: Readonly<Record<string, Fault>> = {
  "simple:json list": {
    fault: "arguments that are no object reach the tool and the error speaks of Python's call",
    expectedText:
      "Tool st failed:\nFailed to parse tool arguments: they must be a JSON object and are a list",
  },
  "simple:pyrepr": {
    fault: "JSON has no tuples and one kind of number (a limit of JavaScript, not of upstream)",
    expectedText: "Tool flt executed successfully:\n{'x': 1, 't': True, 'n': None, 'l': [1, 'two', [3]]}",
  },
  "simple:space name": {
    fault: "a name is looked up with the spaces around it",
    expectedText: "Tool add_numbers executed successfully:\n{'result': 3}",
  },
  "simple:close tag in args": {
    fault: "a closing tag in a JSON string ends the call",
    expectedText: "Tool kw executed successfully:\n{'s': '</tool>'}",
  },
};

/** Inputs that upstream's parser ignores, and the calls in them. */
const missed: Readonly<Record<string, { fault: string; tag?: string }>> = {
  "<tool name='a'>{}</tool>": { fault: "single quotes are not seen" },
  '<tool tag="t" name="a">{}</tool>': { fault: "a tag before the name is not seen", tag: "t" },
  '<tool name="a" tag="">{}</tool>': { fault: "an empty tag hides the call" },
};

const tools = [
  tool({
    name: "add_numbers",
    description: "",
    parameters: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => ({ result: a + b }),
  }),
  anyTool("st", () => "plain text"),
  anyTool("none", () => undefined),
  anyTool("flt", () => ({ x: 1.0, t: true, n: null, l: [1, "two", [3]] })),
  anyTool("kw", (args) => args),
  anyTool("boom", () => {
    throw new Error("kaput");
  }),
];

const path = new URL("../goldens/tools.json", import.meta.url);
const cases: (StepCase | ParserCase)[] = JSON.parse(await Deno.readTextFile(path));

Deno.test({
  name: "ToolTransform matches upstream's recorded cases",
  async fn(t) {
    const steps = cases.filter((it): it is StepCase => it.name !== "xmlparser");
    for (const golden of steps) {
      const fault = faults[golden.name];
      const because = fault === undefined ? "" : `, but for the fault that ${fault.fault}`;
      await t.step(`${golden.name}${because}`, () => play(golden, fault));
    }
    assertEquals(Object.keys(faults).filter((name) => !steps.some((golden) => golden.name === name)), []);
  },
});

Deno.test({
  name: "xmlCalls() matches upstream's recorded cases",
  async fn(t) {
    const parsings = cases.filter((it): it is ParserCase => it.name === "xmlparser");
    for (const golden of parsings) {
      const miss = missed[golden.input];
      const because = miss === undefined ? "" : `, but for the fault that ${miss.fault}`;
      await t.step(`${golden.input.replaceAll("\n", " ")}${because}`, () => {
        const { text, calls } = xmlCalls().parse({ role: "assistant", content: golden.input });
        const seen = calls.map(({ name, arguments: args, callId }) => ({
          tool: name,
          args,
          tag: callId ?? null,
        }));
        const found = { text: "", calls: [{ tool: "a", args: {}, tag: miss?.tag ?? null }] };
        assertEquals({ text, calls: seen }, miss ? found : { text: golden.text, calls: golden.calls });
      });
    }
  },
});

async function play({ name, input, next_prompt }: StepCase, fault: Fault | undefined): Promise<void> {
  for (const [index, reply] of input.entries()) {
    // Padding of a batch is not part of a conversation.
    const recorded = (next_prompt[index] ?? []).filter(({ role }) => role !== "<none>");
    const { history } = await stepWithTools(reply, tools, optionsOf(name, reply));
    const expectedText = fault === undefined ? [] : [{ role: "tool", content: fault.expectedText }];
    const expected = fault === undefined ? recorded : [...recorded.slice(0, 2), ...expectedText];
    assertEquals(history.prompt.toChats(), expected);
  }
}

function optionsOf(name: string, reply: string): ToolCallerOptions {
  if (name.startsWith("exec:")) return { parser: reply.startsWith("{") ? jsonCalls() : xmlCalls() };
  const parser = name === "simple:xmlparser" ? { ...tagCalls(), parse: xmlCalls().parse } : tagCalls();
  return { parser, resultStyle: "python-repr" };
}
