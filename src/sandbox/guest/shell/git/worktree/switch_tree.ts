import { unicodeText } from "../../gnu/command.ts";
import { pathOfPair } from "../compare/file_pairs.ts";
import { GitError } from "../store/git_error.ts";
import type { Repository } from "../store/repository.ts";
import { type FileMap, filesOfTree, type TreeFile } from "../store/tree_object.ts";
import { IgnoreRules } from "./ignore_rules.ts";
import { WorkTree } from "./work_tree.ts";

/** What a command says of files that it would have to overwrite. */
interface Wording {
  readonly verb: string;
  readonly advice: string;
}

const WORDINGS = {
  checkout: { verb: "checkout", advice: "switch branches" },
  merge: { verb: "merge", advice: "merge" },
} as const satisfies Readonly<Record<string, Wording>>;

/**
 * Brings index and work tree from a tree to another tree, and keeps changes in files that are the same in both.
 *
 * @throws {GitError} if changes or untracked files would be lost. Nothing has been changed then.
 */
export function switchTree(
  repository: Repository,
  { from, to, command }: { from: string | undefined; to: string; command: keyof typeof WORDINGS },
): void {
  const { objects, index } = repository;
  const work = new WorkTree(repository);
  const [old, fresh] = [filesOfTree(objects, from), filesOfTree(objects, to)];
  const edited = new Set(work.changes().pairs.map(pathOfPair));
  const paths = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  const [local, untracked, removals, writes]: [string[], string[], string[], [string, TreeFile][]] = [
    [],
    [],
    [],
    [],
  ];
  const rules = new IgnoreRules(repository);
  for (const path of paths) {
    const [before, after, current] = [old.get(path), fresh.get(path), index.entries.get(path)];
    if (isSame(before, after) || (current && isSame(current, after))) continue;
    if (!current) {
      if (before) {
        if (after) local.push(path); // its removal is staged
      } else if (after) {
        if (isInTheWay(path)) untracked.push(path);
        writes.push([path, after]);
      }
    } else if (!isSame(current, before) || edited.has(path)) {
      if (work.status(path) === undefined && isSame(current, before)) {
        // a file that was deleted without `git rm` comes back or stays away
        if (after) writes.push([path, after]);
        else removals.push(path);
      } else local.push(path);
    } else if (after) writes.push([path, after]);
    else removals.push(path);
  }
  const removed = new Set(removals);
  for (const [path] of writes) {
    const folder = foldersOf(path).find((name) => {
      const kind = work.status(name)?.kind;
      return kind !== undefined && kind !== "directory" && !removed.has(name) && !index.entries.has(name);
    });
    if (folder !== undefined && !untracked.includes(folder)) untracked.push(folder);
  }
  refuseLosses({ local, untracked, wording: WORDINGS[command] });
  for (const path of removals) {
    work.remove(path);
    index.entries.delete(path);
  }
  for (const [path, file] of writes) index.entries.set(path, work.write(path, file));

  /** True if something that is not ignored stands where a file is to be written. */
  function isInTheWay(path: string): boolean {
    const status = work.status(path);
    if (!status) return false;
    if (status.kind === "directory") {
      const { untracked: inside } = work.others(rules, { isWhole: true });
      return inside.some((other) => other.startsWith(`${path}/`));
    }
    return !rules.isIgnored(path, false);
  }
}

function foldersOf(path: string): string[] {
  return path.split("/").slice(0, -1).map((_, at, parts) => parts.slice(0, at + 1).join("/"));
}

function refuseLosses(
  { local, untracked, wording: { verb, advice } }: {
    local: readonly string[];
    untracked: readonly string[];
    wording: Wording;
  },
): void {
  const list = (paths: readonly string[]) => paths.map((path) => `\t${unicodeText(path)}\n`).join("");
  const parts: string[] = [];
  if (local.length > 0) {
    parts.push(
      `error: Your local changes to the following files would be overwritten by ${verb}:\n${list(local)}` +
        `Please commit your changes or stash them before you ${advice}.\n`,
    );
  }
  if (untracked.length > 0) {
    parts.push(
      `error: The following untracked working tree files would be overwritten by ${verb}:\n${
        list(untracked)
      }` +
        `Please move or remove them before you ${advice}.\n`,
    );
  }
  if (parts.length > 0) throw new GitError(`${parts.join("")}Aborting`, { kind: "", exitCode: 1 });
}

/** Makes index and work tree equal to a tree, and discards all changes of files that git knows. */
export function forceTree(repository: Repository, tree: string | undefined): void {
  const { objects, index } = repository;
  const work = new WorkTree(repository);
  const files = filesOfTree(objects, tree);
  const edited = new Set(work.changes().pairs.map(pathOfPair));
  for (const path of [...index.entries.keys(), ...index.conflicts.keys()]) {
    if (files.has(path)) continue;
    work.remove(path);
    index.entries.delete(path);
  }
  index.conflicts.clear();
  for (const [path, file] of files) {
    repository.context.poll();
    const current = index.entries.get(path);
    if (current && isSame(current, file) && !edited.has(path) && work.status(path)) continue;
    if (work.status(path)?.kind === "directory") work.removeTree(path);
    index.entries.set(path, work.write(path, file));
  }
}

/** Makes the index equal to a tree, and leaves the work tree alone. */
export function resetIndex(
  repository: Repository,
  files: FileMap,
  isChosen: (path: string) => boolean,
): void {
  const { index } = repository;
  for (const path of [...index.entries.keys()]) {
    if (isChosen(path) && !files.has(path)) index.entries.delete(path);
  }
  for (const path of [...index.conflicts.keys()]) if (isChosen(path)) index.conflicts.delete(path);
  for (const [path, { mode, id }] of files) {
    if (!isChosen(path)) continue;
    const current = index.entries.get(path);
    if (!current || current.isIntent || !isSame(current, { mode, id })) index.entries.set(path, { mode, id });
  }
}

function isSame(one: TreeFile | undefined, other: TreeFile | undefined): boolean {
  return one?.id === other?.id && one?.mode === other?.mode;
}
