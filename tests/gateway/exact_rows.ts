import { assertEquals } from "@std/assert";
import type { InteractionResult } from "../../src/rollout/interaction.ts";
import type { Sampled } from "./scripted_model.ts";

/** Checks that the sampled ids of all rows are those of the server, each once, after the prompt that the server got. */
export function requireExact(rows: readonly InteractionResult[], sampled: readonly Sampled[]): void {
  const found = rows.flatMap(({ tokens, turns }) =>
    turns.map(({ sampled: { start, length } = { start: 0, length: 0 } }) => ({
      prompt: tokens.slice(0, start),
      ids: tokens.slice(start, start + length),
    }))
  );
  const keyOf = ({ prompt, ids }: Pick<Sampled, "prompt" | "ids">) => `${prompt.join()};${ids.join()}`;
  const byText = (one: Pick<Sampled, "prompt" | "ids">, other: Pick<Sampled, "prompt" | "ids">) =>
    keyOf(one) < keyOf(other) ? -1 : 1;
  assertEquals(found.sort(byText), sampled.map(({ prompt, ids }) => ({ prompt, ids })).sort(byText));
  const masked = rows.flatMap(({ loss_mask }) => loss_mask).filter((mask) => mask === 1).length;
  assertEquals(masked, sampled.reduce((sum, { ids }) => sum + ids.length, 0));
}
