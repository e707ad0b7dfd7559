import { type GnuCommand, linesOf, readInputs, unicodeText, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";

const TAB_WIDTH = 8;

function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

/** `fold` of GNU coreutils 9.1, whose columns are bytes. */
export const fold: GnuCommand = (args, context) => {
  const expanded = args.flatMap((word) => {
    const [, letters = "", width] = /^-([bs]*)(\d+)$/.exec(word) ?? [];
    return width === undefined ? [word] : [...letters === "" ? [] : [`-${letters}`], "-w", width];
  });
  const options = parseOptions(expanded, "b,bytes:s,spaces:w,width=");
  const text = options.value("w") ?? "80";
  if (!/^\d+$/.test(text) || Number(text) < 1) fail(`invalid number of columns: '${unicodeText(text)}'`);
  const width = Number(text);
  const { inputs, failed } = readInputs(options.operands, context);
  for (const input of inputs) {
    for (const line of linesOf(input.text)) {
      context.poll();
      context.print(
        foldLine(line, { width, countsBytes: options.has("b"), breaksAtBlanks: options.has("s") }),
      );
    }
  }
  return failed ? 1 : 0;
};

function foldLine(
  line: string,
  { width, countsBytes, breaksAtBlanks }: { width: number; countsBytes: boolean; breaksAtBlanks: boolean },
): string {
  const nextColumn = (column: number, sign: string) => {
    if (countsBytes) return column + 1;
    if (sign === "\b") return Math.max(0, column - 1);
    if (sign === "\r") return 0;
    return sign === "\t" ? column + TAB_WIDTH - column % TAB_WIDTH : column + 1;
  };
  const columnAfter = (text: string) => [...text].reduce(nextColumn, 0);
  let output = "";
  let current = "";
  let column = 0;
  for (const sign of line) {
    if (sign === "\n") return `${output}${current}\n`;
    let next = nextColumn(column, sign);
    while (next > width && current !== "") {
      const blank = breaksAtBlanks ? Math.max(current.lastIndexOf(" "), current.lastIndexOf("\t")) : -1;
      const end = blank < 0 ? current.length : blank + 1;
      output += `${current.slice(0, end)}\n`;
      current = current.slice(end);
      column = columnAfter(current);
      next = nextColumn(column, sign);
    }
    current += sign;
    column = next;
  }
  return output + current;
}
