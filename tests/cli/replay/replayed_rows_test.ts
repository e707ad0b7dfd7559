import { assertEquals, assertRejects } from "@std/assert";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { isQuestion, replayedRows } from "../../../src/cli/replay/replayed_rows.ts";
import { ToolError } from "../../../src/errors.ts";
import { emptyTrajectory, type Trajectory } from "../../../src/rollout/trajectory.ts";

const signal = new AbortController().signal;

function episode(id: string, questions?: number): Trajectory {
  const empty = emptyTrajectory({ id, query: "q" }, { id, envName: "rlm" });
  return { ...empty, ...(questions !== undefined && { info: { sub_calls: questions } }) };
}

function question(
  id: string,
  call: number,
  { prompt = "p", reply }: { prompt?: string; reply?: string } = {},
) {
  const parent = { id, turn: 1, call };
  const empty = emptyTrajectory({ id: `${id}/${call}`, query: prompt }, { id: `${id}.${call}`, parent });
  const messages = [
    { role: "user", content: prompt },
    ...(reply === undefined ? [] : [{ role: "assistant", content: reply }]),
  ];
  return { ...empty, messages, turns: reply === undefined ? 0 : 1 };
}

async function* of(...trajectories: Trajectory[]) {
  yield* trajectories;
}

Deno.test("replayedRows() yields an episode after the rows of its questions, which may stand between others", async () => {
  const chat = emptyTrajectory({ id: "chat", query: "q" });
  const rows = await Array.fromAsync(replayedRows(of(
    episode("a", 2),
    question("a", 1, { reply: "one" }),
    episode("b", 0),
    chat,
    question("a", 2, { prompt: "r", reply: "<think>hm</think>two" }),
  )));
  assertEquals(rows.map(({ row, trajectory }) => [row, isQuestion(trajectory)]), [
    [2, true],
    [3, false],
    [4, false],
    [5, true],
    [1, false],
  ]);
  const { answer } = rows.at(-1) ?? {};
  const ask = (prompt: string, number: number, turn = 1) => answer?.({ prompt, number, turn, signal });
  await assertRejects(async () => await ask("r", 2, 2), ToolError, "no such question of this turn");
  assertEquals(await ask("r", 1), "two"); // in another order than before
  assertEquals(await ask("p", 2), "one");
  await assertRejects(async () => await ask("p", 1), ToolError, "no such question");
});

Deno.test("replayedRows() raises the failure of a question again, and refuses an episode that lacks a row", async () => {
  const failed = {
    ...question("a", 1),
    error: { boundary: "policy", name: "PolicyError", message: "no" } as const,
  };
  const stopped = await Array.fromAsync(replayedRows(of(episode("a"), failed))); // it has not reached its end
  await assertRejects(
    async () => await stopped.at(-1)?.answer?.({ prompt: "p", number: 1, turn: 1, signal }),
    ToolError,
    "the model gave no reply: no",
  );
  await assertRejects(
    () => Array.fromAsync(replayedRows(of(episode("a", 2), question("a", 1)))),
    UsageError,
    "its code asked 2 questions: the file has the rows of 1",
  );
});
