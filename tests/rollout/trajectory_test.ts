import { assertEquals } from "@std/assert";
import type { Env } from "../../src/envs/env.ts";
import { History } from "../../src/history.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { tokensOfEpisode, toTurnRecord } from "../../src/rollout/trajectory.ts";
import { rollout } from "../../src/rollout/rollout.ts";

function turn(number: number, promptTokens: number | undefined, ids?: number[]) {
  const message = { role: "assistant", content: "" };
  return toTurnRecord({ turn: number, policyMs: 0, promptTokens }, {
    message,
    ...(ids && { tokens: { ids } }),
  });
}

Deno.test("tokensOfEpisode() masks exactly the sampled tokens", () => {
  const ids = [1, 2, 50, 51, 3, 4, 52, 5];
  assertEquals(tokensOfEpisode(ids, [turn(1, 2, [50, 51]), turn(2, 6, [52])]), {
    ids,
    lossMask: [0, 0, 1, 1, 0, 0, 1, 0],
  });
});

Deno.test("tokensOfEpisode() returns null if the env did not keep the sampled tokens", () => {
  assertEquals(tokensOfEpisode([1, 2, 50, 99], [turn(1, 2, [50, 51])]), null);
  assertEquals(tokensOfEpisode([1, 2, 50], [turn(1, 2, [50, 51])]), null);
});

Deno.test("tokensOfEpisode() returns undefined if the env or the policy has no tokens", () => {
  assertEquals(tokensOfEpisode(undefined, [turn(1, undefined, [50])]), undefined);
  assertEquals(tokensOfEpisode([1, 2], [turn(1, 2)]), undefined);
  assertEquals(tokensOfEpisode([1, 2], [turn(1, undefined, [2])]), undefined);
  assertEquals(tokensOfEpisode([1, 2], []), undefined);
});

/** Counts in tokens as an append-only env does: what was sampled, then a 7 for what comes back. */
class TokenEnv implements Env {
  #prompt: readonly number[] = [];

  reset: Env["reset"] = (task) => {
    this.#prompt = [1, 2];
    const prompt = History.fromChats([{ role: "user", content: "q" }]);
    return Promise.resolve({ task, history: { prompt }, tokens: { prompt: this.#prompt } });
  };

  step: Env["step"] = ({ history, tokens }) => {
    this.#prompt = [...this.#prompt, ...tokens?.response ?? [], 7];
    const prompt = History.fromChats(history?.response ?? []);
    const outcome = { reward: null, terminated: false, truncated: false, toolResults: [] };
    return Promise.resolve({
      task: { id: "t", query: "q" },
      history: { prompt },
      tokens: { prompt: this.#prompt },
      ...outcome,
    });
  };

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

Deno.test("rollout() returns an episode's tokens with their loss mask", async () => {
  await using env = new TokenEnv();
  const message = { role: "assistant", content: "x" };
  const seen: unknown[] = [];
  const policy = scriptedPolicy({
    script: (_, { tokens }) => {
      seen.push(tokens);
      return { message, tokens: { ids: [50, 51] } };
    },
  });
  const { tokens, steps } = await rollout(env, policy, { id: "t", query: "q" }, { maxTurns: 2 });
  assertEquals(seen, [[1, 2], [1, 2, 50, 51, 7]]);
  assertEquals(tokens, { ids: [1, 2, 50, 51, 7, 50, 51, 7], lossMask: [0, 0, 1, 1, 0, 1, 1, 0] });
  assertEquals(steps.map(({ tokens }) => tokens?.start), [2, 5]);
});
