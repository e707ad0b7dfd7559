// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text in one line: its line ends and tabs are escapes as well. */
export function escapeLine(text: string): string {
  return escapeControls(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** The text with control characters, and those that turn the direction of writing, as escapes. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`;
  });
}
