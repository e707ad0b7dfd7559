import { unicodeText } from "../../gnu/command.ts";
import { compileExpression } from "../../gnu/regular_expression.ts";
import { type Commit, peelToCommit, readCommit, readTag } from "./commit_object.ts";
import { fatal, GitError } from "./git_error.ts";
import type { Repository } from "./repository.ts";
import { entryOfTree } from "./tree_object.ts";

/** Folders in which a short name of a reference is looked for. */
const FOLDERS = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/** Returns the full name of a reference, such as `refs/heads/main`. */
export function fullName({ references }: Repository, name: string): string | undefined {
  const found = FOLDERS.map((folder) => folder + name).find((full) =>
    (full.startsWith("refs/") || /^[A-Z_]*HEAD$/.test(full)) && references.resolve(full) !== undefined
  );
  if (found !== undefined) return found;
  const remote = `refs/remotes/${name}/HEAD`;
  return references.resolve(remote) === undefined ? undefined : remote;
}

/** Returns the object that a revision such as `HEAD~2`, `v1^{tree}` or `main:README` names. */
export function findRevision(repository: Repository, text: string): string | undefined {
  const colon = text.search(/:(?![^{]*\})/);
  if (colon === 0) return findInIndex(repository, text.slice(1));
  if (colon > 0) {
    const tree = findRevision(repository, `${text.slice(0, colon)}^{tree}`);
    const path = text.slice(colon + 1);
    const whole = /^\.\.?\//.test(path) ? relativeTo(repository.prefix, path) : path;
    return tree === undefined ? undefined : entryOfTree(repository.objects, tree, whole)?.id;
  }
  const [base = ""] = /^(?:[^~^@]|@(?!\{)|@\{[^}]*\})*/.exec(text) ?? [];
  let id = findBase(repository, base === "" && /^[~^]/.test(text) ? "" : base);
  let rest = text.slice(base.length);
  while (id !== undefined && rest !== "") {
    const [step = "", sign, inner, count] = /^(?:(\^)\{([^}]*)\}|[~^](\d*))/.exec(rest) ?? [];
    if (step === "") return undefined;
    rest = rest.slice(step.length);
    if (sign !== undefined) id = peel(repository, id, inner ?? "");
    else {id = ancestor(repository, id, {
        isLine: step.startsWith("~"),
        count: count === "" ? 1 : Number(count),
      });}
  }
  return id;
}

/** Returns the object that a revision names. Ends the command if there is none. */
export function revision(repository: Repository, text: string): string {
  return findRevision(repository, text) ?? fatal(ambiguousText(text));
}

/** Text about a word that is neither a revision nor a path. */
export function ambiguousText(text: string): string {
  return `ambiguous argument '${text}': unknown revision or path not in the working tree.\n` +
    "Use '--' to separate paths from revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'";
}

/** Returns the commit that a revision names. Ends the command if there is none. */
export function commitOf(repository: Repository, text: string): string {
  return peelToCommit(repository.objects, revision(repository, text), text);
}

/** Returns the tree that a revision names. */
export function treeOf(repository: Repository, text: string): string {
  const id = revision(repository, text);
  return peel(repository, id, "tree") ?? fatal(`not a tree object: ${text}`);
}

/** Returns the tree of the commit of `HEAD`, absent before the first commit. */
export function headTree(repository: Repository): string | undefined {
  const head = repository.head();
  return head === undefined ? undefined : readCommit(repository.objects, head).tree;
}

function findBase(repository: Repository, text: string): string | undefined {
  const { references, objects } = repository;
  const [, name = "", inner] = /^(.*?)@\{([^}]*)\}$/.exec(text) ?? [];
  if (inner !== undefined) return findInLog(repository, name, inner);
  const short = text === "@" ? "HEAD" : text;
  const full = fullName(repository, short);
  if (full !== undefined) return references.resolve(full);
  const described = /^.+-g([0-9a-f]{4,40})$/.exec(short)?.[1];
  const digits = described ?? short.toLowerCase();
  if (/^[0-9a-f]{40}$/.test(digits)) return digits;
  if (!/^[0-9a-f]{4,39}$/.test(digits)) return undefined;
  const found = objects.withPrefix(digits);
  if (found.length < 2) return found[0];
  const commits = found.filter((id) => ["commit", "tag"].includes(objects.read(id).kind));
  if (commits.length === 1) return commits[0];
  throw new GitError(`short object ID ${digits} is ambiguous`, { kind: "error", exitCode: 128 });
}

/** Finds `@{1}`, `@{-1}`, `@{upstream}` and dates. */
function findInLog(repository: Repository, name: string, inner: string): string | undefined {
  const { references, config } = repository;
  const back = /^-(\d+)$/.exec(inner);
  if (back && name === "") {
    const branch = previousBranch(repository, Number(back[1]));
    return branch === undefined ? undefined : findRevision(repository, branch);
  }
  if (/^u(?:pstream)?$|^push$/i.test(inner)) {
    const branch = name === "" || name === "HEAD" ? references.branch() : name;
    const upstream = branch === undefined ? undefined : upstreamOf(repository, branch);
    if (upstream === undefined) fatal(`no upstream configured for branch '${branch ?? "HEAD"}'`);
    return references.resolve(upstream);
  }
  void config;
  const full = name === "" ? references.headTarget() ?? "HEAD" : fullName(repository, name);
  if (full === undefined) return undefined;
  if (!/^\d+$/.test(inner)) throw new GitError(`dates in '@{${inner}}' are not available in the sandbox`);
  const entries = references.log(full);
  const at = Number(inner);
  if (at < entries.length) return entries[at]?.to;
  if (at === entries.length && at > 0) return entries.at(-1)?.from;
  if (at === 0) return references.resolve(full);
  return fatal(
    `log for '${name === "" ? full.replace(/^refs\/heads\//, "") : name}' only has ${entries.length} entries`,
  );
}

/** Returns the reference that a branch follows. */
export function upstreamOf({ config }: Repository, branch: string): string | undefined {
  const remote = config.get(`branch.${branch}.remote`);
  const merge = config.get(`branch.${branch}.merge`);
  if (remote === undefined || merge === undefined) return undefined;
  return remote === "." ? merge : merge.replace(/^refs\/heads\//, `refs/remotes/${remote}/`);
}

/** Returns the branch or commit that was checked out before the last changes of `HEAD`. */
export function previousBranch({ references }: Repository, count: number): string | undefined {
  return references.switches()[count - 1]?.from;
}

function findInIndex(repository: Repository, text: string): string | undefined {
  if (text.startsWith("/")) {
    return findByMessage(repository, text.slice(1), [...repository.references.list("refs/").values()]);
  }
  const [, stage, path = ""] = /^([0-3]):(.*)$/s.exec(text) ?? [undefined, "0", text];
  const whole = /^\.\.?\//.test(path) ? relativeTo(repository.prefix, path) : path;
  if (stage === "0") return repository.index.entries.get(whole)?.id;
  return repository.index.conflicts.get(whole)?.get(Number(stage))?.id;
}

function relativeTo(prefix: string, path: string): string {
  const parts: string[] = [];
  for (const part of (prefix + path).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function findByMessage(
  repository: Repository,
  pattern: string,
  starts: readonly string[],
): string | undefined {
  const expression = compileExpression(unicodeText(pattern), "basic");
  for (const commit of walk(repository, { starts })) {
    if (unicodeText(commit.message).search(expression) >= 0) return commit.id;
  }
  return undefined;
}

function peel(repository: Repository, id: string, kind: string): string | undefined {
  const { objects } = repository;
  if (kind.startsWith("/")) return findByMessage(repository, kind.slice(1), [id]);
  const object = objects.find(id);
  if (!object) return undefined;
  if (object.kind === kind || kind === "object") return id;
  if (object.kind === "tag") return peel(repository, readTag(objects, id).object, kind);
  if (kind === "") return id;
  return object.kind === "commit" && kind === "tree" ? readCommit(objects, id).tree : undefined;
}

function ancestor(
  { objects }: Repository,
  id: string,
  { isLine, count }: { isLine: boolean; count: number },
): string | undefined {
  if (!objects.has(id)) return undefined;
  let at: string | undefined = peelToCommit(objects, id, id);
  if (!isLine) return count === 0 ? at : readCommit(objects, at).parents[count - 1];
  for (let left = count; at !== undefined && left > 0; left--) at = readCommit(objects, at).parents[0];
  return at;
}

/** Which commits {@linkcode walk} visits. */
export interface WalkOptions {
  readonly starts: readonly string[];
  /** Commits that are left out with all that they descend from. */
  readonly excluded?: readonly string[];
  /** Follows the first parents only. */
  readonly isFirstParent?: boolean;
  /** Returns the parents to follow, if not all of them. */
  readonly parentsOf?: (commit: Commit) => readonly string[];
  /** Visits all children before their parents. */
  readonly isTopological?: boolean;
}

/** Visits commits, the newest first, as far as parents allow. */
export function* walk(repository: Repository, options: WalkOptions): Generator<Commit> {
  const { objects, context } = repository;
  const parentsOf = (commit: Commit) => {
    const parents = options.parentsOf?.(commit) ?? commit.parents;
    return options.isFirstParent ? parents.slice(0, 1) : parents;
  };
  const hidden = new Set<string>();
  const unwanted = [...options.excluded ?? []];
  for (let id = unwanted.pop(); id !== undefined; id = unwanted.pop()) {
    context.poll();
    if (hidden.has(id)) continue;
    hidden.add(id);
    unwanted.push(...readCommit(objects, id).parents);
  }
  const seen = new Set<string>();
  const queue: Commit[] = [];
  const add = (id: string) => {
    if (seen.has(id) || hidden.has(id)) return;
    seen.add(id);
    const commit = readCommit(objects, id);
    const at = queue.findIndex((other) => other.committer.seconds < commit.committer.seconds);
    queue.splice(at < 0 ? queue.length : at, 0, commit);
  };
  options.starts.forEach(add);
  if (options.isTopological) {
    yield* topological(queue, parentsOf, (id) => hidden.has(id) ? undefined : readCommit(objects, id));
    return;
  }
  for (let commit = queue.shift(); commit; commit = queue.shift()) {
    context.poll();
    yield commit;
    parentsOf(commit).forEach(add);
  }
}

/** Visits each commit behind all of its children, and lines of history in turn. */
function* topological(
  starts: readonly Commit[],
  parentsOf: (commit: Commit) => readonly string[],
  read: (id: string) => Commit | undefined,
): Generator<Commit> {
  const commits = new Map<string, Commit>();
  const children = new Map<string, number>();
  const pending = [...starts];
  for (let commit = pending.pop(); commit; commit = pending.pop()) {
    if (commits.has(commit.id)) continue;
    commits.set(commit.id, commit);
    for (const id of parentsOf(commit)) {
      const parent = read(id);
      if (!parent) continue;
      children.set(id, (children.get(id) ?? 0) + 1);
      pending.push(parent);
    }
  }
  const ready = starts.filter(({ id }) => !children.get(id)).toReversed();
  for (let commit = ready.pop(); commit; commit = ready.pop()) {
    yield commit;
    for (const id of parentsOf(commit)) {
      const left = (children.get(id) ?? 0) - 1;
      children.set(id, left);
      const parent = commits.get(id);
      if (left === 0 && parent) ready.push(parent);
    }
  }
}

/** Returns the commits that two histories share and that descend from no other such commit. */
export function mergeBases(repository: Repository, one: string, other: string): string[] {
  const reachable = (start: string) =>
    new Set([...walk(repository, { starts: [start] })].map(({ id }) => id));
  const [left, right] = [reachable(one), reachable(other)];
  const shared = [...left].filter((id) => right.has(id));
  const covered = new Set(
    shared.flatMap((id) => readCommit(repository.objects, id).parents).flatMap((id) => [...reachable(id)]),
  );
  return shared.filter((id) => !covered.has(id));
}

/** True if a commit is in the history of another commit, or is that commit. */
export function isAncestor(repository: Repository, old: string, recent: string): boolean {
  for (const { id } of walk(repository, { starts: [recent] })) if (id === old) return true;
  return false;
}
