// deno-lint-ignore no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Escapes control characters, and those that break a line or change the text direction. Keeps newlines and tabs. Untrusted text is
 * escaped before it reaches a terminal or a log: it could otherwise move the cursor, hide text or set the clipboard.
 */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

/** Escapes control characters, newlines and tabs, so that the text fits on one line. */
export function escapeLine(text: string): string {
  return escapeControls(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** Escapes the control characters that JSON allows in its strings. The text remains the same JSON. */
export function escapeJsonControls(json: string): string {
  return json.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
