import { InvalidArgumentError, Option } from "commander";
import { checkEvery, MAX_EVERY_SECONDS } from "../sandbox/exec/exec_check.ts";
import type { CheckpointEvery } from "../sandbox/contract/checkpoint.ts";
import { UsageError } from "./cli_errors.ts";

/** Numbers that an option accepts. */
export interface NumberRange {
  readonly isWhole: boolean;
  readonly least?: number | undefined;
}

/** Parser of a number. Throws `InvalidArgumentError` for any other value. */
export interface NumberParser {
  (value: string): number;
  readonly range: NumberRange;
}

/** Parses the value of an option as a finite number. */
export const parseNumber: NumberParser = numberParser({ isWhole: false });

/** Returns a parser of numbers >= `least`. */
export function parseNumberAtLeast(least: number): NumberParser {
  return numberParser({ isWhole: false, least });
}

/** Returns a parser of whole numbers >= `least`. */
export function parseWholeNumber(least: number): NumberParser {
  return numberParser({ isWhole: true, least });
}

function numberParser(range: NumberRange): NumberParser {
  const parse = (value: string) => {
    const number = Number(value);
    const isNumber = range.isWhole ? /^\d+$/.test(value) : value.trim() !== "";
    if (isNumber && isInRange(number, range)) return number;
    throw new InvalidArgumentError(`It must be ${describeRange(range)}.`);
  };
  return Object.assign(parse, { range });
}

/** Returns true if a number lies in a range. */
export function isInRange(number: number, { isWhole, least = -Infinity }: NumberRange): boolean {
  return (isWhole ? Number.isSafeInteger(number) : Number.isFinite(number)) && number >= least;
}

/** Returns the words for the numbers of a range: `a whole number >= 1`. */
export function describeRange({ isWhole, least }: NumberRange): string {
  return `a ${isWhole ? "whole " : ""}number${least === undefined ? "" : ` >= ${least}`}`;
}

/** Parses when sessions take checkpoints: `exec`, or a number of seconds. */
export function parseCheckpointEvery(value: string): CheckpointEvery {
  const every = value === "exec" ? value : Number(value || NaN);
  try {
    checkEvery(every);
  } catch {
    throw new InvalidArgumentError(`It must be exec, or > 0 and <= ${MAX_EVERY_SECONDS} seconds.`);
  }
  return every;
}

/** Adds a value to the values of an option that may be repeated. */
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

const namesOfOptions = new WeakMap<Option, readonly string[]>();

/** Returns an option whose value is a name of the list, or begins with such a name. The help text lists the names. */
export function nameOption(flags: string, description: string, names: readonly string[]): Option {
  const option = new Option(flags, `${description}: ${names.join(", ")}`);
  namesOfOptions.set(option, names);
  return option;
}

/** Returns the names that an option may have as value, for help and completion. */
export function valueNames(option: Option): readonly string[] {
  return option.argChoices ?? namesOfOptions.get(option) ?? [];
}

/** Formats the entries of a table for a help text, a line each. */
export function formatNames(title: string, table: Readonly<Record<string, { about: string }>>): string {
  const lines = Object.entries(table).map(([name, { about }]) => `  ${name.padEnd(16)}${about}`);
  return `\n${title}:\n${lines.join("\n")}\n`;
}
