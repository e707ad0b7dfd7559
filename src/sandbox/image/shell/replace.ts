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
