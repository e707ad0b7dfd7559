import { assertEquals, assertThrows } from "@std/assert";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { parseInteraction, toInteractionResult } from "../../src/rollout/interaction_result.ts";
import { trainingRollout } from "../../src/rollout/training_rollout.ts";
import { emptyTrajectory } from "../../src/rollout/trajectory.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { RecordedEnv } from "../recorded_env.ts";

await using env = new RecordedEnv({ observations: ["bye ###STOP###"], reward: 1 });
const policy = scriptedPolicy({ replies: () => ["hello"] });
const result = await trainingRollout(env, policy, byteTokenizer(), { family: "qwen", seed: 7 });
const line = JSON.stringify(result);
const tokens = { ids: [1], lossMask: [0], promptText: "q", promptLength: 1 } as const;

Deno.test("parseInteraction() accepts a written line, and unknown keys", () => {
  assertEquals(parseInteraction(JSON.parse(line)), result);
  assertEquals<unknown>(parseInteraction({ ...result, more: 1 }), { ...result, more: 1 });
});

Deno.test("parseInteraction() reports what is invalid in a line", () => {
  const cases: [unknown, string][] = [
    [[], "object"],
    [{ ...result, status: "lost" }, "status: "],
    [{ ...result, loss_mask: [2] }, "loss_mask.0: "],
    [{ ...result, loss_mask: [1] }, "must have"],
    [{ ...result, log_probs: [0] }, "must have"],
    [
      { ...result, turns: [{ turn: 1, reward: 0, sampled: { start: 0, length: 1e9 } }] },
      "turn 1 must be within",
    ],
    [{ ...result, messages: [{ content: "x" }] }, "messages: "],
  ];
  for (const [value, says] of cases) assertThrows(() => parseInteraction(value), SyntaxError, says);
});

Deno.test("toInteractionResult() writes the group of the episode", () => {
  const trajectory = { ...emptyTrajectory({ id: "a", query: "q" }), tokens };
  assertEquals(toInteractionResult(trajectory).group, "a");
  const grouped = { ...trajectory, task: { id: "a", query: "q", group: "a#2" } };
  assertEquals(toInteractionResult(grouped).group, "a#2");
  const { group: _, ...older } = toInteractionResult(grouped);
  assertEquals(parseInteraction(older).group, undefined);
});

Deno.test("toInteractionResult() writes the factor of limits of time", () => {
  const trajectory = { ...emptyTrajectory({ id: "a", query: "q" }, { timeScale: 2.5 }), tokens };
  assertEquals(toInteractionResult(trajectory).time_scale, 2.5);
});
