/** Start of a here-document in the command itself. */
const OPENED = /<<-?\s*(['"]?)([\w-]+)\1/;

/**
 * Turns the text of a multi-line command into a here-document, so that a shell can read it:
 *
 *     edit 3:4                 edit 3:4 << 'end_of_edit'
 *     a = 1               →    a = 1
 *     end_of_edit              end_of_edit
 *
 * A command without its end line stays unchanged.
 */
export function insertHereDocuments(command: string, endNames: Readonly<Record<string, string>>): string {
  const lines = command.split("\n");
  const ends = linesByText(lines);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const [, , opened] = OPENED.exec(line) ?? [];
    const end = opened ?? endOf(line, endNames);
    if (end === undefined) continue;
    const last = nextAfter(at, ends.get(end) ?? []);
    if (last === undefined) continue;
    if (opened === undefined) lines[at] = `${line} << '${end}'`;
    lines[last] = end;
    at = last;
  }
  return lines.join("\n");
}

function endOf(line: string, endNames: Readonly<Record<string, string>>): string | undefined {
  const [, name = ""] = /^\s*([^\s<]+)/.exec(line) ?? [];
  return Object.hasOwn(endNames, name) ? endNames[name] : undefined;
}

/** Maps each line's text, without trailing blanks, to its line indices in descending order. */
function linesByText(lines: readonly string[]): Map<string, number[]> {
  return Map.groupBy(lines.keys().toArray().reverse(), (at) => lines[at]?.trimEnd() ?? "");
}

/** Returns the first line index after `at`. It removes smaller indices, because callers ask in ascending order. */
function nextAfter(at: number, lines: number[]): number | undefined {
  while ((lines.at(-1) ?? Infinity) <= at) lines.pop();
  return lines.at(-1);
}
