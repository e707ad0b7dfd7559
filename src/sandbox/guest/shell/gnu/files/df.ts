import {
  type CommandContext,
  errorText,
  type FileSpace,
  type GnuCommand,
  pathOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";

const OPTIONS = "a,all:B,block-size=:h,human-readable:H,si:i,inodes:k:l,local:m:P,portability:T,print-type:" +
  "t,type=:x,exclude-type=:total:sync:no-sync:output?:help:version";
/** The session's only file system, and its type. */
const NAME = "memory";
const TYPE = "tmpfs";
const UNITS = ["", "K", "M", "G", "T", "P", "E"];
const SIZES: Readonly<Record<string, number>> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

/** How sizes are written. */
interface Scale {
  /** Head of the column of sizes. */
  readonly head: string;
  format(bytes: number): string;
}

interface Row {
  readonly source: string;
  readonly space: FileSpace;
  readonly target: string;
  readonly file: string;
}

interface Column {
  readonly head: string;
  readonly isText?: boolean;
  readonly minimum?: number;
  readonly text: (row: Row) => string;
}

/** `df` of GNU coreutils 9.1. A session has a single file system, in memory. */
export const df: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  const rows = rowsOf(options, context);
  if (rows.length === 0) {
    if (options.operands.length === 0) context.warn("no file systems processed");
    return 1;
  }
  const columns = columnsOf(options);
  const total = { source: "total", target: "-", file: "-", space: context.files.space() };
  const lines = [...rows, ...options.has("total") ? [total] : []].map((row) =>
    columns.map(({ text }) => text(row))
  );
  context.print(table(columns, lines));
  return rows.length < options.operands.length ? 1 : 0;
};

function rowsOf(options: ParsedOptions, { files, cwd, warn }: CommandContext): Row[] {
  const isLeftOut = options.values("x").includes(TYPE) ||
    (options.has("t") && !options.values("t").includes(TYPE));
  const row = { source: NAME, space: files.space(), target: "/" };
  if (isLeftOut) return [];
  if (options.operands.length === 0) return [{ ...row, file: "-" }];
  return options.operands.flatMap((name) => {
    try {
      files.status(pathOf(cwd, name));
      return [{ ...row, file: name }];
    } catch (error) {
      warn(`${unicodeText(name)}: ${errorText(error)}`);
      return [];
    }
  });
}

function columnsOf(options: ParsedOptions): Column[] {
  const scale = scaleOf(options);
  const used = ({ space }: Row) => space.blocks - space.freeBlocks;
  const bytes = (blocks: number, { space }: Row) => scale.format(blocks * space.blockBytes);
  const known: Record<string, Column> = {
    source: { head: "Filesystem", isText: true, minimum: 14, text: ({ source }) => source },
    fstype: { head: "Type", isText: true, text: ({ source }) => source === "total" ? "-" : TYPE },
    itotal: { head: "Inodes", minimum: 5, text: ({ space }) => String(space.files) },
    iused: { head: "IUsed", minimum: 5, text: ({ space }) => String(space.files - space.freeFiles) },
    iavail: { head: "IFree", minimum: 5, text: ({ space }) => String(space.freeFiles) },
    ipcent: {
      head: "IUse%",
      minimum: 4,
      text: ({ space }) => percentOf(space.files - space.freeFiles, space.files),
    },
    size: { head: scale.head, minimum: 5, text: (row) => bytes(row.space.blocks, row) },
    used: { head: "Used", minimum: 5, text: (row) => bytes(used(row), row) },
    avail: {
      head: options.has("output") || options.has("h") || options.has("H") ? "Avail" : "Available",
      minimum: 5,
      text: (row) => bytes(row.space.freeBlocks, row),
    },
    pcent: {
      head: options.has("P") ? "Capacity" : "Use%",
      minimum: 4,
      text: (row) => percentOf(used(row), row.space.blocks),
    },
    file: { head: "File", isText: true, text: ({ file }) => file },
    target: { head: "Mounted on", isText: true, text: ({ target }) => target },
  };
  return namesOf(options).map((name) => {
    const column = known[name];
    if (column) return column;
    throw new UsageError(`option --output: field '${name}' unknown`);
  });
}

function namesOf(options: ParsedOptions): string[] {
  const fields = options.values("output");
  if (fields.length > 0 && fields.some((text) => text !== "")) {
    return fields.flatMap((text) => text.split(","));
  }
  if (fields.length > 0) {
    return "source,fstype,itotal,iused,iavail,ipcent,size,used,avail,pcent,file,target".split(",");
  }
  const middle = options.has("i") ? "itotal,iused,iavail,ipcent" : "size,used,avail,pcent";
  return ["source", ...options.has("T") ? ["fstype"] : [], ...middle.split(","), "target"];
}

function scaleOf(options: ParsedOptions): Scale {
  const last = options.given.findLast(({ name }) => ["B", "h", "H", "k", "m"].includes(name));
  if (last?.name === "h") return { head: "Size", format: (bytes) => human(bytes, 1024) };
  if (last?.name === "H") return { head: "Size", format: (bytes) => human(bytes, 1000) };
  const word = last?.name === "m" ? "1M" : last?.name === "B" ? last.value : "";
  if (word === "") {
    const head = options.has("P") ? "1024-blocks" : "1K-blocks";
    return { head, format: (bytes) => String(Math.ceil(bytes / 1024)) };
  }
  const [, count = "", unit = ""] = /^(\d*)([KMGT]?)$/.exec(word) ?? [];
  const size = Number(count || 1) * (SIZES[unit] ?? 1);
  if (count === "" && unit === "" || size === 0) throw new UsageError(`invalid -B argument '${word}'`);
  const shown = count === "" ? unit : "";
  const head = `${count || 1}${unit || "B"}-blocks`;
  return { head, format: (bytes) => `${Math.ceil(bytes / size)}${shown}` };
}

function human(bytes: number, base: number): string {
  let [value, power] = [bytes, 0];
  while (value >= base && power < UNITS.length - 1) {
    value /= base;
    power++;
  }
  if (power === 0) return String(bytes);
  const unit = base === 1000 && power === 1 ? "k" : UNITS[power];
  const tenths = Math.ceil(value * 10) / 10;
  return (tenths < 10 ? tenths.toFixed(1) : String(Math.ceil(value))) + unit;
}

function percentOf(used: number, all: number): string {
  return all === 0 ? "-" : `${Math.ceil(100 * used / all)}%`;
}

function table(columns: readonly Column[], lines: readonly (readonly string[])[]): string {
  const widths = columns.map(({ head, minimum = 0 }, at) =>
    Math.max(minimum, head.length, ...lines.map((line) => line[at]?.length ?? 0))
  );
  const cells = [columns.map(({ head }) => head), ...lines].map((line) =>
    line.map((text, at) => {
      if (!columns[at]?.isText) return text.padStart(widths[at] ?? 0);
      return at === line.length - 1 ? text : text.padEnd(widths[at] ?? 0);
    }).join(" ")
  );
  return cells.map((line) => `${line}\n`).join("");
}
