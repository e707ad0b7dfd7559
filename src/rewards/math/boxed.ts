const BOX = /\\(?:boxed|fbox)\s*\{/y;

/** What stands in the last `\boxed{…}` of a text whose braces are balanced; `undefined` when there is none. */
export function lastBoxed(text: string): string | undefined {
  const open: { readonly start: number; readonly isBox: boolean }[] = [];
  let last = { start: -1, end: -1 };
  for (let at = 0; at < text.length; at++) {
    BOX.lastIndex = at;
    const box = text[at] === "\\" ? BOX.exec(text) : null;
    if (box !== null) at = BOX.lastIndex - 1;
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
