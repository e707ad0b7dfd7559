/**
 * Serializes a value as JSON and replaces each unpaired surrogate with U+FFFD. Models and tools can produce
 * unpaired surrogates; Python's `json` reads them, but Python then cannot encode the string.
 */
export function toWellFormedJson(value: unknown): string {
  // JSON.stringify escapes unpaired surrogates. The first alternative skips escaped backslashes.
  return JSON.stringify(value).replace(
    /\\\\|\\ud[89a-f][\da-f]{2}/g,
    (escape) => escape.length > 2 ? "\ufffd" : escape,
  );
}
