import { inflateSync } from "../../engine.ts";
import { linesOf, UsageError } from "../../gnu/command.ts";
import { type Hunk, readHunk, reverse } from "../../gnu/text/diff/unified_diff.ts";
import { fails, GitError, refuse } from "../store/git_error.ts";
import { unquotedPath } from "./names.ts";
import { readBinaryLine } from "./patch_output.ts";

/** Contents of a direction of a binary patch. */
export interface BinaryHunk {
  readonly kind: "literal" | "delta";
  readonly bytes: Uint8Array;
}

/** Changes of a file that a patch of git describes. */
export interface PatchedFile {
  /** Names with their first parts removed. Absent for a new or a removed file. */
  readonly oldName: string | undefined;
  readonly newName: string | undefined;
  readonly oldMode: number | undefined;
  readonly newMode: number | undefined;
  readonly isCopy: boolean;
  readonly hunks: readonly Hunk[];
  /** Line of the input at which each hunk starts. */
  readonly lines: readonly number[];
  readonly binary: { readonly forward: BinaryHunk; readonly backward: BinaryHunk | undefined } | undefined;
  /** True if the old file may be missing: nothing of it is in the patch. */
  readonly mayCreate: boolean;
  /** Hashes of the index line, which may be short. */
  readonly ids: readonly [string, string] | undefined;
  /** Similarity of a renamed file. */
  readonly score: number | undefined;
}

type Draft = { -readonly [Key in keyof PatchedFile]: PatchedFile[Key] };

/** Reads the files of a patch: those with git's headers, and others with `---` and `+++`. */
export function readPatch(text: string, strip: number): PatchedFile[] {
  const lines = linesOf(text);
  const found: PatchedFile[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    if (line.startsWith("diff --git ")) {
      const { file, end } = readGitFile(lines, at, strip);
      if (file) found.push(file);
      at = end;
    } else if (isPlainHeader(lines, at)) {
      const { file, end } = readPlainFile(lines, at, strip);
      found.push(file);
      at = end;
    } else if (/^@@ -\d+/.test(line)) {
      fails(`patch fragment without header at line ${at + 1}: ${line.trimEnd()}`, 128);
    } else at++;
  }
  return found;
}

function isPlainHeader(lines: readonly string[], at: number): boolean {
  return lines[at]?.startsWith("--- ") === true && lines[at + 1]?.startsWith("+++ ") === true &&
    lines[at + 2]?.startsWith("@@ -") === true;
}

function draft(): Draft {
  return {
    oldName: undefined,
    newName: undefined,
    oldMode: undefined,
    newMode: undefined,
    isCopy: false,
    hunks: [],
    lines: [],
    binary: undefined,
    mayCreate: false,
    ids: undefined,
    score: undefined,
  };
}

function readGitFile(
  lines: readonly string[],
  start: number,
  strip: number,
): { file: PatchedFile | undefined; end: number } {
  const file = draft();
  const head = (lines[start] ?? "").replace(/\n$/, "");
  const shared = sharedName(head.slice("diff --git ".length), strip);
  let [isNew, isRemoved] = [false, false];
  let [oldName, newName]: (string | undefined)[] = [shared, shared];
  let at = start + 1;
  header: for (; at < lines.length; at++) {
    const line = (lines[at] ?? "").replace(/\n$/, "");
    const [, word = "", rest = ""] =
      /^(old mode|new mode|deleted file mode|new file mode|similarity index|dissimilarity index|index|---|\+\+\+|(?:rename|copy) (?:from|to)|rename (?:old|new)|GIT binary patch|Binary files)\s?(.*)$/
        .exec(line) ?? [];
    switch (word) {
      case "old mode":
        file.oldMode = readMode(rest, at);
        break;
      case "new mode":
        file.newMode = readMode(rest, at);
        break;
      case "deleted file mode":
        isRemoved = true;
        file.oldMode = readMode(rest, at);
        break;
      case "new file mode":
        isNew = true;
        file.newMode = readMode(rest, at);
        break;
      case "similarity index":
        file.score = Number.parseInt(rest, 10);
        break;
      case "dissimilarity index":
        break;
      case "index": {
        const [, from, to, mode] = /^([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d+))?/.exec(rest) ?? [];
        if (from !== undefined && to !== undefined) file.ids = [from, to];
        if (mode !== undefined) file.oldMode ??= readMode(mode, at);
        break;
      }
      case "rename from":
      case "rename old":
      case "copy from":
        oldName = stripped(nameOf(rest), strip - 1);
        file.isCopy = word === "copy from";
        break;
      case "rename to":
      case "rename new":
      case "copy to":
        newName = stripped(nameOf(rest), strip - 1);
        break;
      case "---":
        if (!isPlainHeader(lines, at)) break header;
        oldName = headerName(rest, strip) ?? (isNew ? oldName : undefined) ?? oldName;
        newName = headerName((lines[at + 1] ?? "").slice(4).replace(/\n$/, ""), strip) ?? newName;
        at += 2;
        break header;
      case "GIT binary patch": {
        const { binary, end } = readBinary(lines, at + 1);
        file.binary = binary;
        at = end;
        break header;
      }
      case "Binary files":
        throw new GitError(`cannot apply binary patch to '${newName ?? ""}' without full index line`, {
          kind: "error",
          exitCode: 1,
        });
      default:
        break header;
    }
  }
  file.oldName = isNew ? undefined : oldName;
  file.newName = isRemoved ? undefined : newName;
  if (file.oldName === undefined && file.newName === undefined) {
    throw new GitError(
      `git diff header lacks filename information when removing ${strip} leading pathname component${
        strip === 1 ? "" : "s"
      } (line ${start + 1})`,
      { kind: "error", exitCode: 128 },
    );
  }
  return { file, end: readHunks(lines, at, file) };
}

function readPlainFile(
  lines: readonly string[],
  start: number,
  strip: number,
): { file: PatchedFile; end: number } {
  const file = draft();
  const [before, after] = [lines[start] ?? "", lines[start + 1] ?? ""].map((line) =>
    line.slice(4).replace(/\r?\n$/, "")
  );
  const isNone = (text = "") =>
    text.startsWith("/dev/null") || /\t1970-01-01 0?0:00:00|\t1969-12-31 /.test(text);
  file.oldName = isNone(before) ? undefined : headerName(before ?? "", strip);
  file.newName = isNone(after) ? undefined : headerName(after ?? "", strip);
  if (file.oldName === undefined && file.newName === undefined) {
    fails(`unable to find filename in patch at line ${start + 1}`, 128);
  }
  if (file.oldName !== undefined && file.newName !== undefined) {
    const shorter = file.newName.length < file.oldName.length ? file.newName : file.oldName;
    [file.oldName, file.newName] = [shorter, shorter];
  }
  const end = readHunks(lines, start + 2, file);
  const [first, ...more] = file.hunks;
  file.mayCreate = file.oldName !== undefined && more.length === 0 &&
    first?.lines.every(({ sign }) => sign === "+") === true;
  return { file, end };
}

function readHunks(lines: readonly string[], start: number, file: Draft): number {
  const hunks: Hunk[] = [];
  const numbers: number[] = [];
  let at = start;
  while (/^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/.test(lines[at] ?? "")) {
    try {
      const { hunk, end } = readHunk(lines, at);
      hunks.push(hunk);
      numbers.push(at + 1);
      at = end;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      fails(`corrupt patch at line ${corruptLine(lines, at)}`, 128);
    }
  }
  file.hunks = hunks;
  file.lines = numbers;
  return at;
}

/** Returns the line at which a hunk stops to be a hunk. */
function corruptLine(lines: readonly string[], start: number): number {
  let at = start + 1;
  while (at < lines.length && /^[-+ \\\n]/.test(lines[at] ?? "")) at++;
  return at + 1;
}

function readMode(text: string, at: number): number {
  return /^\d+$/.test(text.trim())
    ? Number.parseInt(text, 8)
    : fails(`invalid mode on line ${at + 1}: ${text}`, 128);
}

/** Returns the name in a `---` line, `undefined` for `/dev/null`. */
function headerName(text: string, strip: number): string | undefined {
  const name = text.startsWith('"')
    ? unquotedPath(text)?.path ?? text
    : text.replace(/\t.*$/, "").replace(/\r$/, "");
  return name === "/dev/null" ? undefined : stripped(name, strip);
}

function nameOf(text: string): string {
  return unquotedPath(text)?.path ?? text;
}

function stripped(name: string, count: number): string | undefined {
  const parts = name.split("/");
  return parts.length > count ? parts.slice(Math.max(0, count)).join("/") : undefined;
}

/** Returns the name that both names of a `diff --git` line have, without the first parts. */
function sharedName(text: string, strip: number): string | undefined {
  const quoted = unquotedPath(text);
  if (quoted) return stripped(quoted.path, strip);
  for (let at = text.indexOf(" "); at >= 0; at = text.indexOf(" ", at + 1)) {
    const [left, right] = [text.slice(0, at), text.slice(at + 1)];
    const other = unquotedPath(right)?.path ?? right;
    const [from, to] = [stripped(left, strip), stripped(other, strip)];
    if (from !== undefined && from === to) return from;
  }
  return undefined;
}

function readBinary(
  lines: readonly string[],
  start: number,
): { binary: PatchedFile["binary"]; end: number } {
  const first = readBinaryHunk(lines, start);
  if (!first) fails(`corrupt binary patch at line ${start + 1}`, 128);
  const second = readBinaryHunk(lines, first.end);
  return {
    binary: { forward: first.hunk, backward: second?.hunk },
    end: second?.end ?? first.end,
  };
}

function readBinaryHunk(
  lines: readonly string[],
  start: number,
): { hunk: BinaryHunk; end: number } | undefined {
  const [, kind, size] = /^(literal|delta) (\d+)\r?\n?$/.exec(lines[start] ?? "") ?? [];
  if (kind !== "literal" && kind !== "delta") return undefined;
  const pieces: Uint8Array[] = [];
  let at = start + 1;
  for (; at < lines.length && (lines[at] ?? "").trimEnd() !== ""; at++) {
    const piece = readBinaryLine((lines[at] ?? "").replace(/\r?\n$/, ""));
    if (!piece) fails(`corrupt binary patch at line ${at + 1}`, 128);
    pieces.push(piece);
  }
  const packed = Uint8Array.from(pieces.flatMap((piece) => [...piece]));
  let bytes: Uint8Array;
  try {
    bytes = inflateSync(packed);
  } catch {
    return fails(`corrupt binary patch at line ${at + 1}`, 128); // the stream is damaged
  }
  if (bytes.length !== Number(size)) fails(`corrupt binary patch at line ${at + 1}`, 128);
  return { hunk: { kind, bytes }, end: at + 1 };
}

/** Returns the changes that take others back. */
export function reversePatch(file: PatchedFile): PatchedFile {
  const { oldName, newName, oldMode, newMode, hunks, binary, ids } = file;
  if (binary && !binary.backward) refuse("the reverse of this binary patch");
  return {
    ...file,
    oldName: newName,
    newName: oldName,
    oldMode: newMode,
    newMode: oldMode,
    hunks: hunks.map(reverse),
    binary: binary?.backward && { forward: binary.backward, backward: binary.forward },
    ids: ids && [ids[1], ids[0]],
  };
}

/**
 * Applies hunks to a text, each at its line or at the nearest line where it fits. Returns the index of a hunk that
 * does not fit.
 */
export function applyHunks(
  text: string,
  hunks: readonly Hunk[],
  { keyOf, isBare }: { keyOf: (line: string) => string; isBare: boolean },
): { text: string } | { failed: number } {
  const lines = linesOf(text);
  let drift = 0;
  for (const [index, hunk] of hunks.entries()) {
    const old = hunk.lines.filter(({ sign }) => sign !== "+");
    const fresh = hunk.lines.filter(({ sign }) => sign !== "-");
    const trailing = hunk.lines.length - 1 - hunk.lines.findLastIndex(({ sign }) => sign !== " ");
    const isStart = hunk.oldStart === 0 || (hunk.oldStart === 1 && !isBare);
    const isEnd = trailing === 0 && !isBare;
    const wanted = old.map((line) => keyOf(line.text));
    const matches = (at: number) => {
      if (at < 0 || at + old.length > lines.length) return false;
      if (isStart && at !== 0) return false;
      if (isEnd && at + old.length !== lines.length) return false;
      return wanted.every((line, offset) => keyOf(lines[at + offset] ?? "") === line);
    };
    const guess = (old.length > 0 ? hunk.oldStart - 1 : hunk.oldStart) + drift;
    const place = nearest(isStart ? 0 : isEnd ? lines.length - old.length : guess, lines.length, matches);
    if (place === undefined) return { failed: index };
    let read = place;
    const written = fresh.map(({ sign, text: line }) => {
      if (sign === "+") return line;
      while (read < place + old.length && old[read - place]?.sign !== " ") read++;
      return lines[read++] ?? line;
    });
    lines.splice(place, old.length, ...written);
    drift = place - guess + drift + fresh.length - old.length;
  }
  return { text: lines.join("") };
}

function nearest(guess: number, limit: number, matches: (at: number) => boolean): number | undefined {
  if (matches(guess)) return guess;
  for (let distance = 1; distance <= limit + Math.abs(guess); distance++) {
    if (matches(guess - distance)) return guess - distance;
    if (matches(guess + distance)) return guess + distance;
  }
  return undefined;
}
