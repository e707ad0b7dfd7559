/**
 * A value as JSON in which half of a surrogate pair is U+FFFD: what is no Unicode text, as a model or a tool may say
 * it, Python's `json` reads, and then nobody can write it.
 */
export function wellFormedJson(value: unknown): string {
  // JSON.stringify escapes a surrogate that is alone; the first branch passes over backslashes that are text
  return JSON.stringify(value).replace(
    /\\\\|\\ud[89a-f][\da-f]{2}/g,
    (escape) => escape.length > 2 ? "\ufffd" : escape,
  );
}
