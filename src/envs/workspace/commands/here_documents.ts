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
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const [, , opened] = OPENED.exec(line) ?? [];
    const end = opened ?? endOf(line, endNames);
    if (end === undefined) continue;
    const last = lines.findIndex((each, index) => index > at && isEnd(each, end));
    if (last === -1) continue;
    if (opened === undefined) lines.splice(at, 1, `${line} << '${end}'`);
    lines.splice(last, 1, end);
    at = last;
  }
  return lines.join("\n");
}

function endOf(line: string, endNames: Readonly<Record<string, string>>): string | undefined {
  const [, name = ""] = /^\s*([^\s<]+)/.exec(line) ?? [];
  return Object.hasOwn(endNames, name) ? endNames[name] : undefined;
}

function isEnd(line: string, end: string): boolean {
  return line.trimEnd() === end;
}
