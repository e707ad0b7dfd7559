/** The final answer in the text of a reply: the answer's text, or the name of a variable with the answer. */
export type FinalText = { readonly text: string } | { readonly variable: string };

/**
 * Finds `FINAL(…)` or `FINAL_VAR(…)` at the start of a line of a reply; the last match counts. The answer extends to
 * the closing parenthesis, so that `FINAL(f(3) = 9)` has the answer `f(3) = 9`. Without a closing parenthesis, the
 * answer extends to the end.
 */
export function findFinalText(reply: string): FinalText | undefined {
  const starts = [...reply.matchAll(/^[ \t]*(FINAL|FINAL_VAR)\(/gm)];
  const last = starts.at(-1);
  if (last === undefined) return undefined;
  const text = withinParentheses(reply, last.index + last[0].length);
  if (last[1] === "FINAL") return { text: text.trim() };
  const variable = text.trim().replace(/^(["'])(.*)\1$/s, "$2");
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(variable) ? { variable } : { text: text.trim() };
}

/** Returns the text from `start` to the parenthesis that closes the parenthesis before `start`. */
function withinParentheses(text: string, start: number): string {
  let open = 1;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "(") open++;
    else if (text[at] === ")" && --open === 0) return text.slice(start, at);
  }
  return text.slice(start);
}
