import { assertEquals } from "@std/assert";
import { SummaryTable } from "../../../../src/cli/rollout/report/summary_table.ts";
import { emptyTrajectory, type Trajectory, withFailure } from "../../../../src/rollout/trajectory.ts";

function episode(id: string, sample = 1): Trajectory {
  const tool = { turn: 1, call: 1, callId: "c", tool: "python", durationMs: 1, truncated: false } as const;
  return {
    ...emptyTrajectory({ id, query: "q" }, { sample }),
    reward: 0.1 + 0.2,
    turns: 2,
    toolResults: [{ ...tool, status: "timeout" }, { ...tool, status: "ok" }],
    times: { totalMs: 1234.5, policyMs: 0, envMs: 0 },
  };
}

Deno.test("SummaryTable.text() has a line for each episode of a short run", () => {
  const table = new SummaryTable();
  table.add(episode("paint"));
  table.add(withFailure({ ...episode("\x1b[2J\nx", 2), reward: null }, new Error("no")));
  assertEquals(
    table.format(),
    `task           turns  reward    ms  tools
paint              2     0.3  1235  timeout, ok
\\x1b[2J\\nx #2      2       -  1235  failed: env

`,
  );
});

Deno.test("SummaryTable.text() is empty for a long run, and for none", () => {
  const table = new SummaryTable();
  assertEquals(table.format(), "");
  for (let count = 0; count < 25; count++) table.add(episode("a"));
  assertEquals(table.format(), "");
});
