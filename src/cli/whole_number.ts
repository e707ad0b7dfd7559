import { InvalidArgumentError } from "commander";

/** Reads an option's value as a whole number of at least `least`; anything else is wrong usage. */
export function parseWholeNumber(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a whole number >= ${least}.`);
  };
}
