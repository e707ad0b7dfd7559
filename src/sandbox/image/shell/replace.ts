import { SandboxError } from "../../../errors.ts";

/** A replacement of a match, with `$1` for its first group. */
export type Replacement = string | ((match: string, group: string) => string);

/**
 * Replaces all matches in minified code.
 *
 * @throws {SandboxError} if there are not `count` matches, as in another version of the engine.
 */
export function replace(source: string, pattern: RegExp, replacement: Replacement, count: number): string {
  const found = [...source.matchAll(pattern)].length;
  if (found === count) return source.replace(pattern, replacement as string);
  throw new SandboxError(
    `Cannot build the shell as its engine must have '${pattern.source}' in ${count} places: found ${found}`,
  );
}

/**
 * Returns the first group of the only match in minified code, such as the name of a class.
 *
 * @throws {SandboxError} if there is not one match.
 */
export function findName(source: string, pattern: RegExp): string {
  const found = [...source.matchAll(pattern)];
  const [, name] = found[0] ?? [];
  if (found.length === 1 && name !== undefined) return name;
  throw new SandboxError(
    `Cannot build the shell as its engine must have '${pattern.source}' once: found ${found.length}`,
  );
}
