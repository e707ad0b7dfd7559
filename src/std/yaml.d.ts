/** Parses the one document of a YAML text as of YAML 1.2's core schema; throws a `SyntaxError` on anything else. */
export function parse(text: string): unknown;
