/** Lines of a YAML text, from `start` up to `end`. */
interface Block {
  readonly lines: readonly string[];
  readonly start: number;
  readonly end: number;
}

/**
 * The number of the line where a value of a YAML text stands, counted from 1: of the innermost of its keys that has a
 * line of its own.
 */
export function yamlLine(text: string, path: readonly PropertyKey[]): number {
  const lines = text.split("\n");
  let block: Block = { lines, start: 0, end: lines.length };
  let line = 0;
  for (const key of path) {
    const at = lineOf(block, key);
    if (at === undefined) break;
    line = at;
    block = blockBehind(block, at, typeof key === "number");
  }
  return line + 1;
}

function lineOf(block: Block, key: PropertyKey): number | undefined {
  const indent = indentOf(block);
  if (indent === undefined) return undefined;
  let items = -1;
  for (let at = block.start; at < block.end; at++) {
    const text = block.lines[at] ?? "";
    if (isBlank(text) || indentation(text) !== indent) continue;
    const rest = text.slice(indent);
    if (typeof key === "number") {
      if (/^-(\s|$)/.test(rest) && ++items === key) return at;
    } else if (keyOf(rest) === String(key)) return at;
  }
  return undefined;
}

/** What stands under a key, or in an item of a list: its first line is then the item's own. */
function blockBehind({ lines, start: _, end: limit }: Block, at: number, isItem: boolean): Block {
  const own = indentation(lines[at] ?? "");
  let end = at + 1;
  for (; end < limit; end++) {
    const text = lines[end] ?? "";
    if (isBlank(text)) continue;
    const isListOfKey = !isItem && indentation(text) === own && /^\s*-(\s|$)/.test(text);
    if (indentation(text) <= own && !isListOfKey) break;
  }
  if (!isItem) return { lines, start: at + 1, end };
  return { lines: lines.with(at, (lines[at] ?? "").replace("-", " ")), start: at, end };
}

function indentOf({ lines, start, end }: Block): number | undefined {
  const first = lines.slice(start, end).find((text) => !isBlank(text));
  return first === undefined ? undefined : indentation(first);
}

function indentation(text: string): number {
  return text.length - text.trimStart().length;
}

function isBlank(text: string): boolean {
  return /^\s*(#.*)?$/.test(text);
}

function keyOf(text: string): string | undefined {
  const found = /^(?:"([^"]*)"|'([^']*)'|([^:]+?))\s*:(?:\s|$)/.exec(text);
  return found?.[1] ?? found?.[2] ?? found?.[3];
}
