import { unicodeText } from "../../gnu/command.ts";
import { choosePairs, DIFF_OPTIONS, diffText, readDiffSettings } from "../compare/diff_options.ts";
import { compareTrees, pathOfPair } from "../compare/file_pairs.ts";
import { mergeTrees } from "../compare/merge_trees.ts";
import type { GitCommand } from "../git_command.ts";
import { readCommit, subjectOf, writeCommit } from "../store/commit_object.ts";
import { fails, fatal, GitError, refuse } from "../store/git_error.ts";
import type { Repository } from "../store/repository.ts";
import { headTree } from "../store/revisions.ts";
import { filesOfTree, type TreeFile, writeTrees } from "../store/tree_object.ts";
import { IgnoreRules } from "../worktree/ignore_rules.ts";
import { PathSpec } from "../worktree/path_spec.ts";
import { resetIndex, switchTree } from "../worktree/switch_tree.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { writeIndex } from "./add.ts";
import { allWords, commandOptions } from "./command_words.ts";
import { status } from "./listing/status.ts";

const REFERENCE = "refs/stash";
const NO_ID = "0".repeat(40);

/** `git stash`. */
export const stash: GitCommand = (args, repository) => {
  const [first, ...rest] = args;
  repository.requireWorkTree();
  switch (first) {
    case undefined:
      return push([], repository);
    case "push":
      return push(rest, repository);
    case "save": {
      const options = commandOptions(rest, "k,keep-index:u,include-untracked:a,all:q,quiet");
      const flags = options.given.map(({ name }) => `-${name}`);
      const text = allWords(options).join(" ");
      return push([...flags, ...text === "" ? [] : ["-m", text]], repository);
    }
    case "list":
      return list(repository);
    case "show":
      return showStash(rest, repository);
    case "apply":
    case "pop":
      return restoreStash(rest, repository, first === "pop");
    case "drop":
      return drop(rest, repository);
    case "clear":
      repository.references.remove(REFERENCE);
      return 0;
    case "branch":
    case "create":
    case "store":
      return refuse(`'git stash ${first}'`);
    default:
      if (first.startsWith("-")) return push(args, repository);
      return fatal(
        `subcommand wasn't specified; 'push' can't be assumed due to unexpected token '${
          unicodeText(first)
        }'`,
      );
  }
};

const push: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "k,keep-index:no-keep-index:S,staged:p,patch:q,quiet:u,include-untracked:a,all:m,message=",
    {
      refused: ["S", "p", "a"],
    },
  );
  const { objects, index, references, context } = repository;
  const head = repository.head();
  if (head === undefined) {
    throw new GitError("You do not have the initial commit yet", { kind: "", exitCode: 1 });
  }
  const words = allWords(options);
  const spec = new PathSpec(repository, words);
  const work = new WorkTree(repository);
  const { pairs } = work.changes(spec);
  const base = filesOfTree(objects, headTree(repository));
  const staged = compareTrees(
    objects,
    base,
    new Map([...index.entries].filter(([, entry]) => !entry.isIntent)),
  )
    .filter((pair) => spec.matches(pathOfPair(pair)));
  const untracked = options.has("u")
    ? work.others(new IgnoreRules(repository), { spec, isWhole: true }).untracked
    : [];
  if (words.length > 0) {
    for (const path of index.entries.keys()) spec.matches(path);
    const [missing] = spec.unused();
    if (missing !== undefined) {
      fails(
        `pathspec ':(,prefix:0)${
          unicodeText(missing)
        }' did not match any file(s) known to git\nDid you forget to 'git add'?`,
      );
    }
  }
  if (pairs.length === 0 && staged.length === 0 && untracked.length === 0) {
    if (!options.has("q")) context.print("No local changes to save\n");
    return 0;
  }
  const who = repository.signature("committer");
  const branch = references.branch() ?? "(no branch)";
  const title = `${branch}: ${objects.abbreviate(head, objects.digits)} ${
    subjectOf(readCommit(objects, head).message)
  }`;
  const given = options.value("m");
  const message = given === undefined || given === "" ? `WIP on ${title}` : `On ${branch}: ${given}`;
  const make = (files: Iterable<readonly [string, TreeFile]>, parents: string[], text: string) =>
    writeCommit(objects, {
      tree: writeTrees(objects, files),
      parents,
      author: who,
      committer: who,
      message: text,
    });
  const ofIndex = make(
    [...index.entries].filter(([, entry]) => !entry.isIntent),
    [head],
    `index on ${title}\n`,
  );
  const current = new Map<string, TreeFile>(index.entries);
  for (const { from, to } of pairs) {
    const path = to?.path ?? from?.path ?? "";
    const found = to && work.status(path);
    if (found) current.set(path, work.store(path, found));
    else current.delete(path);
  }
  const others = untracked.flatMap((path) => {
    const found = work.status(path.replace(/\/$/, ""));
    if (found?.kind === "directory") refuse("stashing a repository inside of another one");
    return found ? [[path, work.store(path, found)] as const] : [];
  });
  const parents = [
    head,
    ofIndex,
    ...others.length > 0 ? [make(others, [], `untracked files on ${title}\n`)] : [],
  ];
  const id = make(current, parents, message);
  references.update(REFERENCE, id, { who, message });
  const target = options.has("k") ? new Map<string, TreeFile>(index.entries) : base;
  for (const pair of [...pairs, ...staged]) {
    const path = pathOfPair(pair);
    const file = target.get(path);
    if (file) index.entries.set(path, work.write(path, file));
    else {
      work.remove(path);
      index.entries.delete(path);
    }
  }
  for (const [path] of others) work.remove(path);
  writeIndex(repository);
  if (!options.has("q")) context.print(`Saved working directory and index state ${message}\n`);
  return 0;
};

function list(repository: Repository): number {
  for (const [at, { message }] of repository.references.log(REFERENCE).entries()) {
    repository.context.print(`stash@{${at}}: ${message}\n`);
  }
  return 0;
}

/** Returns the number and the commit of the stash that a word names, such as `1` or `stash@{1}`. */
function findStash(repository: Repository, word: string | undefined): { at: number; id: string } {
  const [, inner = "0"] = /^(?:(?:refs\/)?stash@\{)?(\d+)\}?$/.exec(word ?? "0") ?? [];
  if (word !== undefined && !/^(?:(?:refs\/)?stash(?:@\{\d+\})?|\d+)$/.test(word)) {
    fails(`${unicodeText(word)} is not a valid reference`);
  }
  const entries = repository.references.log(REFERENCE);
  if (entries.length === 0) throw new GitError("No stash entries found.", { kind: "", exitCode: 1 });
  const entry = entries[Number(inner)];
  if (!entry) throw new GitError(`stash@{${inner}} is not a valid reference`, { kind: "error", exitCode: 1 });
  return { at: Number(inner), id: entry.to };
}

const showStash: GitCommand = (args, repository) => {
  const options = commandOptions(args, `include-untracked:only-untracked:${DIFF_OPTIONS}`, {
    refused: ["include-untracked", "only-untracked"],
  });
  const { id } = findStash(repository, allWords(options)[0]);
  const { objects, context } = repository;
  const commit = readCommit(objects, id);
  const [base = ""] = commit.parents;
  const settings = readDiffSettings(options, repository, { digits: objects.digits });
  const pairs = compareTrees(
    objects,
    filesOfTree(objects, readCommit(objects, base).tree),
    filesOfTree(objects, commit.tree),
  );
  context.print(
    diffText(choosePairs(pairs, settings, context), settings, { context, repository, form: "stat" }),
  );
  return 0;
};

function restoreStash(
  args: readonly string[],
  repository: Repository,
  isDropped: boolean,
): number | Promise<number> {
  const options = commandOptions(args, "index:q,quiet");
  const { at, id } = findStash(repository, allWords(options)[0]);
  const { objects, index, context } = repository;
  const commit = readCommit(objects, id);
  const [head = "", ofIndex = "", ofOthers] = commit.parents;
  const base = filesOfTree(objects, readCommit(objects, head).tree);
  const theirs = filesOfTree(objects, commit.tree);
  const before = writeTrees(objects, [...index.entries].filter(([, entry]) => !entry.isIntent));
  const ours = filesOfTree(objects, before);
  const { files, conflicts, merged } = mergeTrees(objects, { base, ours, theirs });
  if (conflicts.length > 0) {
    fatal(
      `the stash has changes of ${
        conflicts.join(", ")
      } that conflict with those made since, and conflicts are not ` +
        "available in the sandbox: nothing was changed",
    );
  }
  if (!options.has("q")) { for (const path of merged) context.print(`Auto-merging ${path}\n`); }
  const work = new WorkTree(repository);
  const others = ofOthers === undefined
    ? new Map()
    : filesOfTree(objects, readCommit(objects, ofOthers).tree);
  for (const path of others.keys()) {
    if (work.status(path)) {
      throw new GitError(
        `${
          unicodeText(path)
        } already exists, no checkout\nerror: could not restore untracked files from stash\nThe stash entry is kept in case you need it again.`,
        { kind: "", exitCode: 1 },
      );
    }
  }
  try {
    switchTree(repository, { from: before, to: writeTrees(objects, files), command: "merge" });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    context.printError(`${error.message}\n`);
    if (isDropped) context.print("The stash entry is kept in case you need it again.\n");
    return 1;
  }
  if (options.has("index")) {
    const staged = mergeTrees(objects, {
      base,
      ours,
      theirs: filesOfTree(objects, readCommit(objects, ofIndex).tree),
    });
    if (staged.conflicts.length > 0) fails("conflicts in index. Try without --index.");
    resetIndex(repository, staged.files, () => true);
  } else {
    // The index stays as it was, but for files that it did not have.
    const kept = new Map([...files].filter(([path]) => !ours.has(path)));
    resetIndex(repository, new Map([...ours, ...kept]), () => true);
  }
  for (const [path, file] of others) work.write(path, file);
  writeIndex(repository);
  const code = options.has("q") ? 0 : status([], repository);
  if (isDropped) dropEntry(repository, { at, id }, options.has("q"));
  return code;
}

const drop: GitCommand = (args, repository) => {
  const options = commandOptions(args, "q,quiet");
  dropEntry(repository, findStash(repository, allWords(options)[0]), options.has("q"));
  return 0;
};

function dropEntry(repository: Repository, { at, id }: { at: number; id: string }, isQuiet: boolean): void {
  const { references, context } = repository;
  const entries = references.log(REFERENCE).filter((_, index) => index !== at);
  const [first] = entries;
  if (!first) references.remove(REFERENCE);
  else {
    references.update(REFERENCE, first.to);
    const linked = entries.map((entry, index) => ({ ...entry, from: entries[index + 1]?.to ?? NO_ID }));
    references.setLog(REFERENCE, linked);
  }
  if (!isQuiet) context.print(`Dropped refs/stash@{${at}} (${id})\n`);
}
