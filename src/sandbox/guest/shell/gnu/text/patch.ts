import {
  bytesOf,
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  statusOf,
  textOf,
  UsageError,
} from "../command.ts";
import { fail, folderName, refuse } from "../files/operands.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import {
  type FileChange,
  type Hunk,
  hunkText,
  readChanges,
  reverse,
  startOf,
  stop,
} from "./diff/unified_diff.ts";

const OPTIONS =
  "p,strip=:i,input=:R,reverse:N,forward:f,force:t,batch:s,quiet,silent:o,output=:d,directory=:" +
  "F,fuzz=:E,remove-empty-files:b,backup:no-backup-if-mismatch:dry-run:r,reject-file=:u,unified:l,ignore-whitespace:" +
  "c,context:e,ed:n,normal:D,ifdef=:m,merge?:z,suffix=:V,version-control=:B,prefix=:Y,basename-prefix=:" +
  "T,set-time:Z,set-utc:g,get=:binary:posix:verbose:follow-symlinks:read-only=:reject-format=:quoting-style=:" +
  "backup-if-mismatch";
const REFUSED = [
  ...["c", "e", "n", "D", "m", "z", "V", "B", "Y", "T", "Z", "g", "binary", "posix", "verbose"],
  ...["follow-symlinks", "read-only", "reject-format", "quoting-style", "l"],
];
const MAX_FUZZ = 2;

/** Applies the changes of a unified diff, as `patch` of GNU patch 2.7. Other forms of a diff are refused. */
export const patch: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS, { exitCode: 2 });
  refuse(options, REFUSED);
  const [file, input] = options.operands;
  if (options.operands.length > 2) {
    throw new UsageError(`${options.operands[2]}: extra operand`, { exitCode: 2 });
  }
  const folder = options.value("d");
  const inner = folder === undefined ? context : { ...context, cwd: pathOf(context.cwd, folder) };
  if (folder !== undefined && statusOf(context.files, inner.cwd)?.kind !== "directory") {
    stop(`Can't change to directory ${folder} : No such file or directory`);
  }
  const changes = readChanges(readInput(options.value("i") ?? input, inner), options.has("R"));
  if (changes.length === 0) {
    if (!options.has("s")) context.warn("**** Only garbage was found in the patch input.");
    return 2;
  }
  let exitCode = 0;
  for (const change of changes) {
    context.poll();
    exitCode = Math.max(exitCode, new Application(change, { options, context: inner, file }).run());
  }
  return exitCode;
};

function readInput(name: string | undefined, { files, cwd, stdin }: CommandContext): string {
  if (name === undefined || name === "-") return stdin;
  try {
    return textOf(files.read(pathOf(cwd, name)));
  } catch (error) {
    return stop(`Can't open patch file ${name} : ${errorText(error)}`);
  }
}

/** The application of a change to its file. */
class Application {
  readonly #change: FileChange;
  readonly #options: ParsedOptions;
  readonly #context: CommandContext;
  readonly #file: string | undefined;

  constructor(
    change: FileChange,
    { options, context, file }: {
      options: ParsedOptions;
      context: CommandContext;
      file: string | undefined;
    },
  ) {
    this.#change = change;
    this.#options = options;
    this.#context = context;
    this.#file = file;
  }

  /** Returns the exit code. */
  run(): number {
    const { files, cwd } = this.#context;
    const name = this.#file ?? this.#chooseName();
    if (name === undefined) return this.#reportMissing();
    const path = pathOf(cwd, name);
    const status = statusOf(files, path);
    if (status && status.kind !== "file") {
      this.#say(`File ${name} is not a regular file -- refusing to patch\n`);
      this.#ignoreHunks();
      return 1;
    }
    const isDry = this.#options.has("dry-run");
    const output = this.#options.value("o");
    const shown = output === undefined ? name : `${output} (read from ${name})`;
    this.#say(`${isDry ? "checking" : "patching"} file ${shown}\n`);
    if (this.#change.error) throw this.#change.error;
    const original = status ? textOf(files.read(path)) : "";
    const hunks = this.#change.hunks;
    const isApplied = this.#isApplied(original, status !== undefined);
    if (isApplied && !this.#options.has("f")) return this.#skipApplied(name);
    const { text, failed, isExact } = this.#apply(hunks, original);
    if (!isDry) {
      this.#write(name, { text, original, existed: status !== undefined, isExact });
      if (failed.length > 0) this.#writeRejects(name, failed);
    }
    if (failed.length === 0) return 0;
    this.#reportRejects(name, failed.length, "FAILED");
    return 1;
  }

  #say(text: string): void {
    if (!this.#options.has("s")) this.#context.print(text);
  }

  /** Returns the best of the names of the header, without the parts that `-p` removes. */
  #chooseName(): string | undefined {
    const { oldName, newName, isNew, isRemoval } = this.#change;
    const strip = this.#options.value("p");
    if (strip !== undefined && !/^\d+$/.test(strip)) stop(`strip count ${strip} is not a number`);
    const cut = (name: string) =>
      name === "/dev/null" ? undefined : stripped(name, strip === undefined ? undefined : Number(strip));
    const names = [cut(oldName), cut(newName)].filter((name) =>
      name !== undefined && name !== ""
    ) as string[];
    if (names.some((name) => name.startsWith("/") || name.split("/").includes(".."))) {
      this.#context.print(`Ignoring potentially dangerous file name ${names[0]}\n`);
      return undefined;
    }
    const { files, cwd } = this.#context;
    const existing = names.filter((name) => statusOf(files, pathOf(cwd, name)) !== undefined);
    const depth = (name: string) => name.split("/").length;
    const base = (name: string) => name.slice(name.lastIndexOf("/") + 1).length;
    const order = (a: string, b: string) => depth(a) - depth(b) || base(a) - base(b) || a.length - b.length;
    const [best] = existing.toSorted(order);
    if (best !== undefined) return best;
    if (isNew) return cut(newName);
    return isRemoval && this.#options.has("R") ? cut(oldName) : undefined;
  }

  #reportMissing(): number {
    const { header, line, hunks } = this.#change;
    this.#say(`can't find file to patch at input line ${line}\n`);
    const isStripped = this.#options.has("p");
    this.#say(
      `Perhaps you ${isStripped ? "used the wrong" : "should have used the"} -p or --strip option?\n`,
    );
    this.#say(`The text leading up to this was:\n${"-".repeat(26)}\n`);
    for (const text of header) this.#say(`|${text}`);
    this.#say(`${"-".repeat(26)}\n`);
    if (this.#options.has("f") || this.#options.has("t")) this.#say("No file to patch.  Skipping patch.\n");
    else this.#say("File to patch: \nSkip this patch? [y] \nSkipping patch.\n");
    this.#say(`${hunks.length} out of ${hunks.length} hunk${hunks.length === 1 ? "" : "s"} ignored\n`);
    return 1;
  }

  #ignoreHunks(): void {
    const { length } = this.#change.hunks;
    this.#say(`${length} out of ${length} hunk${length === 1 ? "" : "s"} ignored\n`);
  }

  /** True if the first hunk does not match, and its reverse does. */
  #isApplied(original: string, exists: boolean): boolean {
    const [first] = this.#change.hunks;
    if (!first) return false;
    if (this.#change.isNew && exists && original !== "") return true;
    const lines = linesOf(original);
    if (locate(first, lines, { guess: startOf(first), maxFuzz: this.#maxFuzz() })) return false;
    const reversed = reverse(first);
    return locate(reversed, lines, { guess: startOf(reversed), maxFuzz: 0 }) !== undefined;
  }

  #skipApplied(name: string): number {
    const { hunks } = this.#change;
    const tried = this.#options.has("R") ? "Unreversed" : "Reversed (or previously applied)";
    const isForward = this.#options.has("N");
    if (this.#options.has("t")) {
      fail("--batch of a patch that was applied before is not available in the sandbox");
    }
    this.#say(
      `${tried} patch detected!  ${
        isForward
          ? "Skipping patch.\n"
          : `${this.#options.has("R") ? "Ignore" : "Assume"} -R? [n] \nApply anyway? [n] \nSkipping patch.\n`
      }`,
    );
    if (!this.#options.has("dry-run")) this.#writeRejects(name, hunks);
    this.#reportRejects(name, hunks.length, "ignored");
    return 1;
  }

  #maxFuzz(): number {
    const text = this.#options.value("F");
    if (text !== undefined && !/^\d+$/.test(text)) stop(`fuzz factor ${text} is not a number`);
    return text === undefined ? MAX_FUZZ : Number(text);
  }

  #apply(
    hunks: readonly Hunk[],
    original: string,
  ): { text: string; failed: Hunk[]; isExact: boolean } {
    const lines = linesOf(original);
    const output: string[] = [];
    const failed: Hunk[] = [];
    let isExact = true;
    let [read, offset, growth] = [0, 0, 0];
    for (const [index, hunk] of hunks.entries()) {
      this.#context.poll();
      const guess = startOf(hunk) + offset;
      const found = locate(hunk, lines, { guess, maxFuzz: this.#maxFuzz(), from: read });
      const shown = (found?.line ?? startOf(hunk)) + growth;
      if (!found) {
        this.#say(`Hunk #${index + 1} FAILED at ${shown}.\n`);
        failed.push(hunk);
        isExact = false;
        continue;
      }
      offset += found.line - guess;
      if (found.fuzz > 0 || offset !== 0) {
        const fuzz = found.fuzz > 0 ? ` with fuzz ${found.fuzz}` : "";
        const moved = offset !== 0 ? ` (offset ${offset} line${offset === 1 ? "" : "s"})` : "";
        this.#say(`Hunk #${index + 1} succeeded at ${shown}${fuzz}${moved}.\n`);
        isExact = false;
      }
      const start = found.line - 1 + found.skipped;
      output.push(...lines.slice(read, start));
      read = start;
      for (const { sign, text } of hunk.lines.slice(found.skipped, hunk.lines.length - found.cut)) {
        if (sign === "+") output.push(text);
        else {
          if (sign === " ") output.push(lines[read] ?? text);
          read++;
        }
      }
      growth += hunk.lines.reduce((sum, { sign }) => sum + (sign === "+" ? 1 : sign === "-" ? -1 : 0), 0);
    }
    output.push(...lines.slice(read));
    return { text: output.join(""), failed, isExact };
  }

  #write(
    name: string,
    { text, original, existed, isExact }: {
      text: string;
      original: string;
      existed: boolean;
      isExact: boolean;
    },
  ): void {
    const { files, cwd } = this.#context;
    const output = this.#options.value("o");
    if (output === "-") return this.#context.print(text);
    const path = pathOf(cwd, output ?? name);
    const isBackedUp = this.#options.has("b") || (!isExact && !this.#options.has("no-backup-if-mismatch"));
    try {
      if (!existed && output === undefined) this.#makeFolders(name);
      if (output === undefined && isBackedUp) files.write(`${path}.orig`, bytesOf(original));
      const isEmptied = text === "" && (this.#change.isRemoval || this.#options.has("E"));
      if (output === undefined && isEmptied) {
        if (existed) files.removeFile(path);
        return this.#removeFolders(name);
      }
      files.write(path, bytesOf(text));
    } catch (error) {
      stop(`Can't create file ${output ?? name} : ${errorText(error)}`);
    }
    if (this.#change.isRemoval && output === undefined) {
      this.#say(`Not deleting file ${name} as content differs from patch\n`);
    }
  }

  #makeFolders(name: string): void {
    const { files, cwd } = this.#context;
    const parts = name.split("/").slice(0, -1);
    for (const [at] of parts.entries()) {
      const path = pathOf(cwd, parts.slice(0, at + 1).join("/"));
      if (!statusOf(files, path)) files.makeDirectory(path);
    }
  }

  /** Removes the folders that a removed file leaves empty. */
  #removeFolders(name: string): void {
    const { files, cwd } = this.#context;
    for (let folder = folderName(name); folder !== "." && folder !== "/"; folder = folderName(folder)) {
      const path = pathOf(cwd, folder);
      if (files.names(path).length > 0) return;
      files.removeDirectory(path);
    }
  }

  #rejectsName(name: string): string {
    return this.#options.value("r") ?? `${this.#options.value("o") ?? name}.rej`;
  }

  #writeRejects(name: string, hunks: readonly Hunk[]): void {
    const { files, cwd } = this.#context;
    const target = this.#rejectsName(name);
    if (target === "-") return;
    const { header } = this.#change;
    const names = header.slice(-2).map((line) => line.slice(4).replace(/\n$/, ""));
    const [old = "", next = ""] = this.#options.has("R") ? names.toReversed() : names;
    const text = `--- ${old}\n+++ ${next}\n${hunks.map(hunkText).join("")}`;
    files.write(pathOf(cwd, target), bytesOf(text));
  }

  #reportRejects(name: string, count: number, word: string): void {
    const all = this.#change.hunks.length;
    const target = this.#rejectsName(name);
    const isSaved = !this.#options.has("dry-run") && target !== "-";
    const saved = isSaved ? ` -- saving rejects to file ${target}` : "";
    this.#say(`${count} out of ${all} hunk${all === 1 ? "" : "s"} ${word}${saved}\n`);
  }
}

function stripped(name: string, count: number | undefined): string | undefined {
  if (count === undefined) return name.slice(name.lastIndexOf("/") + 1);
  let rest = name;
  for (let left = count; left > 0; left--) {
    const [, tail] = /^[^/]*\/+(.*)$/s.exec(rest) ?? [];
    if (tail === undefined) return undefined;
    rest = tail;
  }
  return rest;
}

/** Where a hunk applies. */
interface Place {
  /** Line at which the whole hunk would start, from 1. */
  readonly line: number;
  readonly fuzz: number;
  /** Lines of context at the beginning and at the end that are not compared. */
  readonly skipped: number;
  readonly cut: number;
}

/** Finds the place next to a guess at which a hunk matches, with as little fuzz as possible. */
function locate(
  hunk: Hunk,
  lines: readonly string[],
  { guess, maxFuzz, from = 0 }: { guess: number; maxFuzz: number; from?: number },
): Place | undefined {
  const old = hunk.lines.filter(({ sign }) => sign !== "+").map(({ text }) => text);
  if (old.length === 0) {
    const isInside = guess - 1 >= from && guess - 1 <= lines.length;
    return isInside ? { line: guess, fuzz: 0, skipped: 0, cut: 0 } : undefined;
  }
  const isContext = hunk.lines.map(({ sign }) => sign === " ");
  const prefix = isContext.indexOf(false) < 0 ? isContext.length : isContext.indexOf(false);
  const suffix = isContext.length - 1 - isContext.lastIndexOf(false);
  const context = Math.max(prefix, suffix);
  for (let fuzz = 0; fuzz <= Math.min(maxFuzz, context); fuzz++) {
    const [before, after] = [fuzz + prefix - context, fuzz + suffix - context];
    const [skipped, cut] = [Math.max(0, before), Math.max(0, after)];
    const matches = (line: number) => {
      if (line - 1 + skipped < from) return false;
      if (line - 1 + old.length - cut > lines.length) return false;
      if (before < 0 && hunk.oldStart <= 1 && line !== 1) return false;
      if (after < 0 && line - 1 + old.length !== lines.length) return false;
      for (let at = skipped; at < old.length - cut; at++) {
        if (lines[line - 1 + at] !== old[at]) return false;
      }
      return true;
    };
    for (let distance = 0; distance <= lines.length + Math.abs(guess); distance++) {
      for (const line of distance === 0 ? [guess] : [guess + distance, guess - distance]) {
        if (line >= 1 && matches(line)) return { line, fuzz, skipped, cut };
      }
    }
  }
  return undefined;
}
