import { InvalidArgumentError } from "commander";

/** Reads an option's value as a number; anything else is wrong usage. */
export function parseNumber(value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && Number.isFinite(number)) return number;
  throw new InvalidArgumentError("It must be a number.");
}
