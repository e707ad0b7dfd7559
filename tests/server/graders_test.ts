import { assertEquals, assertRejects } from "@std/assert";
import { History } from "../../src/history.ts";
import { numberMatch } from "../../src/rewards/text_match.ts";
import type { Grader } from "../../src/rewards/grader.ts";
import { GraderPool } from "../../src/rewards/worker/grader_pool.ts";
import { gradeOrThrow, guardGrader } from "../../src/server/graders.ts";
import { ServerError } from "../../src/server/http/http_errors.ts";

const history = History.fromChats([{ role: "assistant", content: "4" }]);

Deno.test("guardGrader() fails with 'timeout' when the pool does not grade in time", async () => {
  await using pool = new class extends GraderPool {
    override guardParts({ name }: Grader): Grader {
      return {
        name,
        grade: ({ signal }) =>
          new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
      };
    }
  }();
  const grader = guardGrader(numberMatch(), { pool, owner: "a", waitMs: 10 });
  const error = await assertRejects(
    () => gradeOrThrow(grader, { task: { id: "1", query: "?", answer: "4" }, history }),
    ServerError,
    "No grader was free within 10 ms",
  );
  assertEquals([error.code, error.retryAfter], ["timeout", 1]);
});

Deno.test("guardGrader() refuses a large task and does not serialize it", async () => {
  await using pool = new GraderPool();
  const toJSON = () => {
    throw new Error("serialized");
  };
  const fields = { text: "a".repeat(2_000_000), late: { toJSON } };
  const grader = guardGrader(numberMatch(), { pool, owner: "a" });
  const error = await assertRejects(
    async () => await grader.grade({ task: { id: "1", query: "?", fields }, history }),
    ServerError,
    "must have at most 1048576 characters each",
  );
  assertEquals(error.code, "too_large");
});

Deno.test("guardGrader() tells a grader that runs programs for whom it grades", async () => {
  await using pool = new GraderPool();
  const owners: unknown[] = [];
  const grader: Grader = { name: "own", grade: ({ owner }) => (owners.push(owner), 1) };
  await guardGrader(grader, { pool, owner: "a" }).grade({ task: { id: "1", query: "?" }, history });
  assertEquals(owners, ["a"]);
});
