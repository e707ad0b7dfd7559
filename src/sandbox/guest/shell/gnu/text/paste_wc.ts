import {
  bytesOf,
  type CommandContext,
  type GnuCommand,
  linesOf,
  pathOf,
  readInputs,
  statusOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { parseOptions } from "../options.ts";

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", "\\": "\\", "0": "" };

/** `paste` of GNU coreutils 9.1. */
export const paste: GnuCommand = (args, context) => {
  const options = parseOptions(args, "d,delimiters=:s,serial:z,zero-terminated:help:version");
  const end = options.has("z") ? "\0" : "\n";
  const list = options.value("d") ?? "\t";
  if (/(?:^|[^\\])(?:\\\\)*\\$/.test(list)) {
    throw new UsageError(`delimiter list ends with an unescaped backslash: ${unicodeText(list)}`, {
      hasHint: false,
    });
  }
  const delimiters = [...list.matchAll(/\\([^])|([^])/g)].map(([, escape, sign]) =>
    escape === undefined ? sign ?? "" : ESCAPES[escape] ?? escape
  );
  const delimiterAt = (index: number) => delimiters[index % delimiters.length] ?? "";
  const names = options.operands.length > 0 ? options.operands : ["-"];
  const { inputs, failed } = readInputs([...new Set(names)], context);
  if (failed && !options.has("s")) return 1;
  const columns = new Map(
    inputs.map(({ name, text }) => [
      name,
      linesOf(text, end).map((line) => line.endsWith(end) ? line.slice(0, -1) : line),
    ]),
  );
  if (options.has("s")) {
    for (const name of names) {
      const lines = columns.get(name);
      if (!lines) continue;
      const text = lines.splice(0).map((line, index) => index === 0 ? line : delimiterAt(index - 1) + line);
      context.print(text.join("") + end);
    }
    return failed ? 1 : 0;
  }
  // Columns of stdin share its lines, so that `- -` pairs lines.
  const sources = names.map((name) => name === "-" ? columns.get(name) ?? [] : [...columns.get(name) ?? []]);
  while (sources.some((lines) => lines.length > 0)) {
    context.poll();
    const row = sources.map((lines) => lines.shift() ?? "");
    context.print(
      row.map((text, index) => index === 0 ? text : delimiterAt(index - 1) + text).join("") + end,
    );
  }
  return 0;
};

const decoder = new TextDecoder();

/** `wc` of GNU coreutils 9.1. */
export const wc: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "c,bytes:m,chars:l,lines:L,max-line-length:w,words:files0-from=:help:version",
  );
  if (options.has("files0-from")) {
    throw new UsageError("the option --files0-from is not available in the sandbox", { hasHint: false });
  }
  const wanted = ["l", "w", "m", "c", "L"].filter((name) => options.has(name));
  const shown = wanted.length > 0 ? wanted : ["l", "w", "c"];
  const names = options.operands;
  const rows: { name: string; counts: number[]; text: string }[] = [];
  let failed = false;
  const kinds = new Set<string>();
  for (const name of names.length > 0 ? names : [""]) {
    const read = readInputs([name === "" ? "-" : name], context);
    failed ||= read.failed;
    if (read.failed && isDirectory(name, context)) {
      rows.push({ name, counts: shown.map(() => 0), text: "" });
      kinds.add("stream"); // any other than a file of known size
    }
    for (const { text } of read.inputs) rows.push({ name, counts: countsOf(text, shown), text });
    kinds.add(name === "" || name === "-" ? "stream" : "file");
  }
  const total = shown.map((name, index) =>
    rows.reduce(
      (sum, { counts }) => name === "L" ? Math.max(sum, counts[index] ?? 0) : sum + (counts[index] ?? 0),
      0,
    )
  );
  const bytes = rows.reduce((sum, { text }) => sum + text.length, 0);
  const isSingle = shown.length === 1 && names.length <= 1;
  const width = isSingle ? 1 : kinds.has("stream") ? Math.max(7, String(bytes).length) : String(bytes).length;
  const printRow = (counts: readonly number[], name: string) => {
    const numbers = counts.map((count) => String(count).padStart(width)).join(" ");
    context.print(`${numbers}${name === "" ? "" : ` ${name}`}\n`);
  };
  for (const { name, counts } of rows) printRow(counts, name);
  if (names.length > 1) printRow(total, "total");
  return failed ? 1 : 0;
};

function isDirectory(name: string, { files, cwd }: CommandContext): boolean {
  return statusOf(files, pathOf(cwd, name))?.kind === "directory";
}

function countsOf(text: string, shown: readonly string[]): number[] {
  return shown.map((name) => {
    if (name === "c") return text.length;
    if (name === "l") return text.split("\n").length - 1;
    if (name === "w") return countWords(text);
    const decoded = decoder.decode(bytesOf(text));
    if (name === "m") return [...decoded].length;
    return Math.max(
      0,
      ...decoded.split("\n").map((line) =>
        [...line].reduce((at, sign) => sign === "\t" ? at + 8 - at % 8 : at + 1, 0)
      ),
    );
  });
}

/** Counts words, which have at least one character that is printed. */
function countWords(text: string): number {
  let count = 0;
  for (const [word] of text.matchAll(/[^ \t-\r]+/g)) if (/[!-~\x80-\xff]/.test(word)) count++;
  return count;
}

/** `nproc`: the sandbox runs on a single thread. */
export const nproc: GnuCommand = (args, { print }) => {
  const options = parseOptions(args, "all:ignore=:help:version");
  if (options.operands.length > 0) throw new UsageError(`extra operand '${options.operands[0]}'`);
  print("1\n");
  return 0;
};
