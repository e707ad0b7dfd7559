import { deflateSync } from "../../engine.ts";
import { bytesOf, linesOf } from "../../gnu/command.ts";
import { type FilePair, type FileSide, isBinary } from "./file_pairs.ts";
import { type LineChange, lineChanges } from "./line_changes.ts";
import { quotedPath } from "./names.ts";

/** Which differences count, and how they are shown. */
export interface PatchStyle {
  /** Lines of context. @default 3 */
  readonly context?: number;
  /** Prefixes of names. @default "a/" and "b/" */
  readonly prefixes?: readonly [string, string];
  readonly whitespace?: "all" | "amount" | "end";
  readonly ignoresBlankLines?: boolean;
  /** Whether contents count as text, or as binary, whatever they are. */
  readonly isText?: boolean;
  readonly isOpaque?: boolean;
  /** Writes contents of binary files, and whole hashes. */
  readonly isBinaryShown?: boolean;
  readonly isFullIndex?: boolean;
  readonly keepsBytes?: boolean;
  /** Lines between two hunks that are still shown. */
  readonly interHunk?: number;
}

/** Hash of a side that does not exist. */
const NO_ID = "0".repeat(40);
const NAME_BYTES = 80;

/** Returns the patch of a pair as `git diff` prints it, empty if nothing differs. */
export function patchText(
  pair: FilePair,
  style: PatchStyle,
  abbreviate: (id: string) => string,
): string {
  const { from, to } = pair;
  if (pair.letter === "T" && from && to) {
    return patchText({ letter: "D", from, to: undefined }, style, abbreviate) +
      patchText({ letter: "A", from: undefined, to }, style, abbreviate);
  }
  const head = headLines(pair, style);
  const [before, after] = [from?.read() ?? "", to?.read() ?? ""];
  if (before === after && from && to && from.mode === to.mode && pair.similarity === undefined) return "";
  if (from?.id === to?.id) return head.join("");
  const binary = !style.isText && (style.isOpaque === true || isBinary(before) || isBinary(after));
  const isWhole = style.isFullIndex === true || (binary && style.isBinaryShown === true);
  const shortId = (side: FileSide | undefined) =>
    isWhole ? side?.id ?? NO_ID : side ? abbreviate(side.id) : abbreviate(NO_ID);
  const mode = from && to && from.mode === to.mode ? ` ${modeText(from.mode)}` : "";
  head.push(`index ${shortId(from)}..${shortId(to)}${mode}\n`);
  const [oldName, newName] = names(pair, style);
  if (binary) {
    if (style.isBinaryShown) return head.join("") + binaryPatch(before, after);
    return `${head.join("")}Binary files ${oldName} and ${newName} differ\n`;
  }
  const hunks = hunksText(before, after, style);
  if (hunks === "" && from && to) {
    return style.whitespace || style.ignoresBlankLines ? modeChange(pair, style) : head.join("");
  }
  const end = (name: string) =>
    /[ \t]/.test(name) && !name.startsWith('"') && name !== "/dev/null" ? "\t" : "";
  return `${head.join("")}--- ${oldName}${end(oldName)}\n+++ ${newName}${end(newName)}\n${hunks}`;
}

/** Returns the head of a pair of which only whitespace differs: its modes, if those differ. */
function modeChange(pair: FilePair, style: PatchStyle): string {
  const { from, to } = pair;
  return from && to && from.mode === to.mode && pair.similarity === undefined
    ? ""
    : headLines(pair, style).join("");
}

function names(
  { from, to }: FilePair,
  { prefixes = ["a/", "b/"], keepsBytes }: PatchStyle,
): [string, string] {
  return [
    from ? quotedPath(prefixes[0] + from.path, keepsBytes) : "/dev/null",
    to ? quotedPath(prefixes[1] + to.path, keepsBytes) : "/dev/null",
  ];
}

function headLines(pair: FilePair, style: PatchStyle): string[] {
  const { from, to, letter, similarity } = pair;
  const { prefixes = ["a/", "b/"], keepsBytes } = style;
  const [oldPath, newPath] = [from?.path ?? to?.path ?? "", to?.path ?? from?.path ?? ""];
  const lines = [
    `diff --git ${quotedPath(prefixes[0] + oldPath, keepsBytes)} ${
      quotedPath(prefixes[1] + newPath, keepsBytes)
    }\n`,
  ];
  if (!from) lines.push(`new file mode ${modeText(to?.mode ?? 0)}\n`);
  else if (!to) lines.push(`deleted file mode ${modeText(from.mode)}\n`);
  else if (from.mode !== to.mode) {
    lines.push(`old mode ${modeText(from.mode)}\n`, `new mode ${modeText(to.mode)}\n`);
  }
  if (similarity !== undefined) {
    const verb = letter === "C" ? "copy" : "rename";
    lines.push(`similarity index ${similarity}%\n`);
    lines.push(`${verb} from ${quotedPath(oldPath, keepsBytes)}\n`);
    lines.push(`${verb} to ${quotedPath(newPath, keepsBytes)}\n`);
  }
  return lines;
}

/** Returns a mode as git prints it. */
export function modeText(mode: number): string {
  return mode.toString(8).padStart(6, "0");
}

/** Returns the changes of lines with the rules of a style about whitespace, in groups that a hunk shows. */
export function hunksOf(
  before: readonly string[],
  after: readonly string[],
  style: PatchStyle,
): LineChange[][] {
  const { whitespace, ignoresBlankLines, context = 3, interHunk = 0 } = style;
  const key = (line: string) => {
    if (whitespace === "all") return line.replace(/\s+/g, "");
    if (whitespace === "amount") return line.trimEnd().replace(/\s+/g, " ");
    return whitespace === "end" ? line.trimEnd() : line;
  };
  const keys = whitespace ? { from: before.map(key), to: after.map(key) } : { from: before, to: after };
  const changes = lineChanges(keys, { from: before, to: after });
  const isBlank = (line: string) => whitespace ? line.trim() === "" : line === "\n";
  const isIgnored = ({ fromStart, fromEnd, toStart, toEnd }: LineChange) =>
    ignoresBlankLines === true &&
    [...before.slice(fromStart, fromEnd), ...after.slice(toStart, toEnd)].every(isBlank);
  const hunks: LineChange[][] = [];
  for (let start = 0; start < changes.length;) {
    const { first, end } = nextHunk(changes, { start, context, reach: 2 * context + interHunk, isIgnored });
    if (first < end) hunks.push(changes.slice(first, end));
    start = end;
  }
  return hunks;
}

/** Finds the changes of the next hunk. Ignored ones are part of it only if they are near to others. */
function nextHunk(
  changes: readonly LineChange[],
  { start, context, reach, isIgnored }: {
    start: number;
    context: number;
    reach: number;
    isIgnored: (change: LineChange) => boolean;
  },
): { first: number; end: number } {
  const distance = (from: number, to: number) =>
    (changes[to]?.fromStart ?? Infinity) - (changes[from]?.fromEnd ?? 0);
  const ignored = (at: number) => {
    const change = changes[at];
    return change !== undefined && isIgnored(change);
  };
  let first = start;
  for (let at = start; at < changes.length && ignored(at); at++) {
    if (distance(at, at + 1) >= context) first = at + 1;
  }
  if (first >= changes.length) return { first: changes.length, end: changes.length };
  let last = first;
  let skipped = 0;
  for (let at = first + 1; at < changes.length; at++) {
    const gap = distance(at - 1, at);
    if (gap > reach) break;
    const isNear = gap < context;
    if (isNear && (!ignored(at) || last === at - 1)) [last, skipped] = [at, 0];
    else if (!isNear && last !== at - 1 && distance(last, at) + skipped > reach) break;
    else if (!isNear && !ignored(at)) [last, skipped] = [at, 0];
    else skipped += (changes[at]?.toEnd ?? 0) - (changes[at]?.toStart ?? 0);
  }
  return { first, end: last + 1 };
}

function hunksText(oldText: string, newText: string, style: PatchStyle): string {
  const context = style.context ?? 3;
  const [before, after] = [linesOf(oldText), linesOf(newText)];
  const hunks = hunksOf(before, after, style);
  let text = "";
  let searched = -1;
  let name = "";
  for (const hunk of hunks) {
    const [first, last] = [hunk[0], hunk.at(-1)];
    if (!first || !last) continue;
    const lead = Math.min(context, first.fromStart, first.toStart);
    const tail = Math.min(context, before.length - last.fromEnd, after.length - last.toEnd);
    const [fromStart, toStart] = [first.fromStart - lead, first.toStart - lead];
    const [fromEnd, toEnd] = [last.fromEnd + tail, last.toEnd + tail];
    for (let at = fromStart - 1; at > searched; at--) {
      const line = before[at] ?? "";
      if (!/^[A-Za-z_$]/.test(line)) continue;
      name = line.slice(0, NAME_BYTES).trimEnd();
      break;
    }
    searched = fromStart - 1;
    text += `@@ -${range(fromStart, fromEnd)} +${range(toStart, toEnd)} @@${name === "" ? "" : ` ${name}`}\n`;
    let at = toStart;
    for (const change of hunk) {
      text += signed(" ", after.slice(at, change.toStart)) +
        signed("-", before.slice(change.fromStart, change.fromEnd)) +
        signed("+", after.slice(change.toStart, change.toEnd));
      at = change.toEnd;
    }
    text += signed(" ", after.slice(at, toEnd));
  }
  return text;
}

function range(start: number, end: number): string {
  if (end - start === 1) return String(start + 1);
  return `${end === start ? start : start + 1},${end - start}`;
}

function signed(sign: string, lines: readonly string[]): string {
  return lines.map((line) => sign + (line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`))
    .join("");
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const LINE_BYTES = 52;

/** Returns both contents of a binary file, compressed, so that the patch can be applied both ways. */
function binaryPatch(before: string, after: string): string {
  return `GIT binary patch\n${literal(after)}${literal(before)}`;
}

function literal(text: string): string {
  const bytes = deflateSync(bytesOf(text));
  let lines = "";
  for (let at = 0; at < bytes.length; at += LINE_BYTES) {
    const piece = bytes.subarray(at, at + LINE_BYTES);
    const sign = piece.length <= 26
      ? String.fromCharCode(64 + piece.length)
      : String.fromCharCode(70 + piece.length);
    lines += `${sign}${base85(piece)}\n`;
  }
  return `literal ${text.length}\n${lines}\n`;
}

function base85(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let value = 0;
    for (let index = 0; index < 4; index++) value = value * 256 + (bytes[at + index] ?? 0);
    let digits = "";
    for (let index = 0; index < 5; index++) {
      digits = DIGITS.charAt(value % 85) + digits;
      value = Math.floor(value / 85);
    }
    text += digits;
  }
  return text;
}

/** Reads a line of a binary patch. Returns `undefined` if it is damaged. */
export function readBinaryLine(line: string): Uint8Array | undefined {
  const sign = line.charCodeAt(0);
  const length = sign >= 65 && sign <= 90 ? sign - 64 : sign >= 97 && sign <= 122 ? sign - 70 : 0;
  const digits = line.slice(1);
  if (length === 0 || digits.length !== Math.ceil(length / 4) * 5) return undefined;
  const bytes: number[] = [];
  for (let at = 0; at < digits.length; at += 5) {
    let value = 0;
    for (const digit of digits.slice(at, at + 5)) {
      const index = DIGITS.indexOf(digit);
      if (index < 0) return undefined;
      value = value * 85 + index;
    }
    for (let shift = 3; shift >= 0; shift--) bytes.push(Math.floor(value / 256 ** shift) % 256);
  }
  return Uint8Array.from(bytes.slice(0, length));
}
