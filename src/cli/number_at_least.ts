import { InvalidArgumentError } from "commander";

/** Reads an option's value as a number of at least `least`; anything else is wrong usage. */
export function parseNumberAtLeast(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (value.trim() !== "" && Number.isFinite(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a number >= ${least}.`);
  };
}
