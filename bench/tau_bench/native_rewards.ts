import { z } from "zod";
import { type NativeOptions, nativePython } from "./native_python.ts";
import type { RewardCase } from "./reward_cases.ts";

/** Reward of an episode, with its parts. */
export interface Rewarded {
  readonly reward: number;
  /** 1 if the data are as the task's own actions leave them, else 0. */
  readonly database: number;
  readonly gt_data_hash: string;
  /** True for each required output that the user received; `null` if the task requires none. */
  readonly outputs: Readonly<Record<string, boolean>> | null;
  /** Required actions, as JSON texts. */
  readonly actions: readonly string[];
}

const rewardedSchema: z.ZodType<Rewarded> = z.object({
  reward: z.number(),
  database: z.number(),
  gt_data_hash: z.string(),
  outputs: z.record(z.string(), z.boolean()).nullable(),
  actions: z.array(z.string().transform((text) => JSON.stringify(JSON.parse(text)))),
});

/**
 * Plays episodes with a `python3` of the host, and yields the results of tau-bench's own `calculate_reward`.
 *
 * @throws {Error} when that Python fails.
 */
export async function* nativeRewards(
  python: string,
  options: NativeOptions & { cases: readonly RewardCase[] },
): AsyncGenerator<Rewarded> {
  const cases = JSON.stringify(JSON.stringify(options.cases));
  const call = `rewards(checkout, domain, split, json.loads(${cases}))`;
  for await (const value of nativePython(python, call, options)) yield rewardedSchema.parse(value);
}
