import { quotedPath } from "../compare/names.ts";
import type { GitCommand } from "../git_command.ts";
import { fatal } from "../store/git_error.ts";
import { IgnoreRules } from "../worktree/ignore_rules.ts";
import { PathSpec, relativeName } from "../worktree/path_spec.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { allWords, commandOptions } from "./command_words.ts";

/** `git clean`. */
export const clean: GitCommand = (args, repository) => {
  const options = commandOptions(args, "q,quiet:n,dry-run:f,force:i,interactive:d:e,exclude=:x:X", {
    refused: ["i"],
  });
  const { context, config } = repository;
  const work = new WorkTree(repository);
  if (options.has("x") && options.has("X")) fatal("options '-x' and '-X' cannot be used together");
  if (!options.has("n") && !options.has("f") && config.flag("clean.requireforce", true)) {
    fatal(
      config.has("clean.requireforce")
        ? "clean.requireForce set to true and neither -i, -n, nor -f given; refusing to clean"
        : "clean.requireForce defaults to true and neither -i, -n, nor -f given; refusing to clean",
    );
  }
  const words = allWords(options);
  const spec = new PathSpec(repository, words.length > 0 ? words : repository.prefix === "" ? [] : ["."]);
  const rules = new IgnoreRules(repository, options.values("e"));
  const found = work.others(rules, { ...(!spec.isEmpty && { spec }) });
  const chosen = options.has("X") ? found.ignored : options.has("x") ? mergedFolders() : found.untracked;
  const force = options.given.filter(({ name }) => name === "f").length;
  for (const path of [...chosen].sort()) {
    const isFolder = path.endsWith("/");
    const name = path.replace(/\/$/, "");
    if (isFolder && !options.has("d") && !(words.length > 0 && spec.matches(name))) continue;
    const isRepository = isFolder && work.status(`${name}/.git`) !== undefined;
    const shown = quotedPath(relativeName(repository, path), repository.keepsBytes);
    if (isRepository && force < 2) {
      context.print(options.has("n") ? `Would skip repository ${shown}\n` : `Skipping repository ${shown}\n`);
      continue;
    }
    if (options.has("n")) context.print(`Would remove ${shown}\n`);
    else {
      if (!options.has("q")) context.print(`Removing ${shown}\n`);
      removeUnignored(name, isFolder);
    }
  }
  return 0;

  /** Returns untracked and ignored files, where a folder holds both as a single entry. */
  function mergedFolders(): string[] {
    const all = [...found.untracked, ...found.ignored];
    return all.filter((path) =>
      !all.some((other) => other !== path && other.endsWith("/") && path.startsWith(other))
    );
  }

  /** Removes a file, or what a folder holds beside ignored files. */
  function removeUnignored(name: string, isFolder: boolean): void {
    const keepsIgnored = !options.has("x") && !options.has("X");
    if (!isFolder || !keepsIgnored) {
      work.removeTree(name);
      return;
    }
    const inner = work.others(rules, {
      spec: new PathSpec(repository, [`:(top,literal)${name}`]),
      isWhole: true,
    });
    if (inner.ignored.length === 0) return void work.removeTree(name);
    for (const path of inner.untracked) {
      work.removeTree(path.replace(/\/$/, ""));
      work.removeEmptyFolders(path);
    }
  }
};
