import { requireKnownOptions } from "../options.ts";
/** Method of {@linkcode advantages}. */
export type AdvantageMethod = "grpo" | "dr-grpo" | "rloo";

/** Options of {@linkcode advantages}. */
export interface AdvantagesOptions {
  /**
   * Group of each reward, such as `groupOf(task)`.
   *
   * @default all rewards are one group
   */
  groups?: readonly (string | number)[] | undefined;
  /**
   * Computes the advantage of a reward `r` in a group of `n` rewards:
   *
   * - `grpo`: `(r - mean) / (std + epsilon)` with the standard deviation of a sample (n - 1), as in GRPO;
   * - `dr-grpo`: `r - mean`, as in Dr. GRPO, which does not favour groups with a small deviation;
   * - `rloo`: `r` minus the mean of the other rewards of the group, as in REINFORCE leave-one-out.
   *
   * @default "grpo"
   */
  method?: AdvantageMethod | undefined;
  /**
   * Number that is added to the standard deviation.
   *
   * @default 1e-6
   */
  epsilon?: number | undefined;
  /**
   * Reward of an episode that was not scored. By default, the episode does not count in the group, and the advantage is
   * `null`.
   */
  nullReward?: number | undefined;
}

/**
 * Returns the advantage of each reward relative to the reward's group.
 *
 * In a group whose rewards are equal, and in a group of a single reward, each advantage is 0. The advantage of a `null`
 * reward is `null`: the trainer must leave the episode out, or state a reward as `nullReward`.
 *
 * @throws {RangeError} if a reward, `epsilon` or `nullReward` is not a finite number, if `epsilon` is negative, if the
 * numbers of groups and rewards differ, or if the method is unknown.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { advantages } from "@paddock/paddock";
 *
 * const rewards = [1, 0, null, 1, 1];
 * const groups = ["a", "a", "a", "b", "b"];
 * assertEquals(advantages(rewards, { groups, method: "dr-grpo" }), [0.5, -0.5, null, 0, 0]);
 * assertEquals(advantages(rewards, { groups, method: "rloo" }), [1, -1, null, 0, 0]);
 * ```
 */
export function advantages(
  rewards: readonly (number | null)[],
  options: AdvantagesOptions = {},
): (number | null)[] {
  requireKnownOptions("call advantages", options, {
    groups: true,
    method: true,
    epsilon: true,
    nullReward: true,
  });
  const { groups, method = "grpo", epsilon = 1e-6, nullReward } = options;
  requireOptions({ groups, method, epsilon, nullReward }, rewards.length);
  const scored = rewards.flatMap((reward, index) => {
    const value = reward ?? nullReward;
    if (value === undefined) return [];
    requireFinite(value, `rewards[${index}]`);
    return [{ index, value, group: groups?.[index] }];
  });
  const result = rewards.map((): number | null => null);
  for (const members of Map.groupBy(scored, ({ group }) => group).values()) {
    const relative = METHODS[method](members.map(({ value }) => value), epsilon);
    for (const [at, { index }] of members.entries()) result[index] = relative[at] ?? null;
  }
  return result;
}

type Method = (rewards: readonly number[], epsilon: number) => number[];

const METHODS: Readonly<Record<AdvantageMethod, Method>> = {
  grpo: (rewards, epsilon) => {
    const centred = centre(rewards);
    const squares = centred.reduce((sum, value) => sum + value ** 2, 0);
    const deviation = Math.sqrt(squares / Math.max(1, rewards.length - 1));
    return centred.map((value) => value === 0 ? 0 : value / (deviation + epsilon));
  },
  "dr-grpo": centre,
  // r - (sum - r) / (n - 1) is n / (n - 1) times r - mean
  rloo: (rewards) =>
    centre(rewards).map((value) => value === 0 ? 0 : value * rewards.length / (rewards.length - 1)),
};

/** Returns the rewards minus their mean: exactly 0 if all are equal, whatever the rounding of the mean. */
function centre(rewards: readonly number[]): number[] {
  const [first = 0] = rewards;
  if (rewards.every((reward) => reward === first)) return rewards.map(() => 0);
  const mean = rewards.reduce((sum, reward) => sum + reward / rewards.length, 0);
  return rewards.map((reward) => reward - mean);
}

function requireOptions(
  { groups, method, epsilon, nullReward }: AdvantagesOptions & { method: string; epsilon: number },
  count: number,
): void {
  if (!Object.hasOwn(METHODS, method)) {
    throw new RangeError(
      `Cannot compute advantages as 'method' must be one of ${Object.keys(METHODS).join(", ")}: ` +
        `current value is ${method}`,
    );
  }
  requireFinite(epsilon, "epsilon");
  if (epsilon < 0) {
    throw new RangeError(
      `Cannot compute advantages as 'epsilon' must be >= 0: current value is ${epsilon}`,
    );
  }
  if (nullReward !== undefined) requireFinite(nullReward, "nullReward");
  if (groups !== undefined && groups.length !== count) {
    throw new RangeError(
      `Cannot compute advantages as 'groups' must have one value for each of ${count} rewards: ` +
        `it has ${groups.length}`,
    );
  }
}

function requireFinite(value: number, name: string): void {
  if (Number.isFinite(value)) return;
  throw new RangeError(
    `Cannot compute advantages as '${name}' must be a finite number: current value is ${value}`,
  );
}
