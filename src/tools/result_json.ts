/** Options of {@linkcode resultJson}. */
export interface ResultJsonOptions {
  /**
   * Spaces for each level of nesting.
   * @default no line breaks
   */
  indent?: number | undefined;
  /**
   * If true, writes each non-ASCII character as `\uXXXX`.
   * @default false
   */
  ascii?: boolean | undefined;
}

/**
 * Returns the result of a tool as JSON; `undefined` gives `null`.
 *
 * @throws {TypeError} when the value is circular or contains a bigint.
 */
export function resultJson(value: unknown, options: ResultJsonOptions = {}): string {
  const json = JSON.stringify(value, null, options.indent) ?? "null";
  return options.ascii ? json.replace(/[\x80-\uffff]/g, escapeCharacter) : json;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
