import { ArgumentTypeError } from "./errors.ts";

// Graders run in workers that load no packages, so that the distance of two names is computed here.

/**
 * Refuses options that a class or function does not have, and would ignore: TypeScript checks them only in programs that
 * it compiles.
 *
 * @param action What is refused, such as `create ToolTransform`.
 * @param known Each name of the options' type: TypeScript refuses a list that lacks a name.
 * @throws {TypeError} that names the known options, and the nearest.
 */
export function requireKnownOptions<Options extends object>(
  action: string,
  options: Options,
  known: Readonly<Record<keyof NoInfer<Options>, true>>,
): void {
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(known, name));
  const [first] = unknown;
  if (first === undefined) return;
  const names = Object.keys(known);
  throw new ArgumentTypeError(
    `Cannot ${action} as its options must be ${names.join(", ")}: found [${unknown.join(", ")}]; ` +
      `the nearest to '${first.slice(0, MAX_NAME)}' is '${nearestName(first.slice(0, MAX_NAME), names)}'`,
  );
}

/** Characters of an unknown name that are compared. */
const MAX_NAME = 100;

/** Returns the name with the fewest changes of single characters; the first of several. */
function nearestName(name: string, names: readonly string[]): string {
  const distances = names.map((known) => distanceOf(name, known));
  return names[distances.indexOf(Math.min(...distances))] ?? "";
}

/** Returns the number of characters to insert, delete or replace. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, character] of [...from].entries()) {
    const next = [at + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (character === to[column - 1] ? 0 : 1);
      next.push(Math.min((row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Returns those options of a caller that another class or function has. */
export function pickKnownOptions<Options extends object, Name extends string>(
  options: Options,
  known: Readonly<Record<Name, true>>,
): Pick<Options, Name & keyof Options> {
  const picked = Object.entries(options).filter(([name]) => Object.hasOwn(known, name));
  return Object.fromEntries(picked) as Pick<Options, Name & keyof Options>;
}
