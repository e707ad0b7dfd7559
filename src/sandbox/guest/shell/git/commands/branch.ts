import { unicodeText } from "../../gnu/command.ts";
import type { GitCommand } from "../git_command.ts";
import { peelToCommit, readCommit, type Signature, subjectOf } from "../store/commit_object.ts";
import { fatal, GitError, refuse } from "../store/git_error.ts";
import { isReferenceName } from "../store/references.ts";
import type { Repository } from "../store/repository.ts";
import { commitOf, findRevision, fullName, isAncestor } from "../store/revisions.ts";
import { trackingOf } from "../worktree/changes.ts";
import { wildmatch } from "../worktree/wildmatch.ts";
import { allWords, commandOptions, withValues } from "./command_words.ts";

const OPTIONS =
  "v,verbose:q,quiet:t,track?:no-track:u,set-upstream-to=:unset-upstream:color?:no-color:r,remotes:" +
  "contains?:no-contains?:abbrev?:a,all:d,delete:D:m,move:M:c,copy:C:l,list:show-current:create-reflog:" +
  "edit-description:f,force:merged?:no-merged?:column?:no-column:sort=:points-at=:i,ignore-case:format=:vv";

/** Options whose value is the next word. */
const COMMIT_OPTIONS = ["--contains", "--no-contains", "--merged", "--no-merged"];

/** `git branch`. */
export const branch: GitCommand = (args, repository) => {
  const options = commandOptions(withValues(args, COMMIT_OPTIONS), OPTIONS, {
    refused: ["c", "C", "edit-description", "column", "sort", "points-at", "i"],
  });
  const { references, context, config } = repository;
  const words = allWords(options);
  if (options.has("show-current")) {
    const current = references.branch();
    if (current !== undefined) context.print(`${current}\n`);
    return 0;
  }
  if (options.has("d") || options.has("D")) return removeBranches();
  if (options.has("m") || options.has("M")) return renameBranch();
  if (options.has("u")) return follow(options.value("u") ?? "", words[0]);
  if (options.has("unset-upstream")) {
    const name = words[0] ?? references.branch() ??
      fatal("could not unset upstream of HEAD when it does not point to any branch");
    if (!config.has(`branch.${name}.merge`)) fatal(`Branch '${name}' has no upstream information`);
    config.local?.remove(`branch.${name}.remote`);
    config.local?.remove(`branch.${name}.merge`);
    return 0;
  }
  const isFiltered = ["contains", "no-contains", "merged", "no-merged"].some((name) => options.has(name));
  if (options.has("l") || words.length === 0 || isFiltered || options.has("a") || options.has("r")) {
    return list();
  }
  const [name = "", start = "HEAD"] = words;
  if (repository.head() === undefined && start === "HEAD") {
    fatal(`not a valid object name: '${references.branch() ?? "HEAD"}'`);
  }
  createBranch(repository, name, { id: commitOf(repository, start), start, isForced: options.has("f") });
  if (fullName(repository, start)?.startsWith("refs/remotes/") && !options.has("no-track")) {
    follow(start, name);
  }
  return 0;

  function follow(upstream: string, word: string | undefined): number {
    const name = word ?? references.branch() ??
      fatal("could not set upstream of HEAD to it when it does not point to any branch.");
    const full = fullName(repository, upstream);
    if (full === undefined) fatal(`the requested upstream branch '${unicodeText(upstream)}' does not exist`);
    const [, remote, rest] = /^refs\/remotes\/([^/]+)\/(.*)$/.exec(full) ?? [undefined, ".", undefined];
    config.local?.set(`branch.${name}.remote`, remote ?? ".");
    config.local?.set(`branch.${name}.merge`, rest === undefined ? full : `refs/heads/${rest}`);
    context.print(`branch '${name}' set up to track '${upstream}'.\n`);
    return 0;
  }

  function removeBranches(): number {
    if (words.length === 0) fatal("branch name required");
    const prefix = options.has("r") ? "refs/remotes/" : "refs/heads/";
    let failed = false;
    for (const name of words) {
      const id = references.resolve(prefix + name);
      const problem = id === undefined
        ? `${prefix === "refs/heads/" ? "branch" : "remote-tracking branch"} '${name}' not found.`
        : prefix === "refs/heads/" && references.branch() === name
        ? `Cannot delete branch '${name}' checked out at '${repository.top ?? ""}'`
        : undefined;
      if (problem !== undefined || id === undefined) {
        context.printError(`error: ${problem}\n`);
        failed = true;
        continue;
      }
      const head = repository.head();
      const isMerged = head !== undefined && isAncestor(repository, id, head);
      if (prefix === "refs/heads/" && !options.has("D") && !options.has("f") && !isMerged) {
        context.printError(
          `error: The branch '${name}' is not fully merged.\n` +
            `If you are sure you want to delete it, run 'git branch -D ${name}'.\n`,
        );
        failed = true;
        continue;
      }
      references.remove(prefix + name);
      config.local?.removeSection(`branch.${name}`);
      if (options.has("q")) continue;
      const kind = prefix === "refs/heads/" ? "branch" : "remote-tracking branch";
      context.print(
        `Deleted ${kind} ${name} (was ${repository.objects.abbreviate(id, repository.objects.digits)}).\n`,
      );
    }
    return failed ? 1 : 0;
  }

  function renameBranch(): number {
    const [from, to] = words.length > 1 ? words : [references.branch(), words[0]];
    if (from === undefined) fatal("cannot rename the current branch while not on any.");
    if (to === undefined) fatal("branch name required");
    if (!isReferenceName(to)) fatal(`'${unicodeText(to)}' is not a valid branch name`);
    const [old, fresh] = [`refs/heads/${from}`, `refs/heads/${to}`];
    if (references.resolve(old) === undefined) {
      if (references.headTarget() !== old) fatal(`no branch named '${from}'`);
      references.setSymbolic("HEAD", fresh);
      return 0;
    }
    if (from !== to && references.resolve(fresh) !== undefined && !options.has("M") && !options.has("f")) {
      fatal(`a branch named '${to}' already exists`);
    }
    references.rename(old, fresh, {
      who: actorOf(repository),
      message: `Branch: renamed ${old} to ${fresh}`,
    });
    for (const { key, value } of config.local?.settings() ?? []) {
      if (key.startsWith(`branch.${from}.`)) {
        config.local?.set(`branch.${to}.${key.slice(key.lastIndexOf(".") + 1)}`, value ?? "");
      }
    }
    if (from !== to) config.local?.removeSection(`branch.${from}`);
    return 0;
  }

  function list(): number {
    const current = references.branch();
    const head = repository.head();
    const patterns = words.map((word) => wildmatch(word, { isPath: true }));
    const commit = (name: string) => commitOf(repository, options.value(name) || "HEAD");
    const isListed = (name: string, id: string) =>
      (patterns.length === 0 || patterns.some((pattern) => pattern.test(name))) &&
      (!options.has("contains") || isAncestor(repository, commit("contains"), id)) &&
      (!options.has("no-contains") || !isAncestor(repository, commit("no-contains"), id)) &&
      (!options.has("merged") || isAncestor(repository, id, commit("merged"))) &&
      (!options.has("no-merged") || !isAncestor(repository, id, commit("no-merged")));
    const rows: { mark: string; name: string; id: string; note?: string; full: string }[] = [];
    if (current === undefined && head !== undefined && !options.has("r") && patterns.length === 0) {
      rows.push({ mark: "*", name: detachedName(repository), id: head, full: "HEAD" });
    }
    if (!options.has("r")) {
      for (const [full, id] of references.list("refs/heads/")) {
        const name = full.slice("refs/heads/".length);
        if (isListed(name, id)) rows.push({ mark: name === current ? "*" : " ", name, id, full });
      }
    }
    if (options.has("r") || options.has("a")) {
      for (const [full, id] of references.list("refs/remotes/")) {
        const name = full.slice((options.has("a") ? "refs/" : "refs/remotes/").length);
        if (!isListed(full.slice("refs/remotes/".length), id)) continue;
        const raw = references.raw(full);
        const note = raw?.startsWith("ref: ")
          ? ` -> ${raw.slice("ref: refs/remotes/".length).trim()}`
          : undefined;
        rows.push({ mark: " ", name, id, full, ...(note !== undefined && { note }) });
      }
    }
    const format = options.value("format");
    const width = Math.max(0, ...rows.map(({ name }) => name.length));
    const verbosity = options.given.filter(({ name }) => name === "v").length + (options.has("vv") ? 2 : 0);
    for (const { mark, name, id, note, full } of rows) {
      if (format !== undefined) {
        context.print(`${formatReference(repository, format, { full, id })}\n`);
      } else if (verbosity === 0 || note !== undefined) context.print(`${mark} ${name}${note ?? ""}\n`);
      else {
        const { message } = readCommit(repository.objects, id);
        const short = repository.objects.abbreviate(id, repository.objects.digits);
        context.print(
          `${mark} ${name.padEnd(width)} ${short} ${trackingNote(name, verbosity)}${subjectOf(message)}\n`,
        );
      }
    }
    return 0;
  }

  function trackingNote(name: string, verbosity: number): string {
    const tracking = trackingOf(repository, name);
    if (!tracking) return "";
    const { upstream, isGone, ahead, behind } = tracking;
    const parts = [...ahead > 0 ? [`ahead ${ahead}`] : [], ...behind > 0 ? [`behind ${behind}`] : []];
    const state = isGone ? "gone" : parts.join(", ");
    if (verbosity > 1) return `[${upstream}${state === "" ? "" : `: ${state}`}] `;
    return state === "" ? "" : `[${state}] `;
  }
};

function detachedName(repository: Repository): string {
  const { references, objects } = repository;
  const head = references.resolve("HEAD") ?? "";
  for (const { target, id: to } of references.switches()) {
    const isNamed = findRevision(repository, `refs/tags/${target}^{commit}`) === to;
    return `(HEAD detached ${to === head ? "at" : "from"} ${
      isNamed ? target : objects.abbreviate(to, objects.digits)
    })`;
  }
  return "(no branch)";
}

/** Replaces the fields of a format such as `%(refname:short)`. */
export function formatReference(
  repository: Repository,
  format: string,
  { full, id }: { full: string; id: string },
): string {
  const { objects, references } = repository;
  const short = full.replace(/^refs\/(?:heads|tags|remotes)\//, "");
  const commit = () => readCommit(objects, peelToCommit(objects, id, full));
  return format.replace(
    /%(?:\(([^)]*)\)|(%)|([0-9a-f]{2}))/g,
    (_, field?: string, percent?: string, byte?: string) => {
      if (percent !== undefined) return "%";
      if (byte !== undefined) return String.fromCharCode(Number.parseInt(byte, 16));
      switch (field) {
        case "refname":
          return full;
        case "refname:short":
          return short;
        case "objectname":
          return id;
        case "objectname:short":
          return objects.abbreviate(id, objects.digits);
        case "objecttype":
          return objects.read(id).kind;
        case "HEAD":
          return references.headTarget() === full ? "*" : " ";
        case "subject":
        case "contents:subject":
          return subjectOf(commit().message);
        case "authorname":
          return commit().author.name;
        case "authoremail":
          return `<${commit().author.email}>`;
        case "committername":
          return commit().committer.name;
        default:
          return refuse(`the field '%(${field})' of a format`);
      }
    },
  );
}

/** Creates a branch, or moves a branch with `isForced`. */
export function createBranch(
  repository: Repository,
  name: string,
  { id, start, isForced, isCurrentAllowed = false }: {
    id: string;
    start: string;
    isForced: boolean;
    isCurrentAllowed?: boolean;
  },
): void {
  const { references } = repository;
  if (!isReferenceName(name)) fatal(`'${unicodeText(name)}' is not a valid branch name`);
  const reference = `refs/heads/${name}`;
  const isThere = references.resolve(reference) !== undefined;
  if (isThere && !isForced) fatal(`a branch named '${unicodeText(name)}' already exists`);
  if (isThere && references.branch() === name && !isCurrentAllowed) {
    fatal(`cannot force update the branch '${name}' checked out at '${repository.top ?? ""}'`);
  }
  const message = isThere ? `branch: Reset to ${start}` : `branch: Created from ${start}`;
  references.update(reference, id, { who: actorOf(repository), message });
}

/** Returns who changes a reference: the committer, or the user of the sandbox. */
export function actorOf(repository: Repository): Signature {
  try {
    return repository.signature("committer");
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const seconds = Math.floor(Date.now() / 1000);
    return { name: "pyodide", email: "pyodide@localhost", seconds, offset: 0 }; // a log needs no real name
  }
}
