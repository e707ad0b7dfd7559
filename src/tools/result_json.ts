/** How {@linkcode resultJson} writes. */
export interface ResultJsonOptions {
  /** Spaces for each level; all in one line unless given. */
  indent?: number | undefined;
  /** Writes every character beyond ASCII as `\uXXXX`. */
  ascii?: boolean | undefined;
}

/**
 * What a tool gave, as JSON; nothing at all is `null`.
 *
 * @throws {TypeError} when it cannot be written: it holds itself, or a bigint.
 */
export function resultJson(value: unknown, options: ResultJsonOptions = {}): string {
  const json = JSON.stringify(value, null, options.indent) ?? "null";
  return options.ascii ? json.replace(/[\x80-\uffff]/g, escaped) : json;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
