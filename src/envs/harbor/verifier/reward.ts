import { parseUntrustedJson } from "../../../json.ts";

/** Reward of a verifier. */
export type HarborReward =
  | { readonly reward: number; readonly parts: Readonly<Record<string, number>> }
  /** Reason why there is no reward. */
  | { readonly unscored: string };

/** Contents of the reward files that count. */
export interface RewardFiles {
  readonly json?: string | undefined;
  readonly text?: string | undefined;
}

/** A number as Python's `float()` reads one: digits may have single underscores between them. */
const NUMBER = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?$/;

/**
 * Reads the reward as Harbor does: `reward.json`, else `reward.txt`. Of several numbers in `reward.json`, `reward` is the
 * reward; without a `reward`, their mean is.
 */
export function readReward({ json, text }: RewardFiles): HarborReward {
  if (json !== undefined) return readJson(json);
  if (text !== undefined) return readText(text);
  return { unscored: "the verifier wrote no reward file" };
}

function readText(text: string): HarborReward {
  const word = text.trim();
  const reward = NUMBER.test(word) ? Number(word.replaceAll("_", "")) : NaN;
  if (Number.isFinite(reward)) return { reward, parts: {} };
  return { unscored: `reward.txt must be a finite number: it is ${JSON.stringify(word.slice(0, 40))}` };
}

function readJson(text: string): HarborReward {
  let value: unknown;
  try {
    value = parseUntrustedJson(text);
  } catch {
    return { unscored: "reward.json is no JSON" };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { unscored: "reward.json must be an object of numbers" };
  }
  const entries = Object.entries(value).map((
    [name, part],
  ): [string, unknown] => [name, typeof part === "boolean" ? Number(part) : part]);
  const wrong = entries.find(([, part]) => !Number.isFinite(part));
  if (wrong !== undefined) {
    return { unscored: `'${wrong[0].slice(0, 40)}' of reward.json is no finite number` };
  }
  const parts = Object.fromEntries(entries) as Record<string, number>;
  const numbers = Object.values(parts);
  if (numbers.length === 0) return { unscored: "reward.json has no number" };
  const mean = numbers.reduce((sum, part) => sum + part, 0) / numbers.length;
  return { reward: parts.reward ?? mean, parts };
}
