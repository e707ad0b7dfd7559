import { unicodeText } from "../../gnu/command.ts";
import { pathOfPair } from "../compare/file_pairs.ts";
import { nameText } from "../compare/stat_output.ts";
import type { GitCommand } from "../git_command.ts";
import { readCommit, subjectOf } from "../store/commit_object.ts";
import { fails, fatal, GitError, refuse } from "../store/git_error.ts";
import { isReferenceName } from "../store/references.ts";
import type { Repository } from "../store/repository.ts";
import { commitOf, findRevision, headTree, previousBranch, treeOf, walk } from "../store/revisions.ts";
import { filesOfTree, type TreeFile } from "../store/tree_object.ts";
import { trackingOf } from "../worktree/changes.ts";
import { PathSpec } from "../worktree/path_spec.ts";
import { forceTree, resetIndex, switchTree } from "../worktree/switch_tree.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { writeIndex } from "./add.ts";
import { allWords, commandOptions } from "./command_words.ts";
import { actorOf, createBranch } from "./branch.ts";
import { trackingText } from "./listing/status.ts";

const SHARED =
  "q,quiet:f,force:d,detach:m,merge:conflict=:progress:no-progress:t,track?:no-track:guess:no-guess:" +
  "recurse-submodules?:no-recurse-submodules:overwrite-ignore:no-overwrite-ignore:ignore-other-worktrees";
const REFUSED = ["m", "conflict", "no-overwrite-ignore"];

/** `git checkout`. */
export const checkout: GitCommand = (args, repository) => {
  const options = commandOptions(args, `b=:B=:orphan=:p,patch:ours:theirs:l:pathspec-from-file=:${SHARED}`, {
    refused: [...REFUSED, "p", "ours", "theirs", "pathspec-from-file"],
  });
  const words = [...options.operands];
  const target = {
    isQuiet: options.has("q"),
    isForced: options.has("f"),
    isDetached: options.has("d"),
  };
  const name = options.value("b") ?? options.value("B");
  if (options.has("orphan")) {
    return switchToOrphan(repository, {
      name: options.value("orphan") ?? "",
      start: words[0],
      isQuiet: target.isQuiet,
    });
  }
  if (name !== undefined) {
    if (words.length > 1 || (options.paths?.length ?? 0) > 0) {
      fatal(`Cannot update paths and switch to branch '${name}' at the same time.`);
    }
    return switchToNew(repository, { name, start: words[0], isReset: options.has("B"), ...target });
  }
  if (options.paths !== undefined && words.length <= 1) {
    const [start] = words;
    if (options.paths.length === 0) return switchTo(repository, start ?? "HEAD", target);
    return restorePaths(repository, { source: start, words: options.paths, isQuiet: true });
  }
  const [first, ...rest] = words;
  if (first === undefined) {
    printChanges(repository, target.isQuiet);
    return 0;
  }
  const start = first === "-"
    ? previousBranch(repository, 1) ?? fails("pathspec '-' did not match any file(s) known to git")
    : first;
  if (findRevision(repository, start) !== undefined) {
    if (rest.length > 0) {
      return restorePaths(repository, { source: start, words: rest, isQuiet: target.isQuiet });
    }
    return switchTo(repository, start, target);
  }
  if (rest.length === 0 && isUnborn(repository, start)) return 0;
  const remote = rest.length === 0 && !options.has("no-guess") && !isPath(repository, start)
    ? remoteBranch(repository, start)
    : undefined;
  if (remote !== undefined) {
    return switchToTracking(repository, start, { remote, ...target });
  }
  return restorePaths(repository, { source: undefined, words, isQuiet: target.isQuiet });
};

/** `git switch`. */
export const switchBranch: GitCommand = (args, repository) => {
  const options = commandOptions(args, `c,create=:C,force-create=:discard-changes:orphan=:${SHARED}`, {
    refused: REFUSED,
  });
  const [word] = allWords(options);
  const target = {
    isQuiet: options.has("q"),
    isForced: options.has("f") || options.has("discard-changes"),
    isDetached: options.has("d"),
  };
  const name = options.value("c") ?? options.value("C");
  if (options.has("orphan")) {
    return switchToOrphan(repository, {
      name: options.value("orphan") ?? "",
      start: word,
      isQuiet: target.isQuiet,
    });
  }
  if (name !== undefined) {
    return switchToNew(repository, { name, start: word, isReset: options.has("C"), ...target });
  }
  if (word === undefined) fatal("missing branch or commit argument");
  const start = word === "-" ? previousBranch(repository, 1) ?? fatal("invalid reference: -") : word;
  const isBranch = repository.references.resolve(`refs/heads/${start}`) !== undefined;
  if (!isBranch && !target.isDetached) {
    const remote = options.has("no-guess") ? undefined : remoteBranch(repository, start);
    if (remote !== undefined) {
      return switchToTracking(repository, start, { remote, ...target });
    }
    if (findRevision(repository, start) === undefined) fatal(`invalid reference: ${unicodeText(start)}`);
    const kind = repository.references.resolve(`refs/tags/${start}`) !== undefined ? "tag " : "commit ";
    const head = start === "HEAD" ? repository.references.headTarget() : undefined;
    throw new GitError(
      `a branch is expected, got ${head === undefined ? `${kind}'${unicodeText(start)}'` : `'${head}'`}\n` +
        "hint: If you want to detach HEAD at the commit, try again with the --detach option.",
    );
  }
  return switchTo(repository, start, target);
};

/** `git restore`. */
export const restore: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "s,source=:S,staged:W,worktree:q,quiet:p,patch:ours:theirs:m,merge:conflict=:ignore-unmerged:overlay:no-overlay:" +
      "pathspec-from-file=:progress:no-progress",
    { refused: ["p", "ours", "theirs", "m", "conflict", "overlay", "pathspec-from-file"] },
  );
  const words = allWords(options);
  if (words.length === 0) fatal("you must specify path(s) to restore");
  const isStaged = options.has("S");
  const isWork = options.has("W") || !isStaged;
  const given = options.value("s");
  const { objects, index } = repository;
  const source = given ?? (isStaged ? "HEAD" : undefined);
  const spec = new PathSpec(repository, words);
  const files: ReadonlyMap<string, TreeFile> = source === undefined
    ? new Map([...index.entries].filter(([, entry]) => !entry.isIntent))
    : filesOfTree(objects, source === "HEAD" ? headTree(repository) : treeOf(repository, source));
  for (const path of [...files.keys(), ...index.entries.keys()]) spec.matches(path);
  requireKnown(spec);
  const work = new WorkTree(repository);
  if (isWork) {
    const edited = new Set(work.changes(spec).pairs.map(pathOfPair));
    for (const path of [...index.entries.keys()]) {
      if (!files.has(path) && spec.matches(path)) work.remove(path);
    }
    for (const [path, file] of files) {
      if (!spec.matches(path)) continue;
      const current = index.entries.get(path);
      const isCurrent = current?.id === file.id && current.mode === file.mode && !edited.has(path) &&
        work.status(path);
      if (isCurrent) continue;
      const entry = work.write(path, file);
      if (isStaged || (current && current.id === file.id && current.mode === file.mode)) {
        index.entries.set(path, entry);
      }
    }
  }
  if (isStaged) resetIndex(repository, files, (path) => spec.matches(path));
  writeIndex(repository);
  return 0;
};

function requireKnown(spec: PathSpec): void {
  const missing = spec.unused();
  if (missing.length === 0) return;
  const lines = missing.map((word) =>
    `error: pathspec '${unicodeText(word)}' did not match any file(s) known to git`
  );
  throw new GitError(lines.join("\n"), { kind: "", exitCode: 1 });
}

/** Restores files from a revision, which also stages them, or from the index. */
function restorePaths(
  repository: Repository,
  { source, words, isQuiet }: { source: string | undefined; words: readonly string[]; isQuiet: boolean },
): number {
  const { objects, index, context } = repository;
  const work = new WorkTree(repository);
  const spec = new PathSpec(repository, words);
  const files: ReadonlyMap<string, TreeFile> = source === undefined
    ? new Map([...index.entries].filter(([, entry]) => !entry.isIntent))
    : filesOfTree(objects, treeOf(repository, source));
  const chosen = [...files].filter(([path]) => spec.matches(path));
  const conflicts = [...index.conflicts.keys()].filter((path) => source === undefined && spec.matches(path));
  if (conflicts.length > 0) fails(`path '${conflicts[0]}' is unmerged`);
  requireKnown(spec);
  const edited = new Set(work.changes(spec).pairs.map(pathOfPair));
  let updated = 0;
  for (const [path, file] of chosen) {
    context.poll();
    const current = index.entries.get(path);
    const isCurrent = current?.id === file.id && current.mode === file.mode && !edited.has(path);
    if (isCurrent && work.status(path)) continue;
    index.entries.set(path, work.write(path, file));
    updated++;
  }
  writeIndex(repository);
  if (isQuiet || (source !== undefined && updated === 0 && chosen.length === 0)) return 0;
  const from = source === undefined
    ? "the index"
    : objects.abbreviate(treeOf(repository, source), objects.digits);
  context.printError(`Updated ${updated} path${updated === 1 ? "" : "s"} from ${from}\n`);
  return 0;
}

interface Target {
  readonly isQuiet: boolean;
  readonly isForced: boolean;
  readonly isDetached: boolean;
}

/** Switches to a branch, or to a commit without a branch. */
function switchTo(repository: Repository, name: string, target: Target): number {
  const { references, objects, context } = repository;
  const reference = `refs/heads/${name}`;
  const isBranch = references.resolve(reference) !== undefined && !target.isDetached;
  const id = commitOf(repository, isBranch ? reference : name);
  const from = currentName(repository);
  const was = references.branch();
  const old = repository.head();
  moveTo(repository, id, target.isForced);
  printChanges(repository, target.isQuiet, id);
  const change = { who: actorOf(repository), message: `checkout: moving from ${from} to ${name}` };
  if (!isBranch && was === undefined && old !== undefined && old !== id && !target.isQuiet) {
    leaveDetached(old, id);
  }
  references.setHead(isBranch ? { reference } : { id }, change);
  if (target.isQuiet) return 0;
  if (isBranch) {
    if (was === undefined && old !== undefined && old !== id) leaveDetached(old, id);
    context.printError(was === name ? `Already on '${name}'\n` : `Switched to branch '${name}'\n`);
    const tracking = trackingOf(repository, name);
    if (tracking) context.print(trackingText(tracking));
    return 0;
  }
  const commit = readCommit(objects, id);
  const short = objects.abbreviate(id, objects.digits);
  if (was !== undefined && !target.isDetached && repository.config.get("advice.detachedhead") !== "false") {
    context.printError(detachedAdvice(name));
  }
  context.printError(`HEAD is now at ${short} ${unicodeText(subjectOf(commit.message))}\n`);
  return 0;

  /** Prints where `HEAD` was, with a warning about commits that no branch has. */
  function leaveDetached(before: string, after: string): void {
    const names = [...references.list("refs/").values()].filter((other) =>
      objects.read(other).kind === "commit"
    );
    const lost = [...walk(repository, { starts: [before], excluded: [...names, after] })];
    const short = objects.abbreviate(before, objects.digits);
    if (lost.length === 0) {
      const commit = readCommit(objects, before);
      context.printError(`Previous HEAD position was ${short} ${unicodeText(subjectOf(commit.message))}\n`);
      return;
    }
    const rows = lost.slice(0, 4).map((commit) =>
      `  ${objects.abbreviate(commit.id, objects.digits)} ${unicodeText(subjectOf(commit.message))}\n`
    );
    const [noun, pronoun] = lost.length === 1 ? ["commit", "it"] : ["commits", "them"];
    const more = lost.length > 4 ? ` ... and ${lost.length - 4} more.\n` : "";
    context.printError(
      `Warning: you are leaving ${lost.length} ${noun} behind, not connected to\nany of your branches:\n\n` +
        `${
          rows.join("")
        }${more}\nIf you want to keep ${pronoun} by creating a new branch, this may be a good time\n` +
        `to do so with:\n\n git branch <new-branch-name> ${short}\n\n`,
    );
  }
}

function detachedAdvice(name: string): string {
  return `Note: switching to '${name}'.\n\n` +
    "You are in 'detached HEAD' state. You can look around, make experimental\n" +
    "changes and commit them, and you can discard any commits you make in this\n" +
    "state without impacting any branches by switching back to a branch.\n\n" +
    "If you want to create a new branch to retain commits you create, you may\n" +
    "do so (now or later) by using -c with the switch command. Example:\n\n" +
    "  git switch -c <new-branch-name>\n\nOr undo this operation with:\n\n  git switch -\n\n" +
    "Turn off this advice by setting config variable advice.detachedHead to false\n\n";
}

/** Switches to a new branch that follows a remote's branch. */
function switchToTracking(
  repository: Repository,
  name: string,
  { remote, ...target }: Target & { remote: string },
): number {
  return switchToNew(repository, { name, start: remote, isReset: false, follows: remote, ...target });
}

/** Creates a branch and switches to it. */
function switchToNew(
  repository: Repository,
  { name, start, isReset, follows, ...target }: Target & {
    name: string;
    start: string | undefined;
    isReset: boolean;
    follows?: string;
  },
): number {
  const { references, context } = repository;
  const reference = `refs/heads/${name}`;
  if (!isReferenceName(name)) fatal(`'${unicodeText(name)}' is not a valid branch name`);
  const isThere = references.resolve(reference) !== undefined;
  if (isThere && !isReset) fatal(`a branch named '${unicodeText(name)}' already exists`);
  if (repository.head() === undefined && start === undefined) {
    references.setHead({ reference });
    if (!target.isQuiet) context.printError(`Switched to a new branch '${name}'\n`);
    return 0;
  }
  const id = commitOf(repository, start ?? "HEAD");
  const from = currentName(repository);
  moveTo(repository, id, target.isForced);
  createBranch(repository, name, { id, start: start ?? "HEAD", isForced: isReset, isCurrentAllowed: true });
  printChanges(repository, target.isQuiet, id);
  references.setHead({ reference }, {
    who: actorOf(repository),
    message: `checkout: moving from ${from} to ${name}`,
  });
  if (follows !== undefined) followRemote(repository, name, follows, target.isQuiet);
  if (target.isQuiet) return 0;
  context.printError(
    isThere ? `Switched to and reset branch '${name}'\n` : `Switched to a new branch '${name}'\n`,
  );
  return 0;
}

function followRemote(repository: Repository, name: string, upstream: string, isQuiet: boolean): void {
  const [remote = ""] = upstream.split("/", 1);
  const { local } = repository.config;
  local?.set(`branch.${name}.remote`, remote);
  local?.set(`branch.${name}.merge`, `refs/heads/${upstream.slice(remote.length + 1)}`);
  if (!isQuiet) repository.context.print(`branch '${name}' set up to track '${upstream}'.\n`);
}

function switchToOrphan(
  repository: Repository,
  { name, start, isQuiet }: { name: string; start: string | undefined; isQuiet: boolean },
): number {
  if (start !== undefined) refuse("a start of --orphan");
  if (!isReferenceName(name)) fatal(`'${unicodeText(name)}' is not a valid branch name`);
  if (repository.references.resolve(`refs/heads/${name}`) !== undefined) {
    fatal(`a branch named '${unicodeText(name)}' already exists`);
  }
  repository.references.setHead({ reference: `refs/heads/${name}` });
  if (!isQuiet) repository.context.printError(`Switched to a new branch '${name}'\n`);
  return 0;
}

function moveTo(repository: Repository, id: string, isForced: boolean): void {
  const tree = readCommit(repository.objects, id).tree;
  if (repository.index.conflicts.size > 0 && !isForced) {
    const rows = [...repository.index.conflicts.keys()].map((path) => `${path}: needs merge\n`).join("");
    throw new GitError(`${rows}error: you need to resolve your current index first`, {
      kind: "",
      exitCode: 1,
    });
  }
  if (isForced) forceTree(repository, tree);
  else switchTree(repository, { from: headTree(repository), to: tree, command: "checkout" });
  writeIndex(repository);
}

/** Prints the files that differ from a commit, as a switch to it keeps them. */
function printChanges(repository: Repository, isQuiet: boolean, commit = repository.head()): void {
  if (isQuiet || commit === undefined) return;
  const { objects, context } = repository;
  const { tree } = readCommit(objects, commit);
  const pairs = new WorkTree(repository).changesFrom(filesOfTree(objects, tree));
  context.print(nameText(pairs, { isStatus: true }));
}

function currentName({ references }: Repository): string {
  return references.branch() ?? references.resolve("HEAD") ?? "";
}

/** True if a word names the branch that has no commit yet and is checked out. */
function isUnborn({ references }: Repository, name: string): boolean {
  return references.branch() === name && references.resolve("HEAD") === undefined;
}

function isPath(repository: Repository, word: string): boolean {
  return new WorkTree(repository).status(new PathSpec(repository, [word]).literals()[0]?.path ?? "") !==
    undefined;
}

/** Returns the branch of a name, if a single remote has such a branch. */
function remoteBranch({ references }: Repository, name: string): string | undefined {
  const found = [...references.list("refs/remotes/").keys()].map((full) => full.slice("refs/remotes/".length))
    .filter((full) => full.slice(full.indexOf("/") + 1) === name);
  return found.length === 1 ? found[0] : undefined;
}
