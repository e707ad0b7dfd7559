import { assertEquals } from "@std/assert";
import { parse } from "@std/jsonc";
import { readTasks } from "../../../src/datasets/read_tasks.ts";
import { toScore } from "../../../src/rewards/grader.ts";
import { gsm8k } from "../../../src/rewards/gsm8k.ts";
import { math } from "../../../src/rewards/math.ts";
import { HANG_MS } from "../../deadline.ts";
import { replyContext } from "../replies.ts";

const FILE = decodeURIComponent(new URL("../../data/gsm8k/test.jsonl", import.meta.url).pathname);

async function readTable(name: string): Promise<string[]> {
  const table = parse(await Deno.readTextFile(new URL(name, import.meta.url)));
  return (table as string[]).map(String);
}

async function readTruths(): Promise<string[]> {
  const truths: string[] = [];
  for await (const { answer = "" } of readTasks(FILE)) {
    truths.push(answer.split("####").at(-1)?.trim().replaceAll(",", "") ?? "");
  }
  return truths;
}

/** Returns the replies, each with a truth of the data set, that do not have the expected verdict. */
function findMistakes(
  name: "gsm8k" | "math",
  rows: { readonly ending: string; readonly truths: readonly string[] },
  expected: boolean,
): string[] {
  const grader = name === "gsm8k" ? gsm8k() : math();
  const mistakes: string[] = [];
  for (const truth of rows.truths) {
    const thousands = truth.replace(/\B(?=(?:\d{3})+$)/g, ",");
    const reply = rows.ending.replaceAll("THOUSANDS", () => thousands).replaceAll("@", () => truth)
      .replaceAll("#other", String(Number(truth) + 1));
    const graded = grader.grade(replyContext(reply, truth));
    if (graded instanceof Promise) throw new Error("a grader of answers need not wait");
    if ((toScore(graded).score === 1) !== expected) mistakes.push(`${reply} for ${truth}`);
  }
  return mistakes;
}

for (const name of ["gsm8k", "math"] as const) {
  Deno.test(`${name}() finds every answer of GSM8K in every ending`, async () => {
    const truths = await readTruths();
    assertEquals(truths.length, 1319);
    for (const ending of await readTable("endings.jsonc")) {
      const lost = findMistakes(name, { ending, truths }, true);
      assertEquals([lost.length, lost[0]], [0, undefined], ending);
    }
  });

  Deno.test(`${name}() gives nothing for a number that is denied or one of several`, async () => {
    const truths = await readTruths();
    for (const ending of await readTable("denials.jsonc")) {
      const found = findMistakes(name, { ending, truths }, false);
      assertEquals([found.length, found[0]], [0, undefined], ending);
    }
  });
}

const REPEATED = [
  "1,111",
  "answer is ",
  "a",
  "$",
  "$$",
  "**",
  "\\[",
  "7 ",
  "\n",
  " ",
  "or ",
  "####",
  "answer:",
  "* ",
  ". ",
  "not ",
  "1:",
  "less than ",
  "½",
  "\\boxed{",
  "\\\\frac",
];

Deno.test({
  name: "gsm8k() and math() end on replies that are made to take long",
  timeout: HANG_MS, // an expression that tries all ways takes hours
  fn() {
    for (const part of REPEATED) {
      for (const [before, after] of [["", ""], ["The answer is ", "8"], ["$$", "$$"], ["5", "#### 6"]]) {
        const reply = `${before}${part.repeat(300_000 / part.length)}${after}`;
        gsm8k().grade(replyContext(reply, "18"));
        math().grade(replyContext(reply, "18"));
      }
    }
  },
});
