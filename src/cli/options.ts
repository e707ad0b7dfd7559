import { InvalidArgumentError } from "commander";
import { UsageError } from "./errors.ts";

/**
 * Parses the value of an option as a number.
 *
 * @throws {InvalidArgumentError} if it is not a finite number.
 */
export function parseNumber(value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && Number.isFinite(number)) return number;
  throw new InvalidArgumentError("It must be a number.");
}

/** Returns a parser of numbers >= `least`; it throws `InvalidArgumentError` for any other value. */
export function parseNumberAtLeast(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (value.trim() !== "" && Number.isFinite(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a number >= ${least}.`);
  };
}

/** Returns a parser of whole numbers >= `least`; it throws `InvalidArgumentError` for any other value. */
export function parseWholeNumber(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a whole number >= ${least}.`);
  };
}

/** Adds a value to those of an option that may be repeated. */
export function collectValues(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

/**
 * Returns the entry of a table by name.
 *
 * @throws {UsageError} if the name is unknown. The message lists all names.
 */
export function lookUp<T>(table: Readonly<Record<string, T>>, name: string, kind: string): T {
  const entry = Object.hasOwn(table, name) ? table[name] : undefined;
  if (entry !== undefined) return entry;
  throw new UsageError(`Cannot find ${kind} '${name}': available are ${Object.keys(table).join(", ")}`);
}

/** Formats the entries of a table for a help text, one line each. */
export function formatNames(title: string, table: Readonly<Record<string, { about: string }>>): string {
  const lines = Object.entries(table).map(([name, { about }]) => `  ${name.padEnd(16)}${about}`);
  return `\n${title}:\n${lines.join("\n")}\n`;
}
