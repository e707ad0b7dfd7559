import { closest } from "fastest-levenshtein";
import { ArgumentTypeError } from "./errors.ts";

/**
 * Refuses options that a class or function does not have, and would ignore.
 *
 * @throws {TypeError} that names the known options, and the nearest.
 */
export function requireKnownOptions(
  owner: string,
  options: object,
  known: Readonly<Record<string, true>>,
): void {
  const names = Object.keys(known);
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(known, name));
  const [first] = unknown;
  if (first === undefined) return;
  throw new ArgumentTypeError(
    `Cannot create ${owner} as its options must be ${names.join(", ")}: found [${unknown.join(", ")}]; ` +
      `the nearest to '${first.slice(0, 100)}' is '${closest(first.slice(0, 100), names)}'`,
  );
}
