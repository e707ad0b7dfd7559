import { assertEquals, assertThrows } from "@std/assert";
import type { Step } from "../../src/envs/env.ts";
import { History } from "../../src/history.ts";
import type { DeniedAttempts } from "../../src/sandbox/contract/exec.ts";
import { PenalizeDenials } from "../../src/transforms/penalize_denials.ts";

const observation = { task: { id: "1", query: "?" }, history: { prompt: History.fromChats([]) } };

function stepWith(reward: number | null, ...denied: DeniedAttempts[]): Step {
  const toolResults = denied.map((counts, index) => ({
    tool: "python",
    call: index + 1,
    callId: `c${index}`,
    status: "ok" as const,
    text: "",
    durationMs: 1,
    truncated: false,
    exec: {
      status: "ok" as const,
      stdout: "",
      stderr: "",
      durationMs: 1,
      stateKept: true,
      truncated: false,
      denied: counts,
    },
  }));
  return { ...observation, reward, terminated: false, truncated: false, toolResults };
}

Deno.test("PenalizeDenials subtracts refused attempts from the next reward, up to its maximum", () => {
  const transform = new PenalizeDenials({ perAttempt: 0.25, max: 1 });
  transform.reset(observation);
  const rewards = [
    stepWith(null, { files: 1, network: 1 }),
    stepWith(1, { javascript: 1 }),
    stepWith(1),
    stepWith(0, { files: 1_000_000 }),
    stepWith(1, { files: 1 }),
  ].map((step) => transform.step(step).reward);
  assertEquals(rewards, [null, 0.25, 1, -0.25, 1]);
  transform.reset(observation);
  assertEquals(transform.step(stepWith(1, { files: 1 })), {
    ...stepWith(1, { files: 1 }),
    reward: 0.75,
    rewardParts: { denials: -0.25 },
  });
});

Deno.test("PenalizeDenials counts calls from code that a limit refused", () => {
  const transform = new PenalizeDenials({ perAttempt: 0.25 });
  transform.reset(observation);
  const call = { caller: "code", callId: "c", tool: "search", durationMs: 1, truncated: false } as const;
  const [block, ...others] = stepWith(1, {}).toolResults;
  if (block === undefined || others.length > 0) throw new Error("one block");
  const calls = (["refused", "error", "ok", "refused"] as const).map((status, at) => ({
    ...call,
    status,
    call: at + 1,
  }));
  assertEquals(transform.step({ ...stepWith(1), toolResults: [{ ...block, calls }] }).reward, 0.5);
});

Deno.test("PenalizeDenials never raises a reward", () => {
  const transform = new PenalizeDenials();
  transform.reset(observation);
  assertEquals(transform.step(stepWith(0.5, { files: -5 })).reward, 0.5);
  assertEquals(transform.step(stepWith(0.5)).reward, 0.5);
  for (const options of [{ perAttempt: -1 }, { perAttempt: NaN }, { max: -1 }, { max: Infinity }]) {
    assertThrows(() => new PenalizeDenials(options), RangeError, "must be a finite number >= 0");
  }
});
