const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

/**
 * Returns a path as git prints it: with quotes and escapes if it has unusual characters.
 *
 * @param keepsBytes Whether bytes above 0x7f are printed as they are, as `core.quotePath=false` wants.
 */
export function quotedPath(path: string, keepsBytes = false): string {
  // deno-lint-ignore no-control-regex
  const unusual = keepsBytes ? /[\x00-\x1f\x7f"\\]/g : /[\x00-\x1f\x7f-\xff"\\]/g;
  if (path.search(unusual) < 0) return path;
  return `"${
    path.replace(unusual, (sign) => ESCAPES[sign] ?? `\\${sign.charCodeAt(0).toString(8).padStart(3, "0")}`)
  }"`;
}

const UNESCAPES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(ESCAPES).map(([sign, text]) => [text.slice(1), sign]),
);

/** Reads a path that may be quoted at the start of a text. Returns it and what follows. */
export function unquotedPath(text: string): { path: string; rest: string } | undefined {
  if (!text.startsWith('"')) return undefined;
  const [whole, inner = ""] = /^"((?:[^"\\]|\\.)*)"/s.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const path = inner.replace(
    /\\([0-7]{3}|.)/gs,
    (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : UNESCAPES[code] ?? code,
  );
  return { path, rest: text.slice(whole.length) };
}

/** Returns both paths of a renamed file in a text, such as `src/{a => b}/c.py`. */
export function renameText(from: string, to: string): string {
  if (quotedPath(from) !== from || quotedPath(to) !== to) return `${quotedPath(from)} => ${quotedPath(to)}`;
  let start = 0;
  for (let at = 0; at < from.length && at < to.length && from[at] === to[at]; at++) {
    if (from[at] === "/") start = at + 1;
  }
  // The slash that ends the shared start may begin the shared end as well.
  const limit = start > 0 ? start - 1 : 0;
  let tail = 0;
  for (let length = 1; length <= from.length - limit && length <= to.length - limit; length++) {
    const sign = from[from.length - length];
    if (sign !== to[to.length - length]) break;
    if (sign === "/") tail = length;
  }
  const inner = (path: string) => path.slice(start, Math.max(start, path.length - tail));
  if (start + tail === 0) return `${from} => ${to}`;
  return `${from.slice(0, start)}{${inner(from)} => ${inner(to)}}${
    tail > 0 ? from.slice(from.length - tail) : ""
  }`;
}
