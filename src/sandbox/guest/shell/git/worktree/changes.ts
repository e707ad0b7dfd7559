import { compareTrees, type FilePair, pathOfPair } from "../compare/file_pairs.ts";
import { findRenames } from "../compare/renames.ts";
import type { Repository } from "../store/repository.ts";
import { headTree, upstreamOf, walk } from "../store/revisions.ts";
import { filesOfTree } from "../store/tree_object.ts";
import { IgnoreRules } from "./ignore_rules.ts";
import type { PathSpec } from "./path_spec.ts";
import { WorkTree } from "./work_tree.ts";

/** What `git status` is about. */
export interface Changes {
  /** From the commit of `HEAD` to the index. */
  readonly staged: readonly FilePair[];
  /** From the index to the work tree. */
  readonly unstaged: readonly FilePair[];
  /** Paths with conflicts, with the stages that they have. */
  readonly conflicts: ReadonlyMap<string, readonly number[]>;
  readonly untracked: readonly string[];
  readonly ignored: readonly string[];
}

/** How untracked files are listed. */
export type UntrackedMode = "no" | "normal" | "all";

/** Finds what changed. Writes the index if it only needed new times. */
export function findChanges(
  repository: Repository,
  { spec, untracked = "normal", ignored = "no", tree = headTree(repository) }: {
    spec?: PathSpec;
    untracked?: UntrackedMode;
    ignored?: "no" | "traditional" | "matching";
    /** Tree with which the index is compared. @default the tree of the commit of `HEAD` */
    tree?: string | undefined;
  } = {},
): Changes {
  const { index, objects, context } = repository;
  const work = new WorkTree(repository);
  const { pairs, isRefreshed } = work.changes(spec);
  if (isRefreshed) index.write();
  const others = untracked === "no"
    ? { untracked: [], ignored: [] }
    : work.others(new IgnoreRules(repository), {
      ...(spec && { spec }),
      isWhole: untracked === "all",
      isIgnoredWhole: untracked === "all" && ignored === "traditional",
    });
  const known = new Map([...index.entries].filter(([, entry]) => !entry.isIntent));
  const differing = compareTrees(objects, filesOfTree(objects, tree), known)
    .filter((pair) => !spec || spec.matches(pathOfPair(pair)))
    .filter((pair) => !index.conflicts.has(pathOfPair(pair)));
  const poll = () => context.poll();
  return {
    staged: repository.config.get("status.renames") === "false"
      ? differing
      : findRenames(differing, { poll }),
    unstaged: pairs,
    conflicts: new Map([...index.conflicts].map(([path, stages]) => [path, [...stages.keys()].sort()])),
    untracked: others.untracked,
    ignored: ignored === "no" ? [] : others.ignored,
  };
}

/** How far a branch and the branch that it follows are apart. */
export interface Tracking {
  /** Short name of the branch that is followed. */
  readonly upstream: string;
  readonly isGone: boolean;
  readonly ahead: number;
  readonly behind: number;
}

/** Returns how far a branch and the branch that it follows are apart, if it follows a branch. */
export function trackingOf(repository: Repository, branch: string): Tracking | undefined {
  const reference = upstreamOf(repository, branch);
  if (reference === undefined) return undefined;
  const upstream = reference.replace(/^refs\/(?:remotes|heads)\//, "");
  const { references } = repository;
  const [own, other] = [references.resolve(`refs/heads/${branch}`), references.resolve(reference)];
  if (other === undefined || own === undefined) return { upstream, isGone: true, ahead: 0, behind: 0 };
  const count = (start: string, excluded: string) =>
    [...walk(repository, { starts: [start], excluded: [excluded] })].length;
  return { upstream, isGone: false, ahead: count(own, other), behind: count(other, own) };
}
