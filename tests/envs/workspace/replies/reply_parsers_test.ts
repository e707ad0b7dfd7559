import { assertEquals, assertExists } from "@std/assert";
import type { ReplyCommand } from "../../../../src/envs/workspace/agent_config.ts";
import { EvaluationOutputParser } from "../../../../src/envs/workspace/replies/evaluation_output.ts";
import { REPLY_PARSERS } from "../../../../src/envs/workspace/replies/reply_parsers.ts";
import { HANG_MS } from "../../../deadline.ts";

/** What MLGym's own parsers did with a reply. */
interface GoldenCase {
  readonly parser: string;
  readonly input: string;
  readonly thought?: string;
  readonly action?: string;
  readonly message?: string;
}

const goldens = new URL("../../../goldens/mlgym_parsers.json", import.meta.url);
const cases: GoldenCase[] = JSON.parse(await Deno.readTextFile(goldens));

Deno.test({
  name: "REPLY_PARSERS do what MLGym's do",
  fn() {
    for (const { parser, input, thought, action, message } of cases) {
      const expected = message === undefined ? { thought, action } : { fault: message };
      assertEquals<unknown>(parse(parser, input), expected, `${parser} on ${JSON.stringify(input)}`);
    }
  },
});

Deno.test("ThoughtActionParser takes the last top-level block", () => {
  const reply = "First.\n```\nls\n```\nThen.\n```bash\ncat a\n```\n";
  assertEquals(parse("ThoughtActionParser", reply), {
    thought: "First.\n```\nls\n```\nThen.\n",
    action: "cat a\n",
  });
});

Deno.test("MLGymThoughtActionParser accepts only a reply with one block", () => {
  const fault = "Found more than one code block in the model response.";
  assertEquals(parse("MLGymThoughtActionParser", "```\nls\n```\nand\n```\npwd\n```"), { fault });
});

Deno.test("ActionParser accepts a reply that begins with a known command", () => {
  const commands = [{ name: "open" }];
  assertEquals(parse("ActionParser", "open a.py 3", commands), {
    thought: "open a.py 3",
    action: "open a.py 3",
  });
  const fault = "First word in model response is not a valid command.";
  assertEquals(parse("ActionParser", "close a.py", commands), { fault });
  assertEquals(parse("ActionParser", "  ", commands), { fault });
});

Deno.test("Identity takes the whole reply, EditFormat a block", () => {
  assertEquals(parse("Identity", "ls"), { thought: "ls", action: "ls" });
  assertEquals(parse("EditFormat", "So:\n```\nx = 1\n```"), { thought: "So:\n", action: "x = 1\n" });
});

Deno.test("JsonParser formats a command by its signature", () => {
  const commands: ReplyCommand[] = [
    { name: "open", signature: 'open "<path>" [<line_number>]' },
    { name: "edit", signature: "edit <start>:<end>\n<text>\nend_of_edit", endName: "end_of_edit" },
  ];
  const reply = (name: string, args?: object) =>
    JSON.stringify({ thought: "t", command: { name, ...(args && { arguments: args }) } });
  const action = (text: string) => ({ thought: "t", action: text });
  assertEquals(
    parse("JsonParser", reply("open", { path: "a b.py", line_number: 3 }), commands),
    action("open 'a b.py' 3"),
  );
  assertEquals(parse("JsonParser", reply("open", { path: "it's" }), commands), action(`open 'it'"'"'s'`));
  assertEquals(
    parse("JsonParser", reply("edit", { start: 1, end: 2, text: "print('$HOME')" }), commands),
    action("edit 1:2\nprint('$HOME')\nend_of_edit"),
  );
  assertEquals(parse("JsonParser", reply("ls", { flag: "-a" }), commands), action("ls -a"));
  assertEquals(parse("JsonParser", reply("submit"), commands), action("submit"));
});

Deno.test("JsonParser names the missing key of a reply", () => {
  const faults = [
    ["{", "Model output is not valid JSON."],
    ["[]", "Model output is not a JSON object."],
    ['{"command": {}}', "Key 'thought' is missing from model output."],
    ['{"thought": ""}', "Key 'command' is missing from model output."],
    ['{"thought": "", "command": "ls"}', "Value of 'command' key is not a JSON object."],
    ['{"thought": "", "command": {}}', "Key 'name' is missing from 'command' object."],
  ];
  for (const [reply = "", fault = ""] of faults) assertEquals(parse("JsonParser", reply), { fault });
});

Deno.test("REPLY_PARSERS handle malformed replies", () => {
  const odd = [
    "",
    "```",
    "```\n",
    "```\n".repeat(20_000),
    `\`\`\`${" ".repeat(100_000)}x`,
    "<command>".repeat(20_000),
  ];
  for (const name of Object.keys(REPLY_PARSERS)) {
    for (const reply of odd) assertExists(parse(name, reply));
  }
});

function parse(name: string, reply: string, commands: readonly ReplyCommand[] = []) {
  const parser = REPLY_PARSERS[name];
  assertExists(parser, name);
  return parser.parse(reply, commands);
}

const parser = new EvaluationOutputParser();

Deno.test("EvaluationOutputParser parses all values of a message", () => {
  const message = [
    "Your code produced a valid submission artefact at /home/agent/workspace/target.py.",
    "Baseline Score: {'Score': 2.37}",
    "Evaluation Score: {'Score': -1e-05}",
    "(Current Step: 3, Remaining Steps: 7)",
    "(Open file: n/a)",
    "(Current directory: /home/agent/workspace)",
    "bash-$",
  ].join("\n");
  assertEquals(parser.parse(message), {
    submissionArtefactPath: "/home/agent/workspace/target.py",
    openFile: "n/a",
    currentDirectory: "/home/agent/workspace",
    baselineScore: 2.37,
    evaluationScore: -0.00001,
    currentStep: 3,
    remainingSteps: 7,
  });
});

Deno.test("EvaluationOutputParser leaves out missing values and scores that are not numbers", () => {
  assertEquals(parser.parse("nothing"), {});
  assertEquals(parser.parse("Baseline Score: {'Score': 1, 'Time': 2}"), {});
  assertEquals(parser.parse("Baseline Score: {'rmse': 1}"), {});
});

Deno.test("EvaluationOutputParser accepts Python's number formats", () => {
  const score = (text: string) => parser.parse(`Evaluation Score: {'Score': ${text}}`).evaluationScore;
  assertEquals([score("inf"), score("-inf"), score("nan"), score("1e+16"), score(" 3. ")], [
    Infinity,
    -Infinity,
    NaN,
    1e16,
    3,
  ]);
});

Deno.test({
  name: "EvaluationOutputParser reads a line once when its beginning is repeated in it",
  timeout: HANG_MS,
}, () => {
  for (const text of ["valid submission artefact at ", "(Open file: ", "Evaluation Score: {'Score': "]) {
    assertEquals(parser.parse(text.repeat(200_000)), {});
  }
});
