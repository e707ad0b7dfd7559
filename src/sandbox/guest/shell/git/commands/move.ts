import { unicodeText } from "../../gnu/command.ts";
import type { GitCommand } from "../git_command.ts";
import { fails, fatal, GitError } from "../store/git_error.ts";
import type { IndexEntry } from "../store/index_file.ts";
import { headTree } from "../store/revisions.ts";
import { filesOfTree } from "../store/tree_object.ts";
import { insidePath, PathSpec } from "../worktree/path_spec.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { writeIndex } from "./add.ts";
import { allWords, commandOptions, usage } from "./command_words.ts";

/** `git rm`. */
export const gitRm: GitCommand = (args, repository) => {
  const options = commandOptions(args, "n,dry-run:q,quiet:cached:f,force:r:ignore-unmatch:sparse");
  const { context, index, objects } = repository;
  const words = allWords(options);
  if (words.length === 0) fatal("No pathspec was given. Which files should I remove?");
  const work = new WorkTree(repository);
  const spec = new PathSpec(repository, words);
  const paths = [...index.entries.keys(), ...index.conflicts.keys()].filter((path) => spec.matches(path));
  for (const { given, path } of spec.literals()) {
    if (
      !options.has("r") && !index.entries.has(path) && paths.some((other) => other.startsWith(`${path}/`))
    ) {
      fatal(`not removing '${unicodeText(given)}' recursively without -r`);
    }
  }
  const [missing] = spec.unused();
  if (missing !== undefined) {
    if (!options.has("ignore-unmatch")) fatal(`pathspec '${unicodeText(missing)}' did not match any files`);
    if (paths.length === 0) return 0;
  }
  if (!options.has("f")) requireSafe();
  for (const path of paths) {
    if (!options.has("q")) context.print(`rm '${path}'\n`);
    if (options.has("n")) continue;
    index.entries.delete(path);
    index.conflicts.delete(path);
    if (!options.has("cached")) work.remove(path);
  }
  if (!options.has("n")) writeIndex(repository);
  return 0;

  /** Ends the command if a file has contents that would be lost. */
  function requireSafe(): void {
    const head = filesOfTree(objects, headTree(repository));
    const changed = new Set(work.changes(spec).pairs.filter(({ to }) => to).map(({ to }) => to?.path));
    const [both, staged, local]: string[][] = [[], [], []];
    for (const path of paths) {
      const entry = index.entries.get(path);
      if (!entry || (!work.status(path) && !changed.has(path))) continue;
      const old = head.get(path);
      const isStaged = !old || old.id !== entry.id || old.mode !== entry.mode;
      const isChanged = changed.has(path);
      if (isStaged && isChanged) both?.push(path);
      else if (options.has("cached")) continue;
      else if (isStaged) staged?.push(path);
      else if (isChanged) local?.push(path);
    }
    const report = (list: readonly string[] | undefined, text: string, hint: string) => {
      if (!list || list.length === 0) return "";
      const [subject, verb] = list.length === 1 ? ["file", "has"] : ["files", "have"];
      return `error: the following ${subject} ${verb} ${text}:\n${
        list.map((path) => `    ${path}\n`).join("")
      }(${hint})\n`;
    };
    const message = report(
      both,
      `staged content different from both the\nfile and the HEAD`,
      "use -f to force removal",
    ) +
      report(staged, "changes staged in the index", "use --cached to keep the file, or -f to force removal") +
      report(local, "local modifications", "use --cached to keep the file, or -f to force removal");
    if (message !== "") throw new GitError(unicodeText(message.trimEnd()), { kind: "", exitCode: 1 });
  }
};

/** `git mv`. */
export const gitMv: GitCommand = (args, repository) => {
  const options = commandOptions(args, "v,verbose:n,dry-run:f,force:k:sparse");
  const { context, index, files } = repository;
  const words = allWords(options);
  const target = words.pop();
  if (target === undefined || words.length === 0) usage("git mv [<options>] <source>... <destination>");
  const work = new WorkTree(repository);
  const targetPath = insidePath(repository, target);
  const isInto = targetPath === "" || work.status(targetPath)?.kind === "directory";
  if (words.length > 1 && !isInto) fatal(`destination '${unicodeText(target)}' is not a directory`);
  const moves: { from: string; to: string; entries: [string, IndexEntry][] }[] = [];
  for (const word of words) {
    const from = insidePath(repository, word);
    const base = from.slice(from.lastIndexOf("/") + 1);
    const to = isInto ? (targetPath === "" ? base : `${targetPath}/${base}`) : targetPath;
    const reason = refusal(word, from, to);
    if (reason !== undefined) {
      if (options.has("k")) continue;
      fatal(`${reason}, source=${unicodeText(from)}, destination=${unicodeText(to)}`);
    }
    const entries = [...index.entries].filter(([path]) => path === from || path.startsWith(`${from}/`));
    moves.push({ from, to, entries });
  }
  for (const { from, to, entries } of moves) {
    if (options.has("v") || options.has("n")) {
      if (options.has("n")) context.print(`Checking rename of '${from}' to '${to}'\n`);
      context.print(`Renaming ${from} to ${to}\n`);
    }
    if (options.has("n")) continue;
    const folder = to.slice(0, Math.max(0, to.lastIndexOf("/")));
    if (folder !== "" && work.status(folder)?.kind !== "directory") {
      fails(`renaming '${unicodeText(from)}' failed: No such file or directory`, 128);
    }
    files.rename(repository.absolute(from), repository.absolute(to));
    for (const [path, entry] of entries) {
      index.entries.delete(path);
      index.entries.set(to + path.slice(from.length), entry);
    }
    work.removeEmptyFolders(from);
  }
  if (!options.has("n")) writeIndex(repository);
  return 0;

  function refusal(word: string, from: string, to: string): string | undefined {
    const status = work.status(from);
    if (!status) return "bad source";
    const isTracked = index.entries.has(from) ||
      [...index.entries.keys()].some((path) => path.startsWith(`${from}/`));
    if (to === from || to.startsWith(`${from}/`)) return "can not move directory into itself";
    if (!isTracked) {
      return status.kind === "directory" ? "source directory is empty" : "not under version control";
    }
    const there = work.status(to);
    void word;
    if (there && !(options.has("f") && there.kind !== "directory")) return "destination exists";
    return undefined;
  }
};
