import { unicodeText } from "../../gnu/command.ts";
import { EMPTY_BLOB } from "../store/object_store.ts";
import type { GitCommand } from "../git_command.ts";
import { fatal, refuse } from "../store/git_error.ts";
import type { Repository } from "../store/repository.ts";
import { MODE, sortedFiles } from "../store/tree_object.ts";
import { IgnoreRules } from "../worktree/ignore_rules.ts";
import { PathSpec } from "../worktree/path_spec.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { allWords, commandOptions } from "./command_words.ts";

const OPTIONS = "n,dry-run:v,verbose:f,force:i,interactive:p,patch:e,edit:u,update:A,all:no-ignore-removal:" +
  "no-all:ignore-removal:N,intent-to-add:refresh:ignore-errors:ignore-missing:renormalize:chmod=:" +
  "pathspec-from-file=:pathspec-file-nul:sparse";

/** `git add`. */
export const add: GitCommand = (args, repository) => {
  const options = commandOptions(args, OPTIONS, {
    refused: ["i", "p", "e", "renormalize", "pathspec-from-file", "ignore-missing"],
  });
  const { context, index } = repository;
  const words = allWords(options);
  const [isAll, isUpdate] = [options.has("A"), options.has("u")];
  if (isAll && isUpdate) fatal("options '-A' and '-u' cannot be used together");
  if (words.length === 0 && !isAll && !isUpdate) {
    context.printError(
      "Nothing specified, nothing added.\nhint: Maybe you wanted to say 'git add .'?\n" +
        'hint: Turn this message off by running\nhint: "git config advice.addEmptyPathspec false"\n',
    );
    return 0;
  }
  const chmod = options.value("chmod");
  if (chmod !== undefined && !/^[-+]x$/.test(chmod)) {
    fatal(`--chmod param '${chmod}' must be either -x or +x`);
  }
  const work = new WorkTree(repository);
  const spec = new PathSpec(repository, words);
  const rules = new IgnoreRules(repository);
  const isDry = options.has("n");
  const report = (verb: string, path: string) => {
    if (isDry || options.has("v")) context.print(`${verb} '${path}'\n`);
  };
  const { pairs } = work.changes(spec);
  const deleted = pairs.filter(({ to }) => !to).map(({ from }) => from?.path ?? "");
  const modified = pairs.filter(({ to }) => to).map(({ to }) => to?.path ?? "");
  const conflicts = [...index.conflicts.keys()].filter((path) => spec.matches(path));
  const { untracked, ignored } = isUpdate
    ? { untracked: [], ignored: [] }
    : work.others(rules, { spec, isWhole: true, isIgnoredWhole: options.has("f") || !spec.isEmpty });
  const fresh = options.has("f") ? [...untracked, ...ignored] : untracked;
  requireMatches();
  const refusedPaths = options.has("f") ? [] : ignoredLiterals();
  const isRemoving = !options.has("no-all") && !options.has("ignore-removal");
  const entries = [...modified, ...fresh, ...conflicts].sort();
  for (const path of entries) {
    context.poll();
    const status = work.status(path.replace(/\/$/, ""));
    if (!status) continue;
    if (status.kind === "directory") {
      refuse(`adding the repository '${unicodeText(path)}' inside of another one`);
    }
    report("add", path);
    if (isDry) continue;
    index.conflicts.delete(path);
    index.entries.set(
      path,
      options.has("N") && !index.entries.has(path)
        ? { mode: work.modeOf(status), id: EMPTY_BLOB, isIntent: true }
        : work.store(path, status),
    );
  }
  if (isRemoving) {
    for (const path of deleted) {
      report("remove", path);
      if (!isDry) index.entries.delete(path);
    }
  }
  if (chmod !== undefined) {
    for (const [path, entry] of index.entries) {
      if (!spec.matches(path)) continue;
      index.entries.set(path, { ...entry, mode: chmod === "+x" ? MODE.program : MODE.file });
    }
  }
  if (!isDry) writeIndex(repository);
  if (refusedPaths.length === 0) return 0;
  context.printError(
    `The following paths are ignored by one of your .gitignore files:\n${
      refusedPaths.map((path) => `${unicodeText(path)}\n`).join("")
    }` +
      "hint: Use -f if you really want to add them.\nhint: Turn this message off by running\n" +
      'hint: "git config advice.addIgnoredFile false"\n',
  );
  return 1;

  function requireMatches(): void {
    for (const path of [...index.entries.keys(), ...fresh, ...conflicts]) {
      spec.matches(path.replace(/\/$/, ""));
    }
    const known = new Set(spec.unused());
    for (const { given, path } of spec.literals()) {
      if (path === "" || work.status(path) !== undefined) known.delete(given);
    }
    const [missing] = known;
    if (missing === undefined) return;
    if (ignored.some((path) => new PathSpec(repository, [missing]).matches(path))) return;
    fatal(`pathspec '${unicodeText(missing)}' did not match any files`);
  }

  /** Returns the words that name ignored files or folders themselves. */
  function ignoredLiterals(): string[] {
    if (isUpdate) return [];
    return [
      ...new Set(
        spec.literals().filter(({ path }) => path !== "" && !index.entries.has(path)).flatMap(({ path }) => {
          const kind = work.status(path)?.kind;
          if (kind === undefined || !rules.isIgnored(path, kind === "directory")) return [];
          const hasTracked = [...index.entries.keys()].some((other) => other.startsWith(`${path}/`));
          return hasTracked ? [] : [ignoredPart(path)];
        }),
      ),
    ].sort();
  }

  /** Returns the folder that a rule names, or else the path itself. */
  function ignoredPart(path: string): string {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      if (rules.isIgnored(path.slice(0, at), true)) return path.slice(0, at);
    }
    return path;
  }
};

/** Writes the index with its entries in order, without those that a file stands in the way of. */
export function writeIndex({ index }: Repository): void {
  const sorted = sortedFiles(index.entries);
  index.entries.clear();
  for (const [path, entry] of sorted) index.entries.set(path, entry);
  for (const path of sorted.keys()) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      index.entries.delete(path.slice(0, at)); // a file that became a folder
    }
  }
  index.write();
}
