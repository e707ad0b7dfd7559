const BOX = /\\(?:boxed|fbox)\s*\{/y;
/** A box without braces, up to the next white space. A word after `\boxed` is prose about boxes. */
const BARE =
  /\\(?:boxed|fbox)(?![a-zA-Z])\s*(?![a-zA-Z]{2})((?:(?!\\(?:boxed|fbox))\\[a-zA-Z]+|[^\s$\\{}]|\{[^{}]*\}){1,200})/y;
const BEGINNING = /\\(?:boxed|fbox)(?![a-zA-Z])/;

/** Returns true if a text has a box, including one that cannot be read. */
export function hasBox(text: string): boolean {
  return BEGINNING.test(text);
}

/**
 * Returns the content of the last balanced `\boxed{…}` of a text, or of a later `\boxed 2`; `undefined` if
 * there is none.
 */
export function findLastBoxed(text: string): string | undefined {
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
      at++; // `\{` and `\}` are literal braces
    } else if (text[at] === "}") {
      const closed = open.pop();
      if (closed?.isBox && closed.start > last.start) last = { start: closed.start, end: at };
    }
  }
  return last.start < 0 ? undefined : text.slice(last.start, last.end).trim();
}
