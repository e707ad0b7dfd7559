const BOX = /\\(?:boxed|fbox)\s*\{/y;
/** A box without braces, as far as the next white space; a word behind it speaks of boxes. */
const BARE =
  /\\(?:boxed|fbox)(?![a-zA-Z])\s*(?![a-zA-Z]{2})((?:(?!\\(?:boxed|fbox))\\[a-zA-Z]+|[^\s$\\{}]|\{[^{}]*\}){1,200})/y;
const BEGINNING = /\\(?:boxed|fbox)(?![a-zA-Z])/;

/** Whether a text has a box, be it one that cannot be read. */
export function hasBox(text: string): boolean {
  return BEGINNING.test(text);
}

/**
 * What stands in the last `\boxed{…}` of a text whose braces are balanced, or in a `\boxed 2` behind it; `undefined`
 * when there is none.
 */
export function lastBoxed(text: string): string | undefined {
  const open: { readonly start: number; readonly isBox: boolean }[] = [];
  let last = { start: -1, end: -1 };
  for (let at = 0; at < text.length; at++) {
    BOX.lastIndex = at;
    const box = text[at] === "\\" ? BOX.exec(text) : null;
    if (box !== null) at = BOX.lastIndex - 1;
    BARE.lastIndex = at;
    const bare = box === null && text[at] === "\\" ? BARE.exec(text) : null;
    if (bare !== null) last = { start: BARE.lastIndex - (bare[1]?.length ?? 0), end: BARE.lastIndex };
    if (box !== null || text[at] === "{") {
      open.push({ start: at + 1, isBox: box !== null });
    } else if (text[at] === "\\") {
      at++; // `\{` and `\}` are braces that are shown
    } else if (text[at] === "}") {
      const closed = open.pop();
      if (closed?.isBox && closed.start > last.start) last = { start: closed.start, end: at };
    }
  }
  return last.start < 0 ? undefined : text.slice(last.start, last.end).trim();
}
