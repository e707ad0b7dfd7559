import { UsageError } from "./usage_error.ts";

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
