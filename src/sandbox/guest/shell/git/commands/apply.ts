import {
  bytesOf,
  type CommandContext,
  errorText,
  pathIn,
  statusOf,
  textOf,
  unicodeText,
} from "../../gnu/command.ts";
import { contentSide, type FilePair } from "../compare/file_pairs.ts";
import { applyHunks, type PatchedFile, readPatch, reversePatch } from "../compare/git_patch.ts";
import { quotedPath, renameText } from "../compare/names.ts";
import { summaryText, sumText } from "../compare/stat_output.ts";
import type { Hunk } from "../../gnu/text/diff/unified_diff.ts";
import type { FreeCommand } from "../git_command.ts";
import { fails, fatal, GitError } from "../store/git_error.ts";
import { hashObject } from "../store/object_store.ts";
import { applyDelta } from "../store/pack_file.ts";
import { findRepository, type Repository } from "../store/repository.ts";
import { MODE } from "../store/tree_object.ts";
import { wildmatch } from "../worktree/wildmatch.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { writeIndex } from "./add.ts";
import { allWords, type CommandOptions, commandOptions } from "./command_words.ts";

const OPTIONS =
  "p=:R,reverse:check:index:cached:stat:numstat:summary:apply:3,3way:reject:z:C=:v,verbose:q,quiet:" +
  "whitespace=:ignore-space-change:ignore-whitespace:unidiff-zero:recount:directory=:include=:exclude=:allow-empty:" +
  "N,intent-to-add:no-add:inaccurate-eof:unsafe-paths:build-fake-ancestor=:allow-overlap:binary:index-info:allow-binary-replacement";

/** Widths of `--stat`: of names, and of names with their bars. */
const [MAX_NAME, MAX_LINE] = [50, 70];

/** A file as a patch leaves it. */
interface Outcome {
  readonly file: PatchedFile;
  readonly after: string;
  readonly mode: number;
}

/** `git apply`. */
export const apply: FreeCommand = (args, context, globals) => {
  const options = commandOptions(args, OPTIONS, {
    refused: [
      "3",
      "reject",
      "C",
      "recount",
      "z",
      "N",
      "no-add",
      "inaccurate-eof",
      "build-fake-ancestor",
      "allow-overlap",
    ],
  });
  const repository = findRepository(context, globals);
  const isIndexed = options.has("index") || options.has("cached");
  if (isIndexed && !repository) {
    fatal(`'--${options.has("index") ? "index" : "cached"}' outside a repository`);
  }
  const strip = Number(options.value("p") ?? 1);
  const inputs = allWords(options).length > 0 ? allWords(options) : ["-"];
  const run = new Application(context, options, repository);
  const files = inputs.flatMap((name) => {
    const text = name === "-" ? context.stdin : readInput(context, name);
    run.reportWhitespace(name === "-" ? "<stdin>" : name, text);
    const found = readPatch(text, strip);
    if (found.length === 0 && !options.has("allow-empty")) {
      throw new GitError('No valid patches in input (allow with "--allow-empty")', {
        kind: "error",
        exitCode: 128,
      });
    }
    return found;
  });
  return run.apply(files);
};

function readInput({ files, cwd }: CommandContext, name: string): string {
  try {
    return textOf(files.read(pathIn(cwd, name)));
  } catch (error) {
    throw new GitError(`can't open patch '${unicodeText(name)}': ${errorText(error)}`, {
      kind: "error",
      exitCode: 128,
    });
  }
}

class Application {
  readonly #context: CommandContext;
  readonly #options: CommandOptions;
  readonly #repository: Repository | undefined;
  readonly #isCached: boolean;
  readonly #isIndexed: boolean;
  /** Contents of files that earlier parts of the patch have changed. Absent for those that were removed. */
  readonly #state = new Map<string, { text: string; mode: number } | undefined>();
  #whitespaceErrors = 0;

  constructor(context: CommandContext, options: CommandOptions, repository: Repository | undefined) {
    this.#context = context;
    this.#options = options;
    this.#repository = repository;
    this.#isCached = options.has("cached");
    this.#isIndexed = this.#isCached || options.has("index");
  }

  apply(patched: readonly PatchedFile[]): number {
    const options = this.#options;
    const chosen = patched.map((file) => this.#placed(options.has("R") ? reversePatch(file) : file))
      .filter((file) => this.#isChosen(file));
    const isShown = ["stat", "numstat", "summary"].some((name) => options.has(name));
    if (isShown) this.#show(chosen);
    if (isShown && !options.has("apply") && !options.has("check")) return 0;
    const outcomes: Outcome[] = [];
    let failed = false;
    for (const file of options.has("R") ? chosen.toReversed() : chosen) {
      this.#context.poll();
      try {
        outcomes.push(this.#compute(file));
      } catch (error) {
        if (!(error instanceof GitError) || error.exitCode !== 1) throw error;
        this.#context.printError(`error: ${error.message}\n`);
        failed = true;
      }
    }
    if (failed) return 1;
    if (options.has("check") && !options.has("apply")) return 0;
    this.#write(outcomes);
    if (this.#repository && this.#isIndexed) writeIndex(this.#repository);
    return 0;
  }

  /** Reports spaces at the ends of added lines. */
  reportWhitespace(name: string, text: string): void {
    const mode = this.#options.value("whitespace") ?? this.#repository?.config.get("apply.whitespace") ??
      "warn";
    if (!["warn", "nowarn", "error", "error-all", "fix", "strip"].includes(mode)) {
      fails(`unrecognized whitespace option '${mode}'`, 128);
    }
    const isFixing = mode === "fix" || mode === "strip";
    if (mode === "nowarn") return;
    const lines = text.split("\n");
    const isInHunk = hunkLines(lines);
    const sign = this.#options.has("R") ? "-" : "+";
    for (const [at, line] of lines.entries()) {
      if (!isInHunk[at] || !line.startsWith(sign)) continue;
      const problem = /[ \t\r\v\f]$/.test(line.slice(1))
        ? "trailing whitespace"
        : /^\t* +\t/.test(line.slice(1))
        ? "space before tab in indent"
        : undefined;
      if (problem === undefined) continue;
      if (isFixing && /^\t* +\t/.test(line.slice(1))) {
        fatal("--whitespace=fix of spaces before a tab is not available in the sandbox");
      }
      if (++this.#whitespaceErrors > 5) continue;
      this.#context.printError(
        `${unicodeText(name)}:${at + 1}: ${problem}.\n${unicodeText(line.slice(1))}\n`,
      );
    }
    const count = this.#whitespaceErrors;
    if (count === 0) return;
    if (count > 5) {
      this.#context.printError(`warning: squelched ${count - 5} whitespace error${count === 6 ? "" : "s"}\n`);
    }
    if (isFixing) {
      const lines = `${count} line${count === 1 ? "" : "s"}`;
      return this.#context.printError(`warning: ${lines} applied after fixing whitespace errors.\n`);
    }
    const summary = `${count} line${count === 1 ? " adds" : "s add"} whitespace errors.`;
    if (mode.startsWith("error")) fails(summary, 128);
    this.#context.printError(`warning: ${summary}\n`);
  }

  get #isFixing(): boolean {
    return ["fix", "strip"].includes(this.#options.value("whitespace") ?? "");
  }

  /** Returns the changes with paths from the top of the work tree. */
  #placed(file: PatchedFile): PatchedFile {
    const folder = this.#options.value("directory");
    const inner = folder === undefined ? "" : `${folder.replace(/\/+$/, "")}/`;
    const place = (name: string | undefined) => name === undefined ? undefined : inner + name;
    return { ...file, oldName: place(file.oldName), newName: place(file.newName) };
  }

  #isChosen({ oldName, newName }: PatchedFile): boolean {
    const name = newName ?? oldName ?? "";
    if (name.split("/").includes("..") || name.startsWith("/")) {
      fails(`invalid path '${unicodeText(name)}'`, 128);
    }
    const prefix = this.#repository?.top === undefined ? "" : this.#repository.prefix;
    if (!name.startsWith(prefix)) {
      if (this.#options.has("v")) this.#context.printError(`Skipped patch '${name}'.\n`);
      return false;
    }
    for (
      const option of this.#options.given.filter(({ name: key }) => key === "include" || key === "exclude")
    ) {
      if (wildmatch(option.value, { isPath: false }).test(name)) return option.name === "include";
    }
    return !this.#options.has("include");
  }

  /** Computes what a file becomes. */
  #compute(file: PatchedFile): Outcome {
    const { newName, hunks, binary } = file;
    const isMissing = file.mayCreate && file.oldName !== undefined && !this.#state.has(file.oldName) &&
      !statusOf(this.#context.files, this.#path(file.oldName));
    const oldName = isMissing ? undefined : file.oldName;
    const name = oldName ?? newName ?? "";
    if (this.#options.has("v")) this.#context.printError(`Checking patch ${name}...\n`);
    const current = oldName === undefined ? undefined : this.#current(oldName);
    if (newName !== undefined && newName !== oldName) this.#requireFree(newName);
    const before = current?.text ?? "";
    let after: string;
    if (binary) after = this.#applyBinary(file, before, name);
    else {
      const isLoose = this.#options.has("ignore-whitespace") || this.#options.has("ignore-space-change");
      const keyOf = (line: string) => isLoose ? line.trim().replace(/\s+/g, " ") : line;
      const result = applyHunks(before, this.#isFixing ? hunks.map(withoutTrailingSpace) : hunks, {
        keyOf,
        isBare: this.#options.has("unidiff-zero"),
      });
      if ("failed" in result) {
        const line = hunks[result.failed]?.oldStart ?? 0;
        fails(`patch failed: ${name}:${line}\nerror: ${name}: patch does not apply`);
      }
      after = result.text;
    }
    if (newName === undefined && after !== "") {
      fails(`removal patch leaves file contents\nerror: ${name}: patch does not apply`);
    }
    const oldMode = current?.mode ?? MODE.file;
    if (
      current && file.oldMode !== undefined && file.oldMode !== current.mode && file.newMode !== undefined &&
      newName !== undefined
    ) {
      this.#context.printError(
        `warning: ${name} has type ${current.mode.toString(8)}, expected ${file.oldMode.toString(8)}\n`,
      );
    }
    const mode = file.newMode ?? oldMode;
    if (oldName !== undefined && !file.isCopy && oldName !== newName) this.#state.set(oldName, undefined);
    if (newName !== undefined) this.#state.set(newName, { text: after, mode });
    return { file, after, mode };
  }

  #applyBinary({ binary, ids }: PatchedFile, before: string, name: string): string {
    if (!binary || !ids || ids[0].length < 40) {
      fails(`cannot apply binary patch to '${name}' without full index line`);
    }
    const isEmpty = /^0+$/.test(ids[0]);
    if (!isEmpty && hashObject("blob", bytesOf(before)) !== ids[0]) {
      fails(
        `the patch applies to '${name}' (${
          ids[0]
        }), which does not match the current contents.\nerror: ${name}: patch does not apply`,
      );
    }
    const { kind, bytes } = binary.forward;
    return textOf(kind === "literal" ? bytes : applyDelta(bytesOf(before), bytes));
  }

  /** Returns a file as it is now: in the work tree, or in the index with `--cached`. */
  #current(name: string): { text: string; mode: number } {
    if (this.#state.has(name)) return this.#state.get(name) ?? fails(`${name}: No such file or directory`);
    const repository = this.#repository;
    const entry = repository?.index.entries.get(name);
    if (this.#isIndexed && repository) {
      if (!entry) fails(`${name}: does not exist in index`);
      if (this.#isCached) {
        return { text: textOf(repository.objects.readKind(entry.id, "blob")), mode: entry.mode };
      }
      const work = new WorkTree(repository);
      const status = work.status(name);
      if (status && hashObject("blob", work.read(name, status)) !== entry.id) {
        fails(`${name}: does not match index`);
      }
      if (!status) repository.index.entries.set(name, work.write(name, entry)); // a file that is only missing
    }
    const { files } = this.#context;
    const path = this.#path(name);
    const status = statusOf(files, path, { follow: false });
    if (!status) fails(`${name}: No such file or directory`);
    if (status.kind === "directory") fails(`${name}: wrong type`);
    if (status.kind === "link") return { text: files.target(path), mode: MODE.link };
    return { text: textOf(files.read(path)), mode: status.mode & 0o100 ? MODE.program : MODE.file };
  }

  #requireFree(name: string): void {
    if (this.#state.has(name)) {
      if (this.#state.get(name)) fails(`${name}: already exists in working directory`);
      return;
    }
    if (this.#isIndexed && this.#repository?.index.entries.has(name)) {
      fails(`${name}: already exists in index`);
    }
    if (this.#isCached) return;
    if (statusOf(this.#context.files, this.#path(name), { follow: false })) {
      fails(`${name}: already exists in working directory`);
    }
  }

  #path(name: string): string {
    const repository = this.#repository;
    return repository?.top === undefined ? pathIn(this.#context.cwd, name) : repository.absolute(name);
  }

  #write(outcomes: readonly Outcome[]): void {
    for (const { file, after, mode } of outcomes) {
      const { oldName, newName, isCopy } = file;
      if (oldName !== undefined && oldName !== newName && !isCopy) this.#remove(oldName);
      if (newName === undefined) continue;
      const bytes = bytesOf(after);
      if (!this.#isCached) this.#writeFile(newName, bytes, mode);
      const repository = this.#repository;
      if (!this.#isIndexed || !repository) continue;
      const id = repository.objects.write("blob", bytes);
      const work = this.#isCached ? undefined : new WorkTree(repository);
      const status = work?.status(newName);
      repository.index.entries.set(newName, status && work ? work.store(newName, status) : { mode, id });
    }
    if (this.#options.has("v")) {
      for (const { file } of outcomes) {
        this.#context.printError(`Applied patch ${file.newName ?? file.oldName} cleanly.\n`);
      }
    }
  }

  #remove(name: string): void {
    const { files } = this.#context;
    if (!this.#isCached) {
      const path = this.#path(name);
      files.removeFile(path);
      const parts = name.split("/");
      for (let length = parts.length - 1; length > 0; length--) {
        const folder = this.#path(parts.slice(0, length).join("/"));
        if (files.names(folder).length > 0) break;
        files.removeDirectory(folder);
      }
    }
    if (this.#isIndexed) this.#repository?.index.entries.delete(name);
  }

  #writeFile(name: string, bytes: Uint8Array, mode: number): void {
    const { files } = this.#context;
    const parts = name.split("/");
    for (let length = 1; length < parts.length; length++) {
      const folder = this.#path(parts.slice(0, length).join("/"));
      if (!statusOf(files, folder)) files.makeDirectory(folder);
    }
    const path = this.#path(name);
    const old = statusOf(files, path, { follow: false });
    try {
      if (old?.kind === "link" || (old && mode === MODE.link)) files.removeFile(path);
      if (mode === MODE.link) return files.link(textOf(bytes), path);
      files.write(path, bytes);
      const isProgram = mode === MODE.program;
      if (((old?.mode ?? 0) & 0o100) !== 0 !== isProgram) {
        files.setMode(path, (isProgram ? 0o777 : 0o666) & ~files.umask());
      }
    } catch (error) {
      fatal(`unable to write file '${unicodeText(name)}' mode ${mode.toString(8)}: ${errorText(error)}`);
    }
  }

  /** Prints what a patch changes, by its lines alone. */
  #show(files: readonly PatchedFile[]): void {
    const stats = files.map((file) => {
      const count = (wanted: string) =>
        file.hunks.reduce((sum, { lines }) => sum + lines.filter(({ sign }) => sign === wanted).length, 0);
      const { oldName, newName } = file;
      const name = oldName !== undefined && newName !== undefined && oldName !== newName
        ? renameText(oldName, newName)
        : quotedPath(newName ?? oldName ?? "");
      return { file, name, added: count("+"), deleted: count("-") };
    });
    const { print } = this.#context;
    if (this.#options.has("stat")) {
      const width = Math.min(MAX_NAME, Math.max(0, ...stats.map(({ name }) => name.length)));
      const largest = Math.max(0, ...stats.map(({ added, deleted }) => added + deleted));
      const graph = width + largest > MAX_LINE ? MAX_LINE - width : largest;
      const scaled = (count: number) =>
        largest === 0 ? 0 : Math.floor((count * graph + (largest >> 1)) / largest);
      for (const { file, name, added, deleted } of stats) {
        const head = ` ${shortened(name, width).padEnd(width)} |`;
        if (file.binary) print(`${head}  Bin\n`);
        else {
          const [total, plus] = [scaled(added + deleted), scaled(added)];
          print(
            `${head}${String(added + deleted).padStart(5)} ${"+".repeat(plus)}${"-".repeat(total - plus)}\n`,
          );
        }
      }
      const sum = (key: "added" | "deleted") => stats.reduce((total, stat) => total + stat[key], 0);
      print(sumText({ files: stats.length, added: sum("added"), deleted: sum("deleted") }));
    }
    if (this.#options.has("numstat")) {
      for (const { file, name, added, deleted } of stats) {
        print(file.binary ? `-\t-\t${name}\n` : `${added}\t${deleted}\t${name}\n`);
      }
    }
    if (!this.#options.has("summary")) return;
    const pairs = files.map((file): FilePair => {
      const side = (name: string | undefined, mode: number | undefined) =>
        name === undefined ? undefined : contentSide(name, mode ?? MODE.file, new Uint8Array());
      const { oldName, newName, oldMode, newMode, score, isCopy } = file;
      const [from, to] = [side(oldName, oldMode), side(newName, newMode ?? oldMode)];
      const letter = !from ? "A" : !to ? "D" : score === undefined ? "M" : isCopy ? "C" : "R";
      return { letter, from, to, ...(score !== undefined && { similarity: score }) };
    });
    print(summaryText(pairs));
  }
}

function shortened(name: string, width: number): string {
  if (name.length <= width) return name;
  const start = name.length + 3 - width;
  const slash = name.indexOf("/", start);
  return `...${name.slice(slash < 0 ? start : slash)}`;
}

/** Returns a hunk whose added lines do not end with spaces. */
function withoutTrailingSpace({ lines, ...hunk }: Hunk): Hunk {
  const fixed = lines.map(({ sign, text }) => ({
    sign,
    text: sign === "+" ? text.replace(/[ \t\r]+(?=\n?$)/, "") : text,
  }));
  return { ...hunk, lines: fixed };
}

/** Returns which lines of a patch belong to hunks. */
function hunkLines(lines: readonly string[]): boolean[] {
  const found = lines.map(() => false);
  let [old, fresh] = [0, 0];
  for (const [at, line] of lines.entries()) {
    const [, oldCount, newCount, isHead] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? (@@)/.exec(line) ?? [];
    if (old <= 0 && fresh <= 0) {
      if (isHead !== undefined) [old, fresh] = [Number(oldCount ?? 1), Number(newCount ?? 1)];
      continue;
    }
    found[at] = true;
    if (line.startsWith("+")) fresh--;
    else if (line.startsWith("-")) old--;
    else if (!line.startsWith("\\")) {
      old--;
      fresh--;
    }
  }
  return found;
}
