import { InvalidArgumentError } from "commander";
import { UsageError } from "./errors.ts";

/** Reads an option's value as a number; anything else is wrong usage. */
export function parseNumber(value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && Number.isFinite(number)) return number;
  throw new InvalidArgumentError("It must be a number.");
}

/** Reads an option's value as a number of at least `least`; anything else is wrong usage. */
export function parseNumberAtLeast(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (value.trim() !== "" && Number.isFinite(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a number >= ${least}.`);
  };
}

/** Reads an option's value as a whole number of at least `least`; anything else is wrong usage. */
export function parseWholeNumber(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a whole number >= ${least}.`);
  };
}

/** The values of an option that may be given several times. */
export function collectValues(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

/**
 * The entry of a table.
 *
 * @throws {UsageError} that names all entries when there is none of this name.
 */
export function lookUp<T>(table: Readonly<Record<string, T>>, name: string, what: string): T {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found !== undefined) return found;
  throw new UsageError(`Cannot find ${what} '${name}': there are ${Object.keys(table).join(", ")}`);
}

/** The entries of a table for a help text, one line each. */
export function formatNames(title: string, table: Readonly<Record<string, { about: string }>>): string {
  const lines = Object.entries(table).map(([name, { about }]) => `  ${name.padEnd(16)}${about}`);
  return `\n${title}:\n${lines.join("\n")}\n`;
}
