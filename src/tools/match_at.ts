/** Returns the match of a sticky pattern at index `at`, or `undefined` if there is none. */
export function stickyMatch(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
