import { linesOf, UsageError } from "../../command.ts";
import { fail } from "../../files/operands.ts";

const NO_NEWLINE = "\\";
const EPOCH = /^1970-01-01 00:00:00|^1969-12-31 \d\d:00:00|^Thu Jan\s+1 00:00:00 1970/;

/** A hunk of a unified diff. */
export interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  /** Lines with their sign: ` `, `-` or `+`. */
  readonly lines: readonly { readonly sign: string; readonly text: string }[];
}

/** Changes of a file. */
export interface FileChange {
  readonly oldName: string;
  readonly newName: string;
  readonly isNew: boolean;
  readonly isRemoval: boolean;
  /** Lines of the header, for the message about a file that is not found. */
  readonly header: readonly string[];
  /** Line of the input at which the hunks start. */
  readonly line: number;
  readonly hunks: readonly Hunk[];
  /** What is wrong with the hunk behind the last hunk. The file is not changed then. */
  readonly error?: UsageError;
}

/** Ends `patch` with an error, after which no further file is changed. */
export function stop(message: string): never {
  throw new UsageError(`**** ${message}`, { exitCode: 2, hasHint: false });
}

/**
 * Reads the changes of a unified diff. Text around them is ignored, such as the message of a commit.
 *
 * @param isReversed Whether old and new change places.
 */
export function readChanges(text: string, isReversed: boolean): FileChange[] {
  const lines = linesOf(text);
  const isUnified = text.startsWith("@@ ") || text.includes("\n@@ ");
  const changes: FileChange[] = [];
  let start = 0;
  for (let at = 0; at < lines.length; at++) {
    if (!isUnified && /^(?:\*\*\* .*\t|\d+(?:,\d+)?[acd]\d)/.test(lines[at] ?? "")) {
      fail("only unified diffs can be applied in the sandbox");
    }
    if (/^GIT binary patch/.test(lines[at] ?? "")) fail("binary diffs cannot be applied in the sandbox");
    const isHeader = /^--- /.test(lines[at] ?? "") && /^\+\+\+ /.test(lines[at + 1] ?? "") &&
      /^@@ -/.test(lines[at + 2] ?? "");
    if (!isHeader) continue;
    const [before, after] = [readName(lines[at] ?? ""), readName(lines[at + 1] ?? "")];
    const header = lines.slice(start, at + 2);
    const line = at + 3;
    const hunks: Hunk[] = [];
    at += 2;
    let error: UsageError | undefined;
    while (!error && /^@@ -/.test(lines[at] ?? "")) {
      try {
        const { hunk, end } = readHunk(lines, at);
        hunks.push(isReversed ? reverse(hunk) : hunk);
        at = end;
      } catch (thrown) {
        if (!(thrown instanceof UsageError)) throw thrown;
        error = thrown;
      }
    }
    start = at;
    at--;
    const [old, next] = isReversed ? [after, before] : [before, after];
    changes.push({
      oldName: old.name,
      newName: next.name,
      isNew: old.isNone,
      isRemoval: next.isNone,
      header,
      line,
      hunks,
      ...(error && { error }),
    });
    if (error) break;
  }
  return changes;
}

function readName(line: string): { name: string; isNone: boolean } {
  const [name = "", time = ""] = line.slice(4).replace(/\r?\n$/, "").split("\t");
  return { name, isNone: name === "/dev/null" || EPOCH.test(time) };
}

/** Reads the hunk that starts at a line. */
export function readHunk(lines: readonly string[], start: number): { hunk: Hunk; end: number } {
  const [, oldStart, oldCount = "1", newStart, newCount = "1"] =
    /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(lines[start] ?? "") ?? [];
  if (oldStart === undefined) malformed(lines, start);
  let [oldLeft, newLeft] = [Number(oldCount), Number(newCount)];
  const found: { sign: string; text: string }[] = [];
  let at = start + 1;
  while (oldLeft > 0 || newLeft > 0) {
    const line = lines[at];
    if (line === undefined) {
      if (oldLeft === newLeft && oldLeft <= 3) break; // empty lines of context that were cut off at the end
      stop("unexpected end of file in patch");
    }
    const sign = line === "\n" || line === "\r\n" ? " " : line.charAt(0);
    const isKnown = sign === " " || sign === "-" || sign === "+";
    if (!isKnown || (sign !== "+" && oldLeft === 0) || (sign !== "-" && newLeft === 0)) malformed(lines, at);
    if (sign !== "+") oldLeft--;
    if (sign !== "-") newLeft--;
    const text = line === "\n" || line === "\r\n" ? line : line.slice(1);
    const isCut = lines[at + 1]?.startsWith(NO_NEWLINE) === true;
    found.push({ sign, text: isCut ? text.replace(/\n$/, "") : text.endsWith("\n") ? text : `${text}\n` });
    at += isCut ? 2 : 1;
  }
  return { hunk: { oldStart: Number(oldStart), newStart: Number(newStart), lines: found }, end: at };
}

function malformed(lines: readonly string[], at: number): never {
  return stop(`malformed patch at line ${at + 1}: ${(lines[at] ?? "").replace(/\n$/, "")}\n`);
}

/** Returns the hunk that takes back another hunk. */
export function reverse({ oldStart, newStart, lines }: Hunk): Hunk {
  const turned = lines.map(({ sign, text }) => ({
    sign: sign === "-" ? "+" : sign === "+" ? "-" : " ",
    text,
  }));
  // removed lines stand before added ones
  const ordered: { sign: string; text: string }[] = [];
  let added: { sign: string; text: string }[] = [];
  for (const line of turned) {
    if (line.sign === "+") added.push(line);
    else {
      if (line.sign === " ") {
        ordered.push(...added);
        added = [];
      }
      ordered.push(line);
    }
  }
  return { oldStart: newStart, newStart: oldStart, lines: [...ordered, ...added] };
}

/** Writes a hunk. */
export function hunkText({ oldStart, newStart, lines }: Hunk): string {
  const count = (sign: string) => lines.filter((line) => line.sign === " " || line.sign === sign).length;
  const range = (start: number, length: number) => length === 1 ? `${start}` : `${start},${length}`;
  const body = lines.map(({ sign, text }) =>
    text.endsWith("\n") ? sign + text : `${sign}${text}\n\\ No newline at end of file\n`
  );
  return `@@ -${range(oldStart, count("-"))} +${range(newStart, count("+"))} @@\n${body.join("")}`;
}

/** Returns the line at which a hunk starts. A hunk without old lines names the line before. */
export function startOf({ oldStart, lines }: Hunk): number {
  return lines.some(({ sign }) => sign !== "+") ? oldStart : oldStart + 1;
}
