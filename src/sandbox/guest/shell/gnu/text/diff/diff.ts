import { contextText } from "./context_diff.ts";
import { FORMAT_OPTIONS, formattedText } from "./line_formats.ts";
import type { Change } from "./line_groups.ts";
import { sideBySideText } from "./side_by_side.ts";
import {
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  statusOf,
  textOf,
  unicodeText,
  UsageError,
} from "../../command.ts";
import { formatDate } from "../../date.ts";
import { globExpression } from "../../glob.ts";
import { type ParsedOptions, parseOptions } from "../../options.ts";
import { zoneOf } from "../../time_zone.ts";

const OPTIONS =
  "q,brief:s,report-identical-files:u:U=:c:C,context=:e,ed:n,rcs:y,side-by-side:normal:r,recursive:" +
  "N,new-file:i,ignore-case:w,ignore-all-space:b,ignore-space-change:Z,ignore-trailing-space:" +
  "B,ignore-blank-lines:a,text:x,exclude=:L,label=:d,minimal:strip-trailing-cr:color?:W,width=:help:version:" +
  `left-column:suppress-common-lines:t,expand-tabs:${FORMAT_OPTIONS}`;
const TROUBLE = 2;
const DEFAULT_CONTEXT = 3;
/** Number of changes up to which the shortest script is searched. Files that differ more are a single change. */
const MAX_CHANGES = 4000;
/** Columns of a line of `-y`. */
const WIDTH = 130;

interface Side {
  readonly name: string;
  readonly text: string;
  readonly changedMs: number;
}

/** `diff` of GNU diffutils 3.8: normal, unified, context and formatted output, and that in two columns. */
export const diff: GnuCommand = (args, context) => {
  const unified = args.map((word) =>
    word === "--unified"
      ? "-u"
      : word === "--context"
      ? "-c"
      : word.replace(/^--unified=/, "-U").replace(/^--context=/, "-C").replace(/^-(\d+)$/, "-U$1")
  );
  const options = parseOptions(unified, OPTIONS, { exitCode: TROUBLE });
  for (const name of ["e", "n"]) {
    if (options.has(name)) {
      throw new UsageError(`the output of -${name} is not available in the sandbox`, {
        exitCode: TROUBLE,
        hasHint: false,
      });
    }
  }
  const [from, to, extra] = options.operands;
  if (from === undefined || to === undefined) {
    throw new UsageError(`missing operand after '${unicodeText(from ?? "diff")}'`, { exitCode: TROUBLE });
  }
  if (extra !== undefined) {
    throw new UsageError(`extra operand '${unicodeText(extra)}'`, { exitCode: TROUBLE });
  }
  const comparison = new Comparison(options, args, context);
  return comparison.compare(from, to, true);
};

class Comparison {
  readonly #options: ParsedOptions;
  readonly #context: CommandContext;
  readonly #command: string;
  readonly #excluded: readonly RegExp[];

  constructor(options: ParsedOptions, args: readonly string[], context: CommandContext) {
    this.#options = options;
    this.#context = context;
    const flags = args.filter((word) => word.startsWith("-") && word !== "-");
    this.#command = ["diff", ...flags].join(" ");
    this.#excluded = options.values("x").map((text) => globExpression(text));
  }

  /** Compares two paths. Returns 0 if they are equal, 1 if they differ, and 2 after an error. */
  compare(from: string, to: string, isTop: boolean): number {
    const { files, cwd, warn, print } = this.#context;
    const kindOf = (name: string) => name === "-" ? "file" : statusOf(files, pathOf(cwd, name))?.kind;
    let [fromName, toName] = [from, to];
    let [fromKind, toKind] = [kindOf(from), kindOf(to)];
    if (isTop && fromKind === "directory" && toKind === "file" && to !== "-") {
      fromName = `${from.replace(/\/$/, "")}/${to.slice(to.lastIndexOf("/") + 1)}`;
      fromKind = kindOf(fromName);
    } else if (isTop && toKind === "directory" && fromKind === "file" && from !== "-") {
      toName = `${to.replace(/\/$/, "")}/${from.slice(from.lastIndexOf("/") + 1)}`;
      toKind = kindOf(toName);
    }
    const isNewAllowed = this.#options.has("N") && (fromKind !== undefined || toKind !== undefined);
    if (!isNewAllowed && (!fromKind || !toKind)) {
      for (const [name, kind] of [[fromName, fromKind], [toName, toKind]] as const) {
        if (!kind) warn(`${unicodeText(name)}: No such file or directory`);
      }
      return TROUBLE;
    }
    if ((fromKind ?? toKind) === "directory" && (toKind ?? fromKind) === "directory") {
      return this.#compareFolders(fromName, toName, isTop);
    }
    if (fromKind === "directory" || toKind === "directory") {
      const word = (kind: string | undefined) => kind === "directory" ? "directory" : "regular file";
      print(`File ${fromName} is a ${word(fromKind)} while file ${toName} is a ${word(toKind)}\n`);
      return 1;
    }
    try {
      return this.#compareFiles(this.#read(fromName, fromKind), this.#read(toName, toKind), isTop);
    } catch (error) {
      warn(errorText(error));
      return TROUBLE;
    }
  }

  #read(name: string, kind: string | undefined): Side {
    const { files, cwd, stdin } = this.#context;
    if (kind === undefined) return { name, text: "", changedMs: 0 };
    if (name === "-") return { name, text: stdin, changedMs: Date.now() };
    const path = pathOf(cwd, name);
    return { name, text: textOf(files.read(path)), changedMs: files.status(path).changedMs };
  }

  #compareFolders(from: string, to: string, isTop: boolean): number {
    const { files, cwd, print, poll } = this.#context;
    const isRecursive = this.#options.has("r");
    const join = (folder: string, name: string) => folder.endsWith("/") ? folder + name : `${folder}/${name}`;
    const namesOf = (folder: string) =>
      statusOf(files, pathOf(cwd, folder)) ? files.names(pathOf(cwd, folder)) : [];
    const [left, right] = [new Set(namesOf(from)), new Set(namesOf(to))];
    let code = 0;
    for (const name of [...new Set([...left, ...right])].sort()) {
      poll();
      if (this.#excluded.some((pattern) => pattern.test(name))) continue;
      const isOnly = left.has(name) !== right.has(name);
      if (isOnly && !this.#options.has("N")) {
        print(`Only in ${left.has(name) ? from : to}: ${name}\n`);
        code = Math.max(code, 1);
        continue;
      }
      const [fromName, toName] = [join(from, name), join(to, name)];
      const isFolder = [fromName, toName].every((path) => {
        const kind = statusOf(files, pathOf(cwd, path))?.kind;
        return kind === undefined || kind === "directory";
      });
      if (isFolder && !isRecursive) {
        if (isTop) print(`Common subdirectories: ${fromName} and ${toName}\n`);
        continue;
      }
      code = Math.max(code, this.compare(fromName, toName, false));
    }
    return code;
  }

  #compareFiles(from: Side, to: Side, isTop: boolean): number {
    const options = this.#options;
    const { print } = this.#context;
    const [fromName, toName] = [from.name, to.name];
    const isBinary = !options.has("a") && (from.text.includes("\0") || to.text.includes("\0"));
    const [before, after] = [linesOf(from.text), linesOf(to.text)];
    let changes: readonly Change[] = [];
    if (from.text !== to.text && !isBinary) {
      const key = this.#keyOf();
      const [left, right] = [before.map(key), after.map(key)];
      changes = changesOf(left, right);
      if (options.has("B")) {
        const isBlank = (line: string) => /^\n?$/.test(line);
        changes = changes.filter(({ fromStart, fromEnd, toStart, toEnd }) =>
          ![...left.slice(fromStart, fromEnd), ...right.slice(toStart, toEnd)].every(isBlank)
        );
      }
    }
    const differs = isBinary ? from.text !== to.text : changes.length > 0;
    const formatted = isBinary || options.has("q") ? undefined : this.#formatted(before, after, changes);
    if (!differs) {
      print(formatted ?? "");
      if (options.has("s")) print(`Files ${fromName} and ${toName} are identical\n`);
      return 0;
    }
    if (options.has("q")) {
      print(`Files ${fromName} and ${toName} differ\n`);
      return 1;
    }
    if (isBinary) {
      print(`Binary files ${fromName} and ${toName} differ\n`);
      return 1;
    }
    if (!isTop) print(`${this.#command} ${fromName} ${toName}\n`);
    if (formatted !== undefined) {
      print(formatted);
      return 1;
    }
    const context = options.value("U");
    const around = Number(options.value("C") ?? DEFAULT_CONTEXT);
    if (options.has("c") || options.has("C")) {
      this.#printHead(from, to, ["***", "---"]);
      print(contextText(before, after, { hunks: hunksOf(changes, around), context: around, prefixed }));
    } else if (options.has("u") || context !== undefined) {
      this.#printHead(from, to, ["---", "+++"]);
      print(unifiedText(before, after, changes, Number(context ?? DEFAULT_CONTEXT)));
    } else print(normalText(before, after, changes));
    return 1;
  }

  /** Returns the output of `-y` or of formats, which have all lines. */
  #formatted(
    before: readonly string[],
    after: readonly string[],
    changes: readonly Change[],
  ): string | undefined {
    const options = this.#options;
    if (!options.has("y")) return formattedText(options, before, after, changes);
    const width = options.value("W") ?? String(WIDTH);
    if (!/^[1-9]\d*$/.test(width)) {
      throw new UsageError(`invalid width '${width}'`, { exitCode: TROUBLE });
    }
    const common = options.has("suppress-common-lines")
      ? "none"
      : options.has("left-column")
      ? "left"
      : "both";
    return sideBySideText(before, after, changes, {
      width: Number(width),
      hasSpaces: options.has("t"),
      common,
    });
  }

  /** Returns a function that maps lines to texts, which are equal for lines that count as equal. */
  #keyOf(): (line: string) => string {
    const options = this.#options;
    return (line) => {
      let key = line;
      if (options.has("strip-trailing-cr")) key = key.replace(/\r\n$/, "\n");
      if (options.has("w")) key = key.replace(/[ \t\r\f\v\n]+/g, "") + (line.endsWith("\n") ? "\n" : "");
      else if (options.has("b")) key = key.replace(/[ \t\r\f\v]+/g, " ").replace(/ *\n?$/, "\n");
      else if (options.has("Z")) key = key.replace(/[ \t\r\f\v]*\n?$/, "\n");
      return options.has("i") ? key.toLowerCase() : key;
    };
  }

  #printHead(from: Side, to: Side, signs: readonly [string, string]): void {
    const labels = this.#options.values("L");
    const zone = zoneOf(this.#context);
    [from, to].forEach(({ name, changedMs }, index) => {
      const time = formatDate("%Y-%m-%d %H:%M:%S.%N %z", changedMs, zone);
      this.#context.print(`${signs[index]} ${labels[index] ?? `${name}\t${time}`}\n`);
    });
  }
}

/** Returns the changes of a shortest script, by the algorithm of Myers. */
function changesOf(left: readonly string[], right: readonly string[]): Change[] {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let [leftEnd, rightEnd] = [left.length, right.length];
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) {
    leftEnd--;
    rightEnd--;
  }
  const removed = new Uint8Array(left.length);
  const added = new Uint8Array(right.length);
  markChanges(
    left.slice(start, leftEnd),
    right.slice(start, rightEnd),
    (x) => removed[start + x] = 1,
    (y) => added[start + y] = 1,
  );
  return toChanges(left, right, removed, added);
}

function markChanges(
  left: readonly string[],
  right: readonly string[],
  remove: (x: number) => void,
  add: (y: number) => void,
): void {
  const [n, m] = [left.length, right.length];
  const limit = Math.min(n + m, MAX_CHANGES);
  const offset = limit + 1;
  const reach = new Int32Array(2 * offset + 1);
  const trace: Int32Array[] = [];
  for (let depth = 0; depth <= limit; depth++) {
    for (let k = -depth; k <= depth; k += 2) {
      const below = reach[offset + k + 1] ?? 0;
      const above = reach[offset + k - 1] ?? 0;
      let x = k === -depth || (k !== depth && above < below) ? below : above + 1;
      while (x < n && x - k < m && left[x] === right[x - k]) x++;
      reach[offset + k] = x;
      if (x < n || x - k < m) continue;
      backtrack(trace, depth, { n, m, remove, add });
      return;
    }
    trace.push(reach.slice(offset - depth - 1, offset + depth + 2));
  }
  for (let x = 0; x < n; x++) remove(x);
  for (let y = 0; y < m; y++) add(y);
}

function backtrack(
  trace: readonly Int32Array[],
  depth: number,
  { n, m, remove, add }: { n: number; m: number; remove: (x: number) => void; add: (y: number) => void },
): void {
  let [x, y] = [n, m];
  for (let step = depth; step > 0; step--) {
    const row = trace[step - 1];
    const at = (k: number) => row?.[k + step] ?? 0;
    const k = x - y;
    const goesDown = k === -step || (k !== step && at(k - 1) < at(k + 1));
    const previous = goesDown ? k + 1 : k - 1;
    x = at(previous);
    y = x - previous;
    if (goesDown) add(y);
    else remove(x);
  }
}

/** Collects changes, and moves those that only add or only remove as far down as equal lines allow. */
function toChanges(
  left: readonly string[],
  right: readonly string[],
  removed: Uint8Array,
  added: Uint8Array,
): Change[] {
  const changes: Change[] = [];
  let [x, y] = [0, 0];
  while (x < left.length || y < right.length) {
    if (!removed[x] && !added[y]) {
      x++;
      y++;
      continue;
    }
    const [fromStart, toStart] = [x, y];
    while (removed[x]) x++;
    while (added[y]) y++;
    const shift = x === fromStart
      ? slideDown(right, added, toStart, y)
      : y === toStart
      ? slideDown(left, removed, fromStart, x)
      : 0;
    if (shift > 0) {
      [x, y] = [fromStart + shift, toStart + shift]; // the lines before the moved run are equal
      continue;
    }
    changes.push({ fromStart, fromEnd: x, toStart, toEnd: y });
  }
  return changes;
}

/**
 * Moves the marked run `[start, end)` down while the line behind the run equals the first line of the run. Returns by
 * how much.
 */
function slideDown(lines: readonly string[], marks: Uint8Array, start: number, end: number): number {
  let [first, behind] = [start, end];
  while (behind < lines.length && lines[first] === lines[behind] && !marks[behind]) {
    marks[first++] = 0;
    marks[behind++] = 1;
  }
  return first - start;
}

const NO_END = "\\ No newline at end of file\n";

function prefixed(prefix: string, lines: readonly string[]): string {
  return lines.map((line) => prefix + (line.endsWith("\n") ? line : `${line}\n${NO_END}`)).join("");
}

function normalText(before: readonly string[], after: readonly string[], changes: readonly Change[]): string {
  const range = (start: number, end: number) =>
    end - start > 1 ? `${start + 1},${end}` : String(end > start ? start + 1 : start);
  return changes.map(({ fromStart, fromEnd, toStart, toEnd }) => {
    const [old, fresh] = [before.slice(fromStart, fromEnd), after.slice(toStart, toEnd)];
    const letter = old.length === 0 ? "a" : fresh.length === 0 ? "d" : "c";
    const separator = letter === "c" ? "---\n" : "";
    return `${range(fromStart, fromEnd)}${letter}${range(toStart, toEnd)}\n${
      prefixed("< ", old)
    }${separator}${prefixed("> ", fresh)}`;
  }).join("");
}

/** Returns the changes in groups, in which the lines around a change reach the lines around the next. */
function hunksOf(changes: readonly Change[], context: number): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1)?.at(-1);
    if (last && change.fromStart - last.fromEnd <= 2 * context) hunks.at(-1)?.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

function unifiedText(
  before: readonly string[],
  after: readonly string[],
  changes: readonly Change[],
  context: number,
): string {
  return hunksOf(changes, context).map((hunk) => {
    const [first, last] = [hunk[0], hunk.at(-1)];
    if (!first || !last) return "";
    const lead = Math.min(context, first.fromStart);
    const tail = Math.min(context, before.length - last.fromEnd);
    const range = (start: number, end: number) =>
      end - start === 1 ? String(start + 1) : `${end === start ? start : start + 1},${end - start}`;
    let text = `@@ -${range(first.fromStart - lead, last.fromEnd + tail)} +${
      range(first.toStart - lead, last.toEnd + tail)
    } @@\n`;
    let at = first.fromStart - lead;
    for (const { fromStart, fromEnd, toStart, toEnd } of hunk) {
      text += prefixed(" ", before.slice(at, fromStart)) + prefixed("-", before.slice(fromStart, fromEnd)) +
        prefixed("+", after.slice(toStart, toEnd));
      at = fromEnd;
    }
    return text + prefixed(" ", before.slice(at, last.fromEnd + tail));
  }).join("");
}

/** `cmp` of GNU diffutils 3.8. */
export const cmp: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "b,print-bytes:i,ignore-initial=:l,verbose:n,bytes=:s,quiet:silent:help:version",
    { exitCode: TROUBLE },
  );
  if (options.has("b") || options.has("i")) {
    throw new UsageError("the options -b and -i are not available in the sandbox", {
      exitCode: TROUBLE,
      hasHint: false,
    });
  }
  const [from, to = "-"] = options.operands;
  if (from === undefined) throw new UsageError("missing operand after 'cmp'", { exitCode: TROUBLE });
  const { files, cwd, stdin, print, warn } = context;
  const isSilent = options.has("s") || options.has("silent");
  const limit = Number(options.value("n") ?? Infinity);
  const texts: string[] = [];
  for (const name of [from, to]) {
    try {
      texts.push((name === "-" ? stdin : textOf(files.read(pathOf(cwd, name)))).slice(0, limit));
    } catch (error) {
      if (!isSilent) warn(`${unicodeText(name)}: ${errorText(error)}`);
      return TROUBLE;
    }
  }
  const [left = "", right = ""] = texts;
  if (left === right) return 0;
  if (isSilent) return 1;
  const length = Math.min(left.length, right.length);
  const width = String(Math.min(Math.max(left.length, right.length), limit)).length;
  let at = 0;
  while (at < length && left[at] === right[at]) at++;
  if (options.has("l")) {
    for (let index = at; index < length; index++) {
      if (left[index] === right[index]) continue;
      const octal = (text: string) => text.charCodeAt(index).toString(8).padStart(3);
      print(`${String(index + 1).padStart(width)} ${octal(left)} ${octal(right)}\n`);
    }
  } else if (at < length) {
    const line = left.slice(0, at).split("\n").length;
    print(`${from} ${to} differ: byte ${at + 1}, line ${line}\n`);
    return 1;
  }
  if (left.length === right.length) return 1;
  const shorter = left.length < right.length ? from : to;
  warn(`EOF on ${unicodeText(shorter)} after byte ${length}`);
  return 1;
};
