/** A here-document that the command itself begins. */
const OPENED = /<<-?\s*(['"]?)([\w-]+)\1/;

/**
 * Puts what stands between a command of several lines and its end into a here-document, so that a shell reads it:
 *
 *     edit 3:4                 edit 3:4 << 'end_of_edit'
 *     a = 1               →    a = 1
 *     end_of_edit              end_of_edit
 *
 * What has no end is left as it is.
 */
export function withHereDocuments(command: string, endNames: Readonly<Record<string, string>>): string {
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

/** Where each text is a whole line but for blanks at its end, the last line first. */
function linesByText(lines: readonly string[]): Map<string, number[]> {
  return Map.groupBy(lines.keys().toArray().reverse(), (at) => lines[at]?.trimEnd() ?? "");
}

/** The first of the lines behind one; those before it are dropped, as nobody asks for them again. */
function nextAfter(at: number, lines: number[]): number | undefined {
  while ((lines.at(-1) ?? Infinity) <= at) lines.pop();
  return lines.at(-1);
}
