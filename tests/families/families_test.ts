import { assertEquals, assertThrows } from "@std/assert";
import { toReply } from "../../src/families/answer.ts";
import type { FamilyName } from "../../src/families/names.ts";
import { FAMILY_NAMES } from "../../src/families/names.ts";
import { FAMILIES } from "../../src/families/registry.ts";
import { familyTasks, generateProblem, problemKeyOf } from "../../src/families/tasks.ts";
import { sha256 } from "../../src/hash.ts";
import { family } from "../../src/rewards/family.ts";
import { History } from "../../src/history.ts";
import { checkFamily, faultsOf } from "./checks.ts";

const WITHOUT_SANDBOX = FAMILY_NAMES.filter((name) => FAMILIES[name].profile === undefined);

for (const name of WITHOUT_SANDBOX) {
  Deno.test(`family '${name}' scores references 1, and constant, copied and random answers at most 0.1`, async () => {
    const report = await checkFamily({ name, difficulties: [1, 3, 6], count: 30, guesses: 3 });
    assertEquals(faultsOf(report), []);
  });
}

/** Hashes of a few tasks. A generator that makes other tasks needs a new version. */
const HASHES: Readonly<Record<FamilyName, string>> = {
  "unit-arithmetic": "da4fb562b41aac11",
  "countdown": "35388a63db0e38f9",
  "graph-paths": "c05298457e4ab769",
  "sql-queries": "e973bd3c439e60a6",
  "text-to-regex": "f2bc5a1f45252a31",
  "shell-files": "ccec794c12830db6",
  "debugging": "d470d5b2f7736471",
  "data-cleaning": "f771953b7706a072",
  "scheduling": "202dc78bf5e80b7c",
  "logic-grid": "5408e866b39bfd96",
  "transducers": "f70c4003ba05f9e0",
  "state-machines": "4999757765e2ef31",
};

Deno.test("familyTasks() makes the tasks of a version in each process", async () => {
  const hashes: Record<string, string> = {};
  for (const name of FAMILY_NAMES) {
    const tasks = [1, 5, 9].flatMap((
      difficulty,
    ) => [...familyTasks(name, { difficulty, seed: 7, count: 2 })]);
    hashes[name] = (await sha256(JSON.stringify(tasks))).slice(0, 16);
  }
  assertEquals(hashes, HASHES);
});

Deno.test("familyTasks() makes other tasks for another seed, split, difficulty and index", () => {
  const variants = [
    { difficulty: 2 },
    { difficulty: 3 },
    { difficulty: 2, seed: 1 },
    { difficulty: 2, split: "validation" as const },
    { difficulty: 2, split: "test" as const },
    { difficulty: 2, start: 1 },
  ];
  const tasks = variants.map((options) =>
    [...familyTasks("paddock/graph-paths", { ...options, count: 1 })][0]
  );
  assertEquals(new Set(tasks.map((task) => task?.query)).size, variants.length);
  assertEquals(new Set(tasks.map((task) => task?.id)).size, variants.length);
});

Deno.test("familyTasks() never puts the same problem into two splits", () => {
  const queriesOf = (split: "train" | "test") =>
    new Set(
      [0, 1, 2].flatMap((seed) =>
        [...familyTasks("countdown", { split, seed, count: 40 })].map(({ query }) => query)
      ),
    );
  assertEquals(queriesOf("train").isDisjointFrom(queriesOf("test")), true);
});

Deno.test("familyTasks() refuses an unknown family, difficulty, split and option", () => {
  const first = (name: string, options: object) => () => familyTasks(name, options).next();
  assertThrows(first("paddock/none", {}), RangeError, "unit-arithmetic");
  assertThrows(first("countdown", { difficulty: 0 }), RangeError, "from 1 to 10: current value is 0");
  assertThrows(first("countdown", { difficulty: 11 }), RangeError, "from 1 to 10: current value is 11");
  assertThrows(first("countdown", { split: "dev" }), RangeError, "train, validation, test");
  assertThrows(first("countdown", { level: 1 }), TypeError, "difficulty");
});

Deno.test("grader family generates the problem of a task again and scores the last answer", async () => {
  const [task] = familyTasks("scheduling", { difficulty: 2, count: 1 });
  if (task === undefined) throw new Error("no task");
  const scoreOf = (reply: string) =>
    family().grade({ task, history: History.fromChats([{ role: "assistant", content: reply }]) });
  const [right = ""] = task.replies ?? [];
  assertEquals(await scoreOf(`Let me see. <answer>E D</answer> No: ${right}`), {
    score: 1,
    parts: { well_formed: 1 },
  });
  assertEquals(await scoreOf(`${right} or ${toReply("A B")}`), { score: 0, parts: { well_formed: 0 } });
  assertEquals(await scoreOf(`<think>${right}</think> I do not know.`), {
    score: 0,
    parts: { well_formed: 0 },
  });
  const code = `<answer>\n\`\`\`\n${right.replaceAll(/<\/?answer>/g, "").trim()}\n\`\`\`\n</answer>`;
  assertEquals(await scoreOf(code), { score: 1, parts: { well_formed: 1 } });
});

Deno.test("grader family gives no score to a task of no family, and refuses another version", async () => {
  const history = History.fromChats([{ role: "assistant", content: "42" }]);
  const score = await family().grade({ task: { id: "1", query: "6 * 7?" }, history });
  assertEquals(score, { score: null, reason: "the task names no family" });
  const fields = { family: "countdown", version: 99, difficulty: 1, seed: 1 };
  assertThrows(() => problemKeyOf({ fields }), RangeError, "must have version 1");
});

Deno.test("a sequence of presses brings a state machine into the goal, and none is left after the last", async () => {
  const problem = generateProblem({ family: "state-machines", version: 1, difficulty: 2, seed: 3 });
  if (problem.kind !== "tools") throw new Error(problem.kind);
  const episode = await problem.open();
  const copy = episode.copy();
  for (const { tool, arguments: args } of problem.solution) await episode.call(tool, args);
  assertEquals(await episode.check(), "right");
  assertEquals(await copy?.check(), "wrong");
  let left = Infinity;
  while (left > 0) left = Number(/left: (\d+)/.exec(await episode.call("restart", {}))?.[1]);
  const error = await episode.call("restart", {}).catch((error) => error);
  assertEquals(String(error), "ToolError: No presses are left");
});
