import { byteText, type GnuCommand, linesOf, readInputs, unicodeText, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";

const OPTIONS = "t,table:s,separator=:o,output-separator=:c,output-width=:x,fillrows:L,keep-empty-lines:" +
  "N,table-columns=:R,table-right=:H,table-hide=:O,table-order=:E,table-noextreme=:d,table-noheadings:" +
  "e,table-header-repeat:l,table-columns-limit=:n,table-name=:J,json:W,table-wrap=:T,table-truncate=:m,table-maxout:" +
  "r,tree=:i,tree-id=:p,tree-parent=";
const REFUSED = ["H", "O", "E", "e", "n", "J", "W", "T", "m", "r", "i", "p"];
const TAB_WIDTH = 8;

function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

/** Columns that a text takes on a terminal: wide characters of East Asia and emoji take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const sign of text) {
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(sign)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u
          .test(sign)
        ? 2
        : 1;
  }
  return width;
}

/** `column` of util-linux 2.38. */
export const column: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  const refused = REFUSED.find((name) => options.has(name));
  if (refused !== undefined) fail(`the option -${refused} is not available in the sandbox`);
  const { inputs, failed } = readInputs(options.operands, context);
  const keepsEmpty = options.has("L");
  const lines = inputs.flatMap(({ text }) => linesOf(text)).map((line) =>
    unicodeText(line.replace(/\n$/, ""))
  )
    .filter((line) => keepsEmpty || /[^ \t]/.test(line));
  const width = Number(options.value("c") ?? context.variables["COLUMNS"] ?? 80);
  if (!(width > 0)) fail(`invalid columns argument: '${unicodeText(options.value("c") ?? "")}'`);
  const text = options.has("t")
    ? formatTable(lines, {
      separators: options.has("s") ? unicodeText(options.value("s") ?? "") : undefined,
      joint: unicodeText(options.value("o") ?? "  "),
      names: unicodeText(options.value("N") ?? "").split(",").filter((name) => name !== ""),
      right: unicodeText(options.value("R") ?? "").split(",").filter((name) => name !== ""),
      limit: Number(options.value("l") ?? Infinity),
      showsNames: !options.has("d"),
    })
    : formatColumns(lines, { width, fillsRows: options.has("x") });
  context.print(byteText(text));
  return failed ? 1 : 0;
};

interface TableSettings {
  /** Characters that separate cells, each on its own; `undefined` for runs of blanks. */
  readonly separators: string | undefined;
  readonly joint: string;
  readonly names: readonly string[];
  /** Names or numbers of the columns that are aligned to the right. */
  readonly right: readonly string[];
  readonly limit: number;
  readonly showsNames: boolean;
}

function formatTable(lines: readonly string[], settings: TableSettings): string {
  const { separators, joint, names, right, limit, showsNames } = settings;
  const rows = lines.map((line) => {
    const cells = separators === undefined
      ? line.split(/[ \t]+/).filter((cell) => cell !== "")
      : splitAt(line, separators);
    if (cells.length <= limit) return cells;
    return [...cells.slice(0, limit - 1), cells.slice(limit - 1).join(separators?.charAt(0) ?? " ")];
  });
  const all = names.length > 0 && showsNames ? [[...names], ...rows] : rows;
  const count = all.reduce((most, row) => Math.max(most, row.length), names.length);
  const widths = Array.from(
    { length: count },
    (_, at) => all.reduce((most, row) => Math.max(most, widthOf(row[at] ?? "")), 0),
  );
  const isRight = (at: number) => right.includes(String(at + 1)) || right.includes(names[at] ?? "\0");
  return all.map((row) =>
    row.length === 0 ? "\n" : widths.map((width, at) => {
      const cell = row[at] ?? "";
      const space = " ".repeat(width - widthOf(cell));
      if (isRight(at)) return space + cell;
      return at === count - 1 ? cell : cell + space;
    }).join(joint) + "\n"
  ).join("");
}

function splitAt(line: string, separators: string): string[] {
  const cells = [""];
  for (const sign of line) {
    if (separators.includes(sign)) cells.push("");
    else cells[cells.length - 1] += sign;
  }
  return cells;
}

/** Fills the width with columns that tabs separate. */
function formatColumns(
  words: readonly string[],
  { width, fillsRows }: { width: number; fillsRows: boolean },
): string {
  const longest = words.reduce((most, word) => Math.max(most, widthOf(word)), 0);
  if (longest >= width) return words.map((word) => `${word}\n`).join("");
  const step = (Math.floor(longest / TAB_WIDTH) + 1) * TAB_WIDTH;
  const columns = Math.max(1, Math.floor(width / step));
  const rows = Math.ceil(words.length / columns);
  let output = "";
  for (let row = 0; row < rows; row++) {
    const cells = fillsRows
      ? words.slice(row * columns, (row + 1) * columns)
      : words.filter((_, at) => at % rows === row);
    output += cells.map((cell, at) => {
      const tabs = at === cells.length - 1 ? 0 : Math.ceil((step - widthOf(cell)) / TAB_WIDTH);
      return cell + "\t".repeat(tabs);
    }).join("") + "\n";
  }
  return output;
}
