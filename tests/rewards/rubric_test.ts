import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { GraderError } from "../../src/errors.ts";
import type { Grader, Score } from "../../src/rewards/grader.ts";
import { rubric } from "../../src/rewards/rubric.ts";
import { replyContext } from "./replies.ts";

function giving(name: string, score: Score | number | null): Grader {
  return { name, grade: () => score };
}

const half = giving("half", { score: 0.5, parts: { a: 1, b: null } });
const one = giving("one", 1);
const unknown = giving("unknown", null);

Deno.test("rubric() combines weighted scores and keeps the parts by name", async () => {
  const grader = rubric([{ grader: half, weight: 2 }, { grader: one, weight: -0.25, name: "penalty" }]);
  assertEquals(grader.name, "rubric");
  assertEquals(await grader.grade(replyContext("x")), {
    score: 0.75,
    parts: { half: 0.5, "half.a": 1, "half.b": null, penalty: 1 },
  });
});

Deno.test("rubric() returns null when a part with a weight has no score", async () => {
  const grader = rubric([{ grader: one, weight: 1 }, { grader: unknown, weight: 0.1 }]);
  assertEquals(await grader.grade(replyContext("x")), { score: null, parts: { one: 1, unknown: null } });
});

Deno.test("rubric() does not need the score of a part with weight 0", async () => {
  const grader = rubric([{ grader: one, weight: 1 }, { grader: unknown, weight: 0 }]);
  assertEquals(await grader.grade(replyContext("x")), { score: 1, parts: { one: 1, unknown: null } });
});

Deno.test("rubric() leaves out a part without a score if whenNull is leave_out", async () => {
  const options = { whenNull: "leave_out" } as const;
  const items = [{ grader: half, weight: 1 }, { grader: unknown, weight: 3 }];
  assertEquals((await rubric(items, options).grade(replyContext("x")) as Score).score, 2);
  const none = rubric([{ grader: unknown, weight: 1 }], options);
  assertEquals((await none.grade(replyContext("x")) as Score).score, null);
});

Deno.test("rubric() names the grader that failed", async () => {
  const boom = new Error("boom");
  const bad: Grader = { name: "bad", grade: () => Promise.reject(boom) };
  const grader = rubric([{ grader: one, weight: 1 }, { grader: bad, weight: 0, name: "worst" }]);
  const error = await assertRejects(
    async () => await grader.grade(replyContext("x")),
    GraderError,
    "Cannot grade with 'worst': boom",
  );
  assertEquals(error.cause, boom);
  await assertRejects(
    async () => await rubric([{ grader: giving("nan", NaN), weight: 1 }]).grade(replyContext("x")),
    GraderError,
    "Cannot grade with 'nan': the score must be a finite number or null",
  );
});

Deno.test("rubric() rethrows a cancellation unchanged", async () => {
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  const waiting: Grader = { name: "waiting", grade: ({ signal }) => Promise.reject(signal?.reason) };
  const grader = rubric([{ grader: waiting, weight: 1 }]);
  await assertRejects(async () => await grader.grade({ ...replyContext("x"), signal }), Error, "enough");
});

Deno.test("rubric() refuses an empty list, equal names and invalid weights", () => {
  assertThrows(
    () => rubric([]),
    RangeError,
    "Cannot make rubric as it must have at least one grader: found none",
  );
  const twice = [{ grader: one, weight: 1 }, { grader: half, weight: 1, name: "one" }];
  assertThrows(() => rubric(twice), TypeError, "each name must be unique: 'one' occurs twice");
  assertThrows(
    () => rubric([{ grader: one, weight: NaN }]),
    RangeError,
    "Cannot make rubric as the weight of 'one' must be a finite number: current value is NaN",
  );
  const options = JSON.parse('{"whenNull": "zero"}');
  assertThrows(() => rubric([{ grader: one, weight: 1 }], options), TypeError, "current value is 'zero'");
});
