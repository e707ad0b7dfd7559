import { assertEquals } from "@std/assert";
import { compareTrajectories, normalizeResult, repliesOf } from "../../../src/cli/replay/compare.ts";
import type { Message } from "../../../src/message.ts";
import { emptyTrajectory, type Trajectory } from "../../../src/rollout/trajectory.ts";
import type { ToolStatus } from "../../../src/tools/tool_result.ts";

function episode(results: readonly [text: string, status: ToolStatus][]): Trajectory {
  const messages: Message[] = [
    { role: "user", content: "an example" },
    { role: "assistant", content: "of the prompt" },
    { role: "user", content: "q" },
    ...results.flatMap(([text], index): Message[] => [
      { role: "assistant", content: `reply ${index + 1}` },
      { role: "tool", content: text },
    ]),
  ];
  const record = { call: 1, callId: "c", tool: "python", durationMs: 1, truncated: false };
  return {
    ...emptyTrajectory({ id: "a", query: "q" }),
    messages,
    turns: results.length,
    toolResults: results.map(([, status], index) => ({ ...record, turn: index + 1, status })),
  };
}

Deno.test("normalizeResult() replaces what differs from run to run, and nothing else", () => {
  const cases: [string, string][] = [
    ["<object at 0x7fabc0de1234>", "<object at <address>>"],
    ["took 3.25 ms, 12s", "took <duration>, <duration>"],
    ["at 2026-11-23 10:11:12.5+02:00", "at <time>"],
    ["1763892672.123", "<time>"],
    ["10:11:12", "<time>"],
    ["due 2024-02-29", "due 2024-02-29"],
    ["42 apples, 0x10, 3.14", "42 apples, 0x10, 3.14"],
    ["1234567890123", "1234567890123"],
  ];
  for (const [text, expected] of cases) assertEquals(normalizeResult(text), expected);
});

Deno.test("compareTrajectories() finds another text, another status and a missing turn", () => {
  const recorded = episode([["1", "ok"], ["2", "ok"], ["3", "ok"]]);
  assertEquals(compareTrajectories(recorded, recorded), []);
  const replayed = episode([["1", "ok"], ["2", "error"]]);
  assertEquals(compareTrajectories(recorded, replayed), [
    { turn: 2, recorded: "[python 1: ok]\n2", replayed: "[python 1: error]\n2" },
    { turn: 3, recorded: "[python 1: ok]\n3", replayed: "(not replayed)" },
  ]);
  const other = compareTrajectories(recorded, episode([["1", "ok"], ["7", "ok"], ["3", "ok"]]));
  assertEquals(other.map(({ turn }) => turn), [2]);
});

Deno.test("repliesOf() leaves out the assistant messages of the prompt", () => {
  const replies = repliesOf(episode([["1", "ok"], ["2", "ok"]]));
  assertEquals(replies.map(({ content }) => content), ["reply 1", "reply 2"]);
});
