import {
  type CommandContext,
  errorText,
  type FileStatus,
  type GnuCommand,
  pathOf,
  statusOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { blocksOf, modeText, OWNER, timeParts } from "./file_format.ts";
import { globExpression } from "../glob.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { zoneOf } from "../time_zone.ts";

const OPTIONS =
  "a,all:A,almost-all:author:b,escape:block-size=:B,ignore-backups:c:C:color?:d,directory:D,dired:f:" +
  "F,classify?:file-type:format=:full-time:g:group-directories-first:G,no-group:h,human-readable:si:" +
  "H,dereference-command-line:dereference-command-line-symlink-to-dir:hide=:hyperlink?:indicator-style=:i,inode:" +
  "I,ignore=:k,kibibytes:l:L,dereference:m:n,numeric-uid-gid:N,literal:o:p:q,hide-control-chars:show-control-chars:" +
  "Q,quote-name:quoting-style=:r,reverse:R,recursive:s,size:S:sort=:time=:time-style=:t:T,tabsize=:u:U:v:w,width=:x:X:" +
  "Z,context:zero:1:help:version";

/** A file in a list. */
interface Entry {
  readonly name: string;
  readonly path: string;
  readonly status: FileStatus;
}

const HALF_YEAR_MS = 15_778_476_000;
const FAILED = 2;

/** `ls` of GNU coreutils 9.1, whose output is no terminal: a name a line unless an option says otherwise. */
export const ls: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS, { exitCode: FAILED });
  checkWords(options);
  const list = new FileList(options, context);
  const names = options.operands.length > 0 ? options.operands : ["."];
  const files: Entry[] = [];
  const folders: Entry[] = [];
  for (const name of names) {
    const entry = list.operand(name);
    if (!entry) continue;
    if (entry.status.kind === "directory" && !options.has("d")) folders.push(entry);
    else files.push(entry);
  }
  list.printEntries(list.sorted(files), [...files, ...folders]);
  const showsNames = names.length > 1 || options.has("R");
  let isFirst = files.length === 0;
  const pending = list.sorted(folders);
  while (pending.length > 0) {
    context.poll();
    const folder = pending.shift();
    if (!folder) break;
    if (!isFirst) context.print("\n");
    isFirst = false;
    if (showsNames) context.print(`${list.shownName(folder.name)}:\n`);
    pending.unshift(...list.printFolder(folder));
  }
  return list.exitCode;
};

function checkWords(options: ParsedOptions): void {
  const known: Readonly<Record<string, readonly string[]>> = {
    sort: ["none", "size", "time", "version", "extension", "width", "name"],
    format: ["verbose", "long", "commas", "horizontal", "across", "vertical", "single-column"],
  };
  for (const [name, words] of Object.entries(known)) {
    const value = options.value(name);
    if (value === undefined || words.some((word) => word.startsWith(value))) continue;
    throw new UsageError(`invalid argument '${unicodeText(value)}' for '--${name}'`, { exitCode: FAILED });
  }
}

class FileList {
  exitCode = 0;
  readonly #options: ParsedOptions;
  readonly #context: CommandContext;
  readonly #isLong: boolean;
  readonly #nowMs = Date.now();

  constructor(options: ParsedOptions, context: CommandContext) {
    this.#options = options;
    this.#context = context;
    const format = options.given.findLast(({ name }) =>
      ["l", "g", "o", "n", "full-time", "1", "C", "x", "m", "format"].includes(name) && name !== "1"
    );
    this.#isLong = format !== undefined &&
      (["l", "g", "o", "n", "full-time"].includes(format.name) || /^(?:long|verbose)$/.test(format.value));
  }

  /** Returns the entry of an operand, and reports a file that is missing. */
  operand(name: string): Entry | undefined {
    const { files, cwd, warn } = this.#context;
    const path = pathOf(cwd, name);
    const options = this.#options;
    const follows = options.has("L") || options.has("H") || name.endsWith("/") ||
      (!this.#isLong && !options.has("d") && !options.has("F"));
    try {
      if (name === "") files.status("/\0");
      const status = follows
        ? statusOf(files, path) ?? files.status(path, { follow: false })
        : files.status(path, { follow: false });
      if (name.endsWith("/") && status.kind !== "directory") {
        warn(`cannot access '${unicodeText(name)}': Not a directory`);
        this.exitCode = FAILED;
        return undefined;
      }
      return { name, path, status };
    } catch (error) {
      warn(`cannot access '${unicodeText(name)}': ${errorText(error)}`);
      this.exitCode = FAILED;
      return undefined;
    }
  }

  /** Prints the files of a folder. Returns the folders to list next. */
  printFolder(folder: Entry): Entry[] {
    const { files, warn } = this.#context;
    let names: string[];
    try {
      names = files.names(folder.path);
    } catch (error) {
      warn(`cannot open directory '${unicodeText(folder.name)}': ${errorText(error)}`);
      this.exitCode = FAILED;
      return [];
    }
    const options = this.#options;
    const own = options.has("a") || options.has("f") ? [".", ".."] : [];
    const shown = [...own, ...names].filter((name) => this.#isShown(name));
    const entries = shown.flatMap((name) => {
      const path = pathOf(folder.path, name);
      const status = (options.has("L") ? statusOf(files, path) : undefined) ??
        statusOf(files, path, { follow: false });
      return status ? [{ name, path, status }] : [];
    });
    const sorted = this.sorted(entries);
    if (this.#isLong || options.has("s")) {
      const total = entries.reduce((sum, { status }) => sum + blocksOf(status), 0);
      this.#context.print(`total ${this.#isHuman() ? this.#humanSize(total * 1024) : total}\n`);
    }
    this.printEntries(sorted);
    if (!options.has("R")) return [];
    return sorted.filter(({ name, status }) => status.kind === "directory" && name !== "." && name !== "..")
      .map((entry) => ({
        ...entry,
        name: folder.name.endsWith("/") ? folder.name + entry.name : `${folder.name}/${entry.name}`,
      }));
  }

  #isShown(name: string): boolean {
    const options = this.#options;
    const showsHidden = options.has("a") || options.has("A") || options.has("f");
    if (name.startsWith(".") && !showsHidden) return false;
    if (options.has("B") && name.endsWith("~")) return false;
    const ignored = [...options.values("I"), ...(showsHidden ? [] : options.values("hide"))];
    return !ignored.some((pattern) => globExpression(unicodeText(pattern)).test(unicodeText(name)));
  }

  sorted(entries: readonly Entry[]): Entry[] {
    const options = this.#options;
    const orders: Readonly<Record<string, string>> = {
      S: "size",
      t: "time",
      v: "version",
      X: "extension",
      U: "none",
      f: "none",
    };
    const last = options.given.findLast(({ name }) => name in orders || name === "sort");
    const byTime = !this.#isLong && options.given.some(({ name }) => /^(?:u|c|time)$/.test(name));
    const order = last?.name === "sort" ? last.value : orders[last?.name ?? ""] ?? (byTime ? "time" : "name");
    if (order.startsWith("n") && order !== "name") return [...entries];
    const byName = (a: Entry, b: Entry) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
    const compare = (a: Entry, b: Entry): number => {
      if (order === "size") return b.status.size - a.status.size || byName(a, b);
      if (order === "time") return this.#timeOf(b.status) - this.#timeOf(a.status) || byName(a, b);
      if (order === "version") return compareVersions(a.name, b.name);
      if (order === "extension") {
        const [left, right] = [extensionOf(a.name), extensionOf(b.name)];
        return left < right ? -1 : left > right ? 1 : byName(a, b);
      }
      return byName(a, b);
    };
    const sorted = entries.toSorted(compare);
    if (options.has("r")) sorted.reverse();
    if (!options.has("group-directories-first")) return sorted;
    const isFolder = ({ path, status }: Entry) =>
      (status.kind === "link" ? statusOf(this.#context.files, path) : status)?.kind === "directory";
    return [...sorted.filter(isFolder), ...sorted.filter((entry) => !isFolder(entry))];
  }

  /** Prints entries in columns that are as wide as `measured` needs. */
  printEntries(entries: readonly Entry[], measured = entries): void {
    const end = this.#options.has("zero") ? "\0" : "\n";
    const lines = this.#isLong ? this.#longLines(entries, measured) : this.#shortLines(entries);
    const { has } = this.#options;
    if (has("m") && !this.#isLong && lines.length > 0) this.#context.print(`${commaLines(lines)}\n`);
    else for (const line of lines) this.#context.print(line + end);
  }

  #shortLines(entries: readonly Entry[]): string[] {
    const has = (name: string) => this.#options.has(name);
    const inodes = entries.map(({ status }) => String(status.inode));
    const sizes = entries.map(({ status }) =>
      this.#isHuman() ? this.#humanSize(blocksOf(status) * 1024) : String(blocksOf(status))
    );
    const [inodeWidth, sizeWidth] = [widthOf(inodes), widthOf(sizes)];
    return entries.map((entry, index) =>
      (has("i") ? `${inodes[index]?.padStart(inodeWidth)} ` : "") +
      (has("s") ? `${sizes[index]?.padStart(sizeWidth)} ` : "") + this.shownName(entry.name) +
      this.#mark(entry)
    );
  }

  #longLines(entries: readonly Entry[], measured: readonly Entry[]): string[] {
    const { files } = this.#context;
    const options = this.#options;
    const has = (name: string) => options.has(name);
    const linksOf = (entry: Entry) => String(linkCount(entry, this.#context));
    const sizeOf = ({ status }: Entry) =>
      this.#isHuman() ? this.#humanSize(status.size) : String(status.size);
    const owner = has("n") ? "0" : OWNER;
    const times = entries.map(({ status }) => this.#time(status));
    const [linkWidth, sizeWidth] = [widthOf(measured.map(linksOf)), widthOf(measured.map(sizeOf))];
    const timeWidth = widthOf(times);
    const heads = this.#shortHeads(entries);
    return entries.map((entry, index) => {
      const owners = [...has("g") ? [] : [owner], ...has("o") || has("G") ? [] : [owner]];
      const target = entry.status.kind === "link" ? ` -> ${files.target(entry.path)}` : "";
      return [
        `${heads[index]}${modeText(entry.status)}`,
        linksOf(entry).padStart(linkWidth),
        ...owners,
        sizeOf(entry).padStart(sizeWidth),
        times[index]?.padEnd(timeWidth),
        this.shownName(entry.name) + (target || this.#mark(entry)),
      ].join(" ");
    });
  }

  #shortHeads(entries: readonly Entry[]): string[] {
    const has = (name: string) => this.#options.has(name);
    const inodes = entries.map(({ status }) => String(status.inode));
    const sizes = entries.map(({ status }) => String(blocksOf(status)));
    return entries.map((_, index) =>
      (has("i") ? `${inodes[index]?.padStart(widthOf(inodes))} ` : "") +
      (has("s") ? `${sizes[index]?.padStart(widthOf(sizes))} ` : "")
    );
  }

  #isHuman(): boolean {
    return this.#options.has("h") || this.#options.has("si");
  }

  #humanSize(bytes: number): string {
    return humanSize(bytes, this.#options.has("si") ? 1000 : 1024);
  }

  /** Returns the time that the options choose: with `-u` of access, with `-c` of the last change of the status. */
  #timeOf({ accessedMs, changedMs, statusMs }: FileStatus): number {
    const { name, value = "" } = this.#options.given.findLast(({ name }) => /^(?:u|c|time)$/.test(name)) ??
      {};
    if (name === "u" || /^(?:atime|access|use)$/.test(value)) return accessedMs;
    return name === "c" || /^(?:ctime|status)$/.test(value) ? statusMs : changedMs;
  }

  #time(status: FileStatus): string {
    const changedMs = this.#timeOf(status);
    const style = this.#options.has("full-time") ? "full-iso" : this.#options.value("time-style") ?? "locale";
    const parts = timeParts(changedMs, zoneOf(this.#context));
    const day = `${parts.year}-${parts.month}-${parts.day}`;
    const time = `${parts.hour}:${parts.minute}`;
    const isRecent = changedMs <= this.#nowMs && changedMs > this.#nowMs - HALF_YEAR_MS;
    if (style.startsWith("+")) return formatTime(style.slice(1), changedMs, parts);
    if (style === "full-iso") return `${day} ${time}:${parts.second}.${parts.nanoseconds} ${parts.offset}`;
    if (style === "long-iso") return `${day} ${time}`;
    if (style === "iso") return isRecent ? `${parts.month}-${parts.day} ${time}` : `${day} `;
    const date = `${parts.monthName} ${parts.day.replace(/^0/, " ")}`;
    return isRecent ? `${date} ${time}` : `${date}  ${parts.year}`;
  }

  /** Returns a name, quoted if an option says so. */
  shownName(name: string): string {
    const style = this.#options.value("quoting-style");
    if (this.#options.has("b") || style === "escape") {
      return name.replace(
        /[\\ \n\t\r]/g,
        (sign) => ({ "\\": "\\\\", " ": "\\ ", "\n": "\\n", "\t": "\\t", "\r": "\\r" })[sign] ?? sign,
      );
    }
    if (this.#options.has("Q") || style === "c") return JSON.stringify(name);
    if (style === "shell-always" || (style?.startsWith("shell") && /[^\w@%+=:,./-]/.test(name))) {
      return `'${name.replaceAll("'", "'\\''")}'`;
    }
    // deno-lint-ignore no-control-regex
    return this.#options.has("q") ? name.replace(/[\0-\x1f\x7f]/g, "?") : name;
  }

  #mark({ status }: Entry): string {
    const options = this.#options;
    const style = options.value("indicator-style");
    const marksAll = options.has("F") || style === "classify";
    const marksTypes = marksAll || options.has("file-type") || style === "file-type";
    if (status.kind === "directory" && (marksTypes || options.has("p") || style === "slash")) return "/";
    if (status.kind === "link" && marksTypes) return "@";
    return marksAll && status.kind === "file" && (status.mode & 0o111) !== 0 ? "*" : "";
  }
}

function widthOf(texts: readonly string[]): number {
  return texts.reduce((width, { length }) => Math.max(width, length), 0);
}

function linkCount({ path, status }: Entry, { files }: CommandContext): number {
  if (status.kind !== "directory") return 1;
  const names = files.names(path);
  return 2 +
    names.filter((name) => statusOf(files, pathOf(path, name), { follow: false })?.kind === "directory")
      .length;
}

function extensionOf(name: string): string {
  const at = name.lastIndexOf(".");
  return at <= 0 ? "" : name.slice(at);
}

const LINE_WIDTH = 80;

function commaLines(names: readonly string[]): string {
  let text = "";
  let column = 0;
  names.forEach((name, index) => {
    const isLast = index === names.length - 1;
    const part = isLast ? name : `${name},`;
    if (index > 0 && column + 1 + part.length > LINE_WIDTH - (isLast ? 0 : 1)) {
      text += "\n";
      column = 0;
    } else if (index > 0) {
      text += " ";
      column++;
    }
    text += part;
    column += part.length;
  });
  return text;
}

/** Formats a size as `ls -h` and `du -h` do: rounded up, with a digit behind the point below 10. */
export function humanSize(bytes: number, base: number): string {
  const units = base === 1000 ? ["", "k", "M", "G", "T", "P"] : ["", "K", "M", "G", "T", "P"];
  let value = bytes;
  let unit = 0;
  while (value >= base && unit < units.length - 1) {
    value /= base;
    unit++;
  }
  if (unit === 0) return String(bytes);
  const tenths = Math.ceil(value * 10) / 10;
  if (tenths < 10) return tenths.toFixed(1) + units[unit];
  const whole = Math.ceil(value);
  return whole >= base && unit < units.length - 1 ? `1.0${units[unit + 1]}` : `${whole}${units[unit]}`;
}

/** Fills a format of `date` with the parts that lists use. */
function formatTime(format: string, timeMs: number, parts: ReturnType<typeof timeParts>): string {
  const fields: Readonly<Record<string, string>> = {
    Y: parts.year,
    y: parts.year.slice(-2),
    m: parts.month,
    d: parts.day,
    e: parts.day.replace(/^0/, " "),
    b: parts.monthName,
    h: parts.monthName,
    H: parts.hour,
    M: parts.minute,
    S: parts.second,
    N: parts.nanoseconds,
    F: `${parts.year}-${parts.month}-${parts.day}`,
    T: `${parts.hour}:${parts.minute}:${parts.second}`,
    R: `${parts.hour}:${parts.minute}`,
    D: `${parts.month}/${parts.day}/${parts.year.slice(-2)}`,
    s: String(Math.floor(timeMs / 1000)),
    z: parts.offset,
    n: "\n",
    t: "\t",
    "%": "%",
  };
  return format.replace(/%(.)/g, (part, letter) => fields[letter] ?? part);
}

/** Compares names as `sort -V` does: digits by their value, letters before other signs. */
export function compareVersions(left: string, right: string): number {
  const parts = (name: string) => name.match(/\d+|\D+/g) ?? [];
  const [a, b] = [parts(left), parts(right)];
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [x = "", y = ""] = [a[at], b[at]];
    const order = /^\d/.test(x) && /^\d/.test(y) ? compareNumbers(x, y) : compareText(x, y);
    if (order !== 0) return order;
  }
  return left < right ? -1 : left > right ? 1 : 0;
}

function compareNumbers(left: string, right: string): number {
  const [a, b] = [left.replace(/^0+/, ""), right.replace(/^0+/, "")];
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function compareText(left: string, right: string): number {
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const order = rankOf(left.charAt(at)) - rankOf(right.charAt(at));
    if (order !== 0) return order;
  }
  return 0;
}

/** `~` comes before the end, the end before letters, letters before other signs. */
function rankOf(sign: string): number {
  if (sign === "~") return -1;
  if (sign === "" || /\d/.test(sign)) return 0;
  return /[a-zA-Z]/.test(sign) ? sign.charCodeAt(0) : sign.charCodeAt(0) + 256;
}
