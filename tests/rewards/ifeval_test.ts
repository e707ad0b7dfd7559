import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Score } from "../../src/rewards/grader.ts";
import { ifeval } from "../../src/rewards/ifeval.ts";
import { CHECKERS } from "../../src/rewards/ifeval/instructions.ts";
import { CASES } from "./ifeval/cases.ts";
import { loadLanguages } from "../../src/rewards/ifeval/language.ts";
import { replyContext } from "./replies.ts";

await loadLanguages();

function grade(reply: string, ids: readonly string[], kwargs?: unknown): Score | null {
  const fields = { instruction_id_list: ids, ...(kwargs !== undefined && { kwargs }) };
  const score = ifeval().grade(replyContext(reply, undefined, fields));
  if (score instanceof Promise || typeof score === "number") throw new Error("a score by IFEval has parts");
  return score;
}

for (const [id, cases] of Object.entries(CASES)) {
  for (const { args = {}, response, strict, loose = strict } of cases) {
    const how = strict ? "is followed by" : loose ? "is followed loosely by" : "is not followed by";
    Deno.test(`ifeval(): ${id} ${JSON.stringify(args)} ${how} ${JSON.stringify(response)}`, () => {
      const parts = grade(response, [id], [args])?.parts;
      assertEquals([parts?.inst_level_strict_acc, parts?.inst_level_loose_acc], [+strict, +loose]);
    });
  }
}

Deno.test("ifeval() cases cover following and violating each of the 25 instructions", () => {
  assertEquals(Object.keys(CASES).sort(), Object.keys(CHECKERS).sort());
  assertEquals(Object.keys(CHECKERS).length, 25);
  for (const [id, cases] of Object.entries(CASES)) {
    assert(cases.some(({ strict }) => strict) && cases.some(({ strict, loose }) => !strict && !loose), id);
  }
});

Deno.test("ifeval() scores at most 1.15, and 0 for an empty reply", () => {
  const ids = ["punctuation:no_comma", "change_case:english_lowercase"];
  assertEquals(grade("<think>hm</think><answer>all in small letters</answer>", ids), {
    score: 1.15,
    parts: {
      prompt_level_strict_acc: 1,
      inst_level_strict_acc: 1,
      prompt_level_loose_acc: 1,
      inst_level_loose_acc: 1,
    },
  });
  assertEquals(grade("all in small letters", ids)?.score, 1);
  assertEquals(grade("", ids)?.score, 0);
  assertEquals(grade("No, no", ids)?.score, 0);
});

Deno.test("ifeval() weights strict and loose parts", () => {
  const ids = ["punctuation:no_comma", "change_case:english_lowercase"];
  assertEquals(grade("Sure:\nall small", ids), {
    score: 0.45,
    parts: {
      prompt_level_strict_acc: 0,
      inst_level_strict_acc: 0.5,
      prompt_level_loose_acc: 1,
      inst_level_loose_acc: 1,
    },
  });
});

Deno.test("ifeval() adds a bonus for exactly one answer and one thought", () => {
  const score = (reply: string) => grade(reply, ["punctuation:no_comma"])?.score;
  assertEquals(score("<answer>a</answer>"), 1.1);
  assertEquals(score("<think>a</think>b"), 1.05);
  assertEquals(score("<think>a</think><think>b</think><answer>c</answer><answer>d, e</answer>"), 1);
});

Deno.test("ifeval() checks only the answer, without thoughts", () => {
  const reply = "<think>No, wait, ONE more</think>\n\nSo, here:\n<answer>\nall small\n</answer>";
  const ids = ["punctuation:no_comma", "change_case:english_lowercase", "length_constraints:number_words"];
  const kwargs = [{}, {}, { relation: "less than", num_words: 3 }];
  assertEquals(grade(reply, ids, kwargs)?.parts?.prompt_level_strict_acc, 1);
  assertEquals(grade("<answer></answer>", ["punctuation:no_comma"])?.score, 0.1);
});

Deno.test("ifeval() accepts kwargs that are null, missing, or contain only nulls", () => {
  const ids = ["punctuation:no_comma", "length_constraints:number_words"];
  const words = { num_words: 1, relation: "at least", keywords: null, language: null };
  for (const none of [null, {}, { num_words: null, relation: null }]) {
    assertEquals(grade("yes", ids, [none, words])?.parts?.prompt_level_strict_acc, 1);
  }
  assertEquals(grade("yes", ["punctuation:no_comma"])?.score, 1);
  assertEquals(grade("yes", ["punctuation:no_comma"], null)?.score, 1);
});

Deno.test("ifeval() returns null for a task without instructions", () => {
  const none = { score: null, reason: "the task has no instructions" };
  assertEquals(ifeval().grade(replyContext("yes")), none);
  assertEquals(ifeval().grade(replyContext("yes", undefined, { instruction_id_list: null })), none);
});

Deno.test("ifeval() names an unknown instruction or argument", () => {
  const refused: readonly (readonly [unknown, unknown, string])[] = [
    [["keywords:rhyme"], [{}], "one of the 25 of IFEval: current value is 'keywords:rhyme'"],
    [["constructor"], [{}], "current value is 'constructor'"],
    [["length_constraints:number_words"], [{ num_words: 3 }], "'length_constraints:number_words' as its arg"],
    [["length_constraints:number_words"], [{ num_words: "3", relation: "at least" }], "'num_words': "],
    [["length_constraints:number_words"], [{ num_words: 3, relation: "at most" }], "'relation': "],
    [["keywords:existence"], [{ keywords: [] }], "'keywords': "],
    [
      ["keywords:letter_frequency"],
      [{ letter: "ab", let_frequency: 1, let_relation: "at least" }],
      "'letter': ",
    ],
    [
      ["language:response_language"],
      [{ language: "tlh" }],
      "'language': must be the code of a supported language",
    ],
    ["punctuation:no_comma", [{}], "Cannot check task 't' as its IFEval fields are invalid"],
    [[], [], "'instruction_id_list': "],
    [["punctuation:no_comma"], ["x"], "'kwargs.0': "],
  ];
  for (const [instruction_id_list, kwargs, message] of refused) {
    const context = replyContext("yes", undefined, { instruction_id_list, kwargs });
    assertThrows(() => ifeval().grade(context), TypeError, message);
  }
  assertThrows(
    () => ifeval({ promptLoose: NaN }),
    RangeError,
    "Cannot score by IFEval as 'promptLoose' must be a finite number: current value is NaN",
  );
});

/** Pieces of responses that are made to take long. Repeated, each takes a quadratic search minutes. */
const BOMBS = [
  "[",
  "*",
  "<<",
  "\n",
  "P. ",
  "<<a>>",
  "'s ",
  "a.",
  '"',
  "``` ",
  "\n\n",
  "SECTION ",
  " -\n",
  "É",
  "...",
];

for (const bomb of BOMBS) {
  Deno.test({ name: `ifeval() reads a response of ${JSON.stringify(bomb)} once`, timeout: 60_000 }, () => {
    const ids = Object.keys(CASES);
    const kwargs = ids.map((id) => CASES[id]?.[0]?.args ?? {});
    grade(bomb.repeat(300_000 / bomb.length), ids, kwargs);
  });
}

const FILE = new URL("../data/ifeval/input_data.jsonl", import.meta.url);
const text = await Deno.readTextFile(FILE);

Deno.test({
  name: "ifeval() accepts all 541 real prompts, every instruction and argument known",
  fn() {
    const rows = text.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(rows.length, 541);
    const seen = new Set<string>();
    for (const { instruction_id_list, kwargs } of rows) {
      for (const id of instruction_id_list) seen.add(id);
      for (const reply of ["yes", "No, I WILL not. Never!\n\n***\n* [x]"]) {
        const score = grade(reply, instruction_id_list, kwargs)?.score ?? NaN;
        assert(score >= 0 && score <= 1.15);
      }
    }
    assertEquals([...seen].sort(), Object.keys(CHECKERS).sort());
  },
});

Deno.test("ifeval() refuses a reply that is too long for its instructions", () => {
  const ids = Array.from({ length: 64 }, () => "punctuation:no_comma");
  assertThrows(() => grade("x".repeat(200_000), ids), RangeError, "must have at most 131072 characters");
  assertEquals(grade("x".repeat(100_000), ids)?.score, 1);
});
