import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { SandboxError } from "../../../src/errors.ts";
import { countdown } from "../../../src/rewards/countdown.ts";
import type { Grader } from "../../../src/rewards/grader.ts";
import { gsm8k } from "../../../src/rewards/gsm8k.ts";
import { ifeval } from "../../../src/rewards/ifeval.ts";
import { math } from "../../../src/rewards/math.ts";
import { rubric } from "../../../src/rewards/rubric.ts";
import { exactMatch, numberMatch, patternMatch } from "../../../src/rewards/text_match.ts";
import { GraderPool } from "../../../src/rewards/worker/grader_pool.ts";
import { replyContext } from "../replies.ts";
import { fillsMemory, neverEnds } from "./hostile_graders.ts";

const LATE = { score: null, reason: "deadline exceeded: the grade took more than 300 ms" };
const FULL = { score: null, reason: "memory exceeded: the grade needed more than 16 MiB" };

function smallPool(): GraderPool {
  return new GraderPool({ deadlineMs: 300, heapMb: 16, maxCharacters: 10_000 });
}

Deno.test("GraderPool gives the scores and errors of the graders themselves", async () => {
  await using pool = new GraderPool({ deadlineMs: 30_000 });
  const fields = { instruction_id_list: ["punctuation:no_comma"], kwargs: [{}] };
  const cases: [Grader, ReturnType<typeof replyContext>][] = [
    [gsm8k(), replyContext("<think>3 * 6</think><answer>18</answer>", "#### 18")],
    [gsm8k({ correctReward: 7, untagged: "none" }), replyContext("The answer is 18", "18")],
    [math(), replyContext("\\boxed{\\sqrt{8}}", "2\\sqrt2")],
    [math(), replyContext("<answer>1</answer>", "2")],
    [math(), replyContext("1", "1".repeat(3_000))],
    [math(), replyContext("1")],
    [countdown(), replyContext("<answer>(25+3)*4</answer>", "target=112, numbers=25,3,4")],
    [countdown(), replyContext("1", "no puzzle")],
    [ifeval(), replyContext("no comma", undefined, { ...fields, other: () => {} })],
    [ifeval(), replyContext("a", undefined, { instruction_id_list: ["none"] })],
    [exactMatch(), replyContext("<answer>18</answer>", "18")],
    [numberMatch(), replyContext("18 eggs", "$18.00")],
    [patternMatch({ pattern: /^\d+$/u }), replyContext("<answer>18</answer>")],
  ];
  const outcome = async (grader: Grader, context: ReturnType<typeof replyContext>) => {
    try {
      const score = await grader.grade(context);
      return typeof score === "number" || score === null ? { score } : score;
    } catch (error) {
      return error instanceof Error ? [error.constructor, error.message] : error;
    }
  };
  for (const [grader, context] of cases) {
    const guarded = pool.guard(grader);
    assert(guarded !== grader);
    assertEquals(guarded.name, grader.name);
    assertEquals(await outcome(guarded, context), await outcome(grader, context));
  }
});

Deno.test("GraderPool.guard() refuses a grader that no worker can run, also as a part of a rubric", async () => {
  await using pool = smallPool();
  const own: Grader = { name: "own", grade: () => 0.5 };
  for (const grader of [own, { ...gsm8k(), name: "own", grade: () => 0.5 }]) {
    assertThrows(() => pool.guard(grader), TypeError, "Cannot guard grader 'own' as a worker runs only");
  }
  const both = rubric([{ grader: gsm8k(), weight: 1 }, { grader: own, weight: 1 }]);
  assertThrows(() => pool.guard(both), TypeError, "'own'");
});

Deno.test("GraderPool.guardParts() sends the graders of a rubric to the workers, and returns other graders as they are", async () => {
  await using pool = smallPool();
  const own: Grader = { name: "own", grade: () => 0.5 };
  assertEquals(pool.guardParts(own), own);
  const copy: Grader = { ...gsm8k(), grade: () => 0.5 };
  assertEquals(pool.guardParts(copy), copy);
  const both = pool.guardParts(
    rubric([{ grader: neverEnds(), weight: 1 }, { grader: own, weight: 1 }], { name: "both" }),
  );
  assertEquals(both.name, "both");
  assertEquals(await both.grade(replyContext("loop")), {
    score: null,
    parts: { never_ends: null, own: 0.5 },
  });
});

Deno.test("GraderPool stops a grade at its deadline, and this thread and the grades of others continue", async () => {
  await using pool = smallPool();
  const hostile = pool.guard(patternMatch({ pattern: /^(a+)+$/ }), { owner: "hostile" });
  const honest = pool.guard(exactMatch(), { owner: "honest" });
  const ended: string[] = [];
  const bombs = Array.from({ length: 4 }, async () => {
    assertEquals(await hostile.grade(replyContext(`${"a".repeat(60)}!`)), LATE);
    ended.push("hostile");
  });
  assertEquals(await honest.grade(replyContext("18", "18")), { score: 1 });
  ended.push("honest");
  await Promise.all(bombs);
  assertEquals(ended[0], "honest");
  assertEquals(await hostile.grade(replyContext("aaa")), { score: 1 });
});

Deno.test("GraderPool stops a grade that fills the heap; the others of its batch and later ones have their scores", async () => {
  await using pool = new GraderPool({ deadlineMs: 30_000, heapMb: 16 });
  const grader = pool.guard(fillsMemory());
  const replies = ["one", "bomb", "two", "bomb", "three"];
  const scores = await Promise.all(replies.map((reply) => grader.grade(replyContext(reply))));
  assertEquals(scores, [{ score: 1 }, FULL, { score: 1 }, FULL, { score: 1 }]);
  assertEquals(await grader.grade(replyContext("four")), { score: 1 });
});

Deno.test("GraderPool grades no reply, answer or fields that are too large", async () => {
  await using pool = smallPool();
  const reason = "too large: the reply and its task must have at most 10000 characters";
  const large = "1".repeat(10_001);
  for (const context of [replyContext(large, "1"), replyContext("1", large)]) {
    assertEquals(await pool.guard(math()).grade(context), { score: null, reason });
  }
  const fields = { instruction_id_list: [large] };
  assertEquals(await pool.guard(ifeval()).grade(replyContext("1", "1", fields)), { score: null, reason });
  const unread = { text: large };
  assertEquals(await pool.guard(exactMatch()).grade(replyContext("1", "1", unread)), { score: 1 });
});

Deno.test("GraderPool rejects grades that are aborted, and all that wait when it is disposed", async () => {
  const pool = smallPool();
  const grader = pool.guard(neverEnds());
  const stop = new AbortController();
  const aborted = assertRejects(
    () => Promise.resolve(grader.grade({ ...replyContext("loop"), signal: stop.signal })),
    Error,
    "enough",
  );
  stop.abort(new Error("enough"));
  await aborted;
  const waiting = ["loop", "loop", "a"].map((reply) =>
    assertRejects(() => Promise.resolve(grader.grade(replyContext(reply))), SandboxError, "disposed")
  );
  await Promise.resolve();
  await pool[Symbol.asyncDispose]();
  await Promise.all(waiting);
  await assertRejects(() => Promise.resolve(grader.grade(replyContext("a"))), SandboxError, "disposed");
  await pool[Symbol.asyncDispose]();
});

Deno.test("GraderPool rejects a grade whose module cannot be loaded", async () => {
  await using pool = smallPool();
  const origin = { file: new URL("./missing.ts", import.meta.url).href, factory: "none", options: undefined };
  const grade = Object.assign(() => 1, { grading: { origin, gradeReply: () => 1 } });
  const grader = pool.guard({ name: "missing", grade });
  const [failed] = await Promise.allSettled([
    grader.grade(replyContext("1")),
    pool.guard(exactMatch()).grade(replyContext("1", "1")),
  ]);
  assertMatch(String(failed.status === "rejected" && failed.reason), /^TypeError: Module not found/);
  assertEquals(await pool.guard(exactMatch()).grade(replyContext("1", "1")), { score: 1 });
});

Deno.test("GraderPool refuses options that are not above 0", () => {
  assertThrows(() => new GraderPool({ deadlineMs: 0 }), RangeError, "'deadlineMs' must be > 0");
  assertThrows(() => new GraderPool({ heapMb: NaN }), RangeError, "'heapMb' must be > 0");
});
