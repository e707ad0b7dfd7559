import { linesOf } from "../../gnu/command.ts";
import { type FilePair, isBinary, pathOfPair } from "./file_pairs.ts";
import { quotedPath, renameText } from "./names.ts";
import { hunksOf, modeText, type PatchStyle } from "./patch_output.ts";

/** Returns the style of a pair, which attributes may change. */
type StyleOf = (pair: FilePair) => PatchStyle;

/** Number of lines of a file that were added and deleted, or its sizes if it is binary. */
interface FileStat {
  readonly name: string;
  readonly pair: FilePair;
  readonly isBinary: boolean;
  readonly added: number;
  readonly deleted: number;
}

function statOf(pair: FilePair, style: PatchStyle): FileStat | undefined {
  const { from, to } = pair;
  const name = from && to && from.path !== to.path
    ? renameText(from.path, to.path)
    : quotedPath(pathOfPair(pair), style.keepsBytes);
  const base = { name, pair, isBinary: false, added: 0, deleted: 0 };
  if (from?.id === to?.id) return from?.mode === to?.mode && pair.similarity === undefined ? undefined : base;
  const [before, after] = [from?.read() ?? "", to?.read() ?? ""];
  if (!style.isText && (style.isOpaque || isBinary(before) || isBinary(after))) {
    return { ...base, isBinary: true, added: after.length, deleted: before.length };
  }
  let [added, deleted] = [0, 0];
  for (const change of hunksOf(linesOf(before), linesOf(after), { ...style, context: 0 }).flat()) {
    added += change.toEnd - change.toStart;
    deleted += change.fromEnd - change.fromStart;
  }
  const isSame = added + deleted === 0 && from?.mode === to?.mode && pair.similarity === undefined;
  return isSame && from && to ? undefined : { ...base, added, deleted };
}

/** Limits of the width of `--stat`. */
export interface StatWidths {
  readonly width: number;
  readonly nameWidth?: number;
}

/** Returns `--stat` of pairs: a line for each file, and the sums. */
export function statText(pairs: readonly FilePair[], styleOf: StyleOf, widths: StatWidths): string {
  const stats = statsOf(pairs, styleOf);
  if (stats.length === 0) return "";
  const largest = Math.max(0, ...stats.map((stat) => stat.isBinary ? 0 : stat.added + stat.deleted));
  const binaries = stats.filter((stat) => stat.isBinary);
  const binaryWidth = Math.max(
    0,
    ...binaries.map(({ added, deleted }) => 14 + String(added).length + String(deleted).length),
  );
  const numberWidth = Math.max(String(largest).length, binaries.length > 0 ? 3 : 0);
  const longest = Math.max(...stats.map(({ name }) => name.length));
  let graph = largest + 4 > binaryWidth ? largest : binaryWidth - 4;
  let nameWidth = Math.min(longest, widths.nameWidth ?? longest);
  if (nameWidth + numberWidth + 6 + graph > widths.width) {
    const limit = Math.max(6, Math.floor(widths.width * 3 / 8) - numberWidth - 6);
    if (graph > Math.floor(widths.width * 3 / 8) - numberWidth - 6) graph = limit;
    if (nameWidth > widths.width - numberWidth - 6 - graph) {
      nameWidth = widths.width - numberWidth - 6 - graph;
    } else graph = widths.width - numberWidth - 6 - nameWidth;
  }
  const lines = stats.map((stat) => {
    const head = ` ${shortened(stat.name, nameWidth).padEnd(nameWidth)} | `;
    if (stat.isBinary) {
      const sizes = stat.added + stat.deleted === 0 ? "" : ` ${stat.deleted} -> ${stat.added} bytes`;
      return `${head}${"Bin".padStart(numberWidth)}${sizes}\n`;
    }
    const total = stat.added + stat.deleted;
    const bar = barOf(stat, graph, largest);
    return `${head}${String(total).padStart(numberWidth)}${total > 0 ? ` ${bar}` : ""}\n`;
  });
  return lines.join("") + sums(stats);
}

function barOf({ added, deleted }: FileStat, width: number, largest: number): string {
  if (width > largest) return "+".repeat(added) + "-".repeat(deleted);
  const scale = (count: number) => count === 0 ? 0 : 1 + Math.floor(count * (width - 1) / largest);
  let total = scale(added + deleted);
  if (total < 2 && added > 0 && deleted > 0) total = 2;
  const plus = added < deleted ? scale(added) : total - scale(deleted);
  return "+".repeat(plus) + "-".repeat(total - plus);
}

function shortened(name: string, width: number): string {
  if (name.length <= width) return name;
  const tail = name.slice(name.length - Math.max(0, width - 3));
  const slash = tail.indexOf("/");
  return `...${slash < 0 ? tail : tail.slice(slash)}`;
}

function statsOf(pairs: readonly FilePair[], styleOf: StyleOf): FileStat[] {
  return pairs.flatMap((pair) => statOf(pair, styleOf(pair)) ?? []);
}

/** Returns the last line of `--stat`. */
export function shortStatText(pairs: readonly FilePair[], styleOf: StyleOf = () => ({})): string {
  return sums(statsOf(pairs, styleOf));
}

function sums(stats: readonly FileStat[]): string {
  const texts = stats.filter((stat) => !stat.isBinary);
  return sumText({
    files: stats.length,
    added: texts.reduce((sum, stat) => sum + stat.added, 0),
    deleted: texts.reduce((sum, stat) => sum + stat.deleted, 0),
  });
}

/** Returns the line with the sums of `--stat`. */
export function sumText(
  { files, added, deleted }: { files: number; added: number; deleted: number },
): string {
  if (files === 0) return "";
  const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  let text = ` ${plural(files, "file")} changed`;
  if (added > 0 || deleted === 0) text += `, ${plural(added, "insertion")}(+)`;
  if (deleted > 0 || added === 0) text += `, ${plural(deleted, "deletion")}(-)`;
  return `${text}\n`;
}

/** Returns `--numstat` of pairs. */
export function numStatText(pairs: readonly FilePair[], styleOf: StyleOf): string {
  return statsOf(pairs, styleOf).map(({ name, added, deleted, isBinary: binary }) =>
    `${binary ? "-" : added}\t${binary ? "-" : deleted}\t${name}\n`
  ).join("");
}

/** Returns `--summary` of pairs: files that were created, deleted, renamed, or whose mode changed. */
export function summaryText(pairs: readonly FilePair[], { keepsBytes }: PatchStyle = {}): string {
  return pairs.map((pair) => {
    const { letter, from, to, similarity } = pair;
    const name = quotedPath(pathOfPair(pair), keepsBytes);
    if (letter === "A") return ` create mode ${modeText(to?.mode ?? 0)} ${name}\n`;
    if (letter === "D") return ` delete mode ${modeText(from?.mode ?? 0)} ${name}\n`;
    const isMode = from?.mode !== to?.mode;
    const modes = ` mode change ${modeText(from?.mode ?? 0)} => ${modeText(to?.mode ?? 0)}`;
    if (similarity === undefined) return isMode ? `${modes} ${name}\n` : "";
    const verb = letter === "C" ? "copy" : "rename";
    return ` ${verb} ${renameText(from?.path ?? "", to?.path ?? "")} (${similarity}%)\n${
      isMode ? `${modes}\n` : ""
    }`;
  }).join("");
}

/** Returns `--name-only` or `--name-status` of pairs. */
export function nameText(
  pairs: readonly FilePair[],
  { isStatus, end = "\n", keepsBytes }: { isStatus: boolean; end?: string; keepsBytes?: boolean },
): string {
  const isRaw = end === "\0";
  const quote = (path: string) => isRaw ? path : quotedPath(path, keepsBytes);
  return pairs.map((pair) => {
    const { letter, from, to, similarity } = pair;
    if (!isStatus) return quote(pathOfPair(pair)) + end;
    const separator = isRaw ? "\0" : "\t";
    if (similarity === undefined) return `${letter}${separator}${quote(pathOfPair(pair))}${end}`;
    const score = `${letter}${String(similarity).padStart(3, "0")}`;
    return `${score}${separator}${quote(from?.path ?? "")}${separator}${quote(to?.path ?? "")}${end}`;
  }).join("");
}
