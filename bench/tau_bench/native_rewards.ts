import { z } from "zod";
import { type NativeOptions, nativePython } from "./native_python.ts";
import type { RewardCase } from "./reward_cases.ts";

/** What an episode was worth, and why. */
export interface Rewarded {
  readonly reward: number;
  /** 1 when the data were as the task's own actions leave them. */
  readonly database: number;
  readonly gt_data_hash: string;
  /** Which of the task's outputs were said; `null` where it wants none. */
  readonly outputs: Readonly<Record<string, boolean>> | null;
  /** What was to be done, as JSON texts. */
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
 * Plays episodes with a `python3` of the host and gives what tau-bench's own `calculate_reward` says.
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
