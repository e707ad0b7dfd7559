import type { Transform } from "./transform.ts";

/** What {@linkcode turnLimit} needs. */
export interface TurnLimitOptions {
  /** Steps an episode may take. */
  turns: number;
}

/**
 * Truncates an episode that is still going on after so many turns.
 *
 * @throws {RangeError} when `turns` is not a whole number of at least 1.
 */
export function turnLimit(options: TurnLimitOptions): Transform {
  const { turns } = options;
  if (!Number.isInteger(turns) || turns < 1) {
    throw new RangeError(
      `Cannot limit turns as 'turns' must be a whole number >= 1: current value is ${turns}`,
    );
  }
  return {
    step: (step, { turn }) => turn < turns || step.terminated ? step : { ...step, truncated: true },
  };
}
