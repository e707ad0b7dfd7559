import { type FilePair, pathOfPair } from "../../compare/file_pairs.ts";
import { quotedPath } from "../../compare/names.ts";
import { modeText } from "../../compare/patch_output.ts";
import type { GitCommand } from "../../git_command.ts";
import { fatal } from "../../store/git_error.ts";
import type { Repository } from "../../store/repository.ts";
import { findRevision, headTree } from "../../store/revisions.ts";
import { filesOfTree } from "../../store/tree_object.ts";
import { type Changes, findChanges, trackingOf, type UntrackedMode } from "../../worktree/changes.ts";
import { PathSpec, relativeName } from "../../worktree/path_spec.ts";
import { allWords, commandOptions } from "../command_words.ts";

const OPTIONS = "s,short:long:porcelain?:b,branch:no-branch:u,untracked-files?:ignored?:z,null:v,verbose:" +
  "ahead-behind:no-ahead-behind:renames:no-renames:find-renames?:show-stash:no-short:ignore-submodules?:column?:no-column";

/** `git status`. */
export const status: GitCommand = (args, repository) => {
  const options = commandOptions(args, OPTIONS, { refused: ["v", "column", "no-renames", "show-stash"] });
  const { print } = repository.context;
  repository.requireWorkTree();
  const spec = new PathSpec(repository, allWords(options));
  const untracked = readUntracked(
    options.value("u") ?? repository.config.get("status.showuntrackedfiles"),
    options.has("u"),
  );
  const ignored = options.has("ignored") ? options.value("ignored") || "traditional" : "no";
  if (ignored !== "no" && ignored !== "traditional" && ignored !== "matching") {
    fatal(`Invalid ignored mode '${ignored}'`);
  }
  const changes = findChanges(repository, { ...(!spec.isEmpty && { spec }), untracked, ignored });
  const porcelain = options.has("porcelain") ? options.value("porcelain") || "v1" : undefined;
  const isShort = options.has("s") || options.has("z") ||
    (repository.config.flag("status.short", false) && !options.has("long") && !options.has("no-short"));
  const end = options.has("z") ? "\0" : "\n";
  const hasBranch = options.has("b") ||
    (porcelain === undefined && !options.has("no-branch") && repository.config.flag("status.branch", false));
  if (porcelain === "2" || porcelain === "v2") print(porcelainText(repository, changes, { end, hasBranch }));
  else if (porcelain !== undefined || isShort) {
    if (porcelain !== undefined && !/^(?:v?1)$/.test(porcelain)) {
      fatal(`unsupported porcelain version '${porcelain}'`);
    }
    const isRelative = porcelain === undefined && end === "\n";
    print(shortText(repository, changes, { end, hasBranch, isRelative }));
  } else print(longText(repository, changes, { untracked }));
  return 0;
};

/** Reads how untracked files are to be listed. */
export function readUntracked(text: string | undefined, isGiven: boolean): UntrackedMode {
  if (text === undefined || (text === "" && !isGiven)) return "normal";
  if (text === "" || text === "all") return "all";
  if (text === "no" || text === "normal") return text;
  if (text === "true" || text === "false") return text === "true" ? "normal" : "no";
  return fatal(`Invalid untracked files mode '${text}'`);
}

/** Letters of conflicts by the stages that a path has. */
const CONFLICTS: Readonly<Record<string, readonly [letters: string, text: string]>> = {
  "1": ["DD", "both deleted:    "],
  "2": ["AU", "added by us:     "],
  "3": ["UA", "added by them:   "],
  "1,2": ["UD", "deleted by them: "],
  "1,3": ["DU", "deleted by us:   "],
  "2,3": ["AA", "both added:      "],
  "1,2,3": ["UU", "both modified:   "],
};

/** Returns `git status --short`. */
export function shortText(
  repository: Repository,
  changes: Changes,
  { end, hasBranch, isRelative }: { end: string; hasBranch: boolean; isRelative: boolean },
): string {
  const isNull = end === "\0";
  const quote = (path: string) => {
    const name = isRelative ? relativeName(repository, path) : path;
    if (isNull) return name;
    const text = quotedPath(name, repository.keepsBytes);
    return text === name && name.includes(" ") ? `"${name}"` : text;
  };
  const rows = new Map<string, { staged: string; unstaged: string; from?: string }>();
  for (const pair of changes.staged) {
    rows.set(pathOfPair(pair), {
      staged: pair.letter,
      unstaged: " ",
      ...(pair.similarity !== undefined && { from: pair.from?.path ?? "" }),
    });
  }
  for (const pair of changes.unstaged) {
    const path = pathOfPair(pair);
    rows.set(path, { ...rows.get(path) ?? { staged: " " }, unstaged: pair.letter });
  }
  for (const [path, stages] of changes.conflicts) {
    const [letters = "UU"] = CONFLICTS[stages.join(",")] ?? [];
    rows.set(path, { staged: letters.charAt(0), unstaged: letters.charAt(1) });
  }
  let text = hasBranch ? `## ${branchText(repository)}${end}` : "";
  for (const [path, { staged, unstaged, from }] of [...rows].sort(([a], [b]) => a < b ? -1 : 1)) {
    text += `${staged}${unstaged} `;
    if (from === undefined) text += quote(path) + end;
    else text += isNull ? `${quote(path)}\0${quote(from)}\0` : `${quote(from)} -> ${quote(path)}\n`;
  }
  for (const path of changes.untracked) text += `?? ${quote(path)}${end}`;
  for (const path of changes.ignored) text += `!! ${quote(path)}${end}`;
  return text;
}

function branchText(repository: Repository): string {
  const branch = repository.references.branch();
  if (repository.head() === undefined) return `No commits yet on ${branch}`;
  if (branch === undefined) return "HEAD (no branch)";
  const tracking = trackingOf(repository, branch);
  if (!tracking) return branch;
  const { upstream, isGone, ahead, behind } = tracking;
  const parts = [...ahead > 0 ? [`ahead ${ahead}`] : [], ...behind > 0 ? [`behind ${behind}`] : []];
  const state = isGone ? " [gone]" : parts.length > 0 ? ` [${parts.join(", ")}]` : "";
  return `${branch}...${upstream}${state}`;
}

function porcelainText(
  repository: Repository,
  changes: Changes,
  { end, hasBranch }: { end: string; hasBranch: boolean },
): string {
  const NO_ID = "0".repeat(40);
  const { references, index } = repository;
  const quote = (path: string) => end === "\0" ? path : quotedPath(path, repository.keepsBytes);
  let text = "";
  if (hasBranch) {
    const branch = references.branch();
    text += `# branch.oid ${repository.head() ?? "(initial)"}${end}# branch.head ${
      branch ?? "(detached)"
    }${end}`;
    const tracking = branch === undefined ? undefined : trackingOf(repository, branch);
    if (tracking) text += `# branch.upstream ${tracking.upstream}${end}`;
    if (tracking && !tracking.isGone) text += `# branch.ab +${tracking.ahead} -${tracking.behind}${end}`;
  }
  const head = filesOfTree(repository.objects, headTree(repository));
  const unstaged = new Map(changes.unstaged.map((pair) => [pathOfPair(pair), pair]));
  const staged = new Map(changes.staged.map((pair) => [pathOfPair(pair), pair]));
  const paths = [...new Set([...staged.keys(), ...unstaged.keys()])].sort();
  const modes = (...values: (number | undefined)[]) => values.map((mode) => modeText(mode ?? 0)).join(" ");
  for (const path of paths) {
    const [own, work] = [staged.get(path), unstaged.get(path)];
    const letters = `${own?.letter ?? "."}${work?.letter ?? "."}`;
    const entry = index.entries.get(path);
    const old = own ? own.from : head.get(path);
    const file = entry?.isIntent ? undefined : entry;
    const workMode = work ? work.to?.mode : file?.mode;
    const ids = `${old?.id ?? NO_ID} ${file?.id ?? NO_ID}`;
    const row = `${letters} N... ${modes(old?.mode, file?.mode, workMode)} ${ids}`;
    if (own?.similarity === undefined) text += `1 ${row} ${quote(path)}${end}`;
    else {
      const separator = end === "\0" ? "\0" : "\t";
      text += `2 ${row} ${own.letter}${own.similarity} ${quote(path)}${separator}${
        quote(own.from?.path ?? "")
      }${end}`;
    }
  }
  for (const [path, stages] of index.conflicts) {
    const [letters = "UU"] = CONFLICTS[[...stages.keys()].sort().join(",")] ?? [];
    const three = [1, 2, 3].map((stage) => stages.get(stage));
    const ids = three.map((file) => file?.id ?? NO_ID).join(" ");
    text += `u ${letters} N... ${modes(...three.map((file) => file?.mode), 0o100644)} ${ids} ${
      quote(path)
    }${end}`;
  }
  for (const path of changes.untracked) text += `? ${quote(path)}${end}`;
  for (const path of changes.ignored) text += `! ${quote(path)}${end}`;
  return text;
}

const LABELS: Readonly<Record<string, string>> = {
  A: "new file:   ",
  D: "deleted:    ",
  M: "modified:   ",
  R: "renamed:    ",
  C: "copied:     ",
  T: "typechange: ",
};

/** Returns `git status`. */
export function longText(
  repository: Repository,
  changes: Changes,
  { untracked, isCommit = false, isAmend = false }: {
    untracked: UntrackedMode;
    isCommit?: boolean;
    isAmend?: boolean;
  },
): string {
  const isInitial = repository.head() === undefined;
  const quote = (path: string) => quotedPath(relativeName(repository, path), repository.keepsBytes);
  const line = (pair: FilePair) => {
    const name = pair.similarity === undefined
      ? quote(pathOfPair(pair))
      : `${quote(pair.from?.path ?? "")} -> ${quote(pair.to?.path ?? "")}`;
    return `\t${LABELS[pair.letter] ?? ""}${name}\n`;
  };
  let text = `${headText(repository)}\n`;
  const { staged, unstaged, conflicts } = changes;
  if (isInitial) text += isCommit ? "\nInitial commit\n\n" : "\nNo commits yet\n\n";
  const unstage = isInitial
    ? '  (use "git rm --cached <file>..." to unstage)\n'
    : '  (use "git restore --staged <file>..." to unstage)\n';
  if (staged.length > 0) {
    text += `Changes to be committed:\n${unstage}${staged.map(line).join("")}\n`;
  }
  if (conflicts.size > 0) {
    const rows = [...conflicts].map(([path, stages]) => {
      const [, label = ""] = CONFLICTS[stages.join(",")] ?? [];
      return `\t${label}${quote(path)}\n`;
    });
    text += `Unmerged paths:\n${isInitial ? "" : unstage}  (use "git add <file>..." to mark resolution)\n${
      rows.join("")
    }\n`;
  }
  if (unstaged.length > 0) {
    const verb = unstaged.some(({ letter }) => letter === "D") ? "add/rm" : "add";
    text +=
      `Changes not staged for commit:\n  (use "git ${verb} <file>..." to update what will be committed)\n` +
      '  (use "git restore <file>..." to discard changes in working directory)\n' +
      `${unstaged.map(line).join("")}\n`;
  }
  const list = (title: string, hint: string, paths: readonly string[]) =>
    paths.length === 0
      ? ""
      : `${title}:\n  (use "git ${hint}" to include in what will be committed)\n${
        paths.map((path) => `\t${quote(path)}\n`).join("")
      }\n`;
  text += list("Untracked files", "add <file>...", changes.untracked);
  text += list("Ignored files", "add -f <file>...", changes.ignored);
  if (untracked === "no" && staged.length > 0) {
    text += "Untracked files not listed (use -u option to show untracked files)\n";
  }
  if (staged.length > 0) return text;
  if (isAmend) return `${text}No changes\n`;
  if (unstaged.length > 0 || conflicts.size > 0) {
    return `${text}no changes added to commit (use "git add" and/or "git commit -a")\n`;
  }
  if (changes.untracked.length > 0) {
    return `${text}nothing added to commit but untracked files present (use "git add" to track)\n`;
  }
  if (isInitial) return `${text}nothing to commit (create/copy files and use "git add" to track)\n`;
  if (untracked === "no") return `${text}nothing to commit (use -u to show untracked files)\n`;
  return `${text}nothing to commit, working tree clean\n`;
}

/** Returns the first lines of `git status`: the branch, and how far it is from the branch that it follows. */
function headText(repository: Repository): string {
  const branch = repository.references.branch();
  if (branch === undefined) return detachedText(repository);
  const tracking = repository.head() === undefined ? undefined : trackingOf(repository, branch);
  return `On branch ${branch}${tracking ? `\n${trackingText(tracking)}` : ""}`;
}

/** Returns what `git status` and `git checkout` print about a branch and the branch that it follows. */
export function trackingText(
  { upstream, isGone, ahead, behind }: NonNullable<ReturnType<typeof trackingOf>>,
): string {
  const plural = (count: number) => `${count} commit${count === 1 ? "" : "s"}`;
  if (isGone) {
    return `Your branch is based on '${upstream}', but the upstream is gone.\n` +
      '  (use "git branch --unset-upstream" to fixup)\n';
  }
  if (ahead === 0 && behind === 0) return `Your branch is up to date with '${upstream}'.\n`;
  if (behind === 0) {
    return `Your branch is ahead of '${upstream}' by ${plural(ahead)}.\n` +
      '  (use "git push" to publish your local commits)\n';
  }
  if (ahead === 0) {
    return `Your branch is behind '${upstream}' by ${plural(behind)}, and can be fast-forwarded.\n` +
      '  (use "git pull" to update your local branch)\n';
  }
  return `Your branch and '${upstream}' have diverged,\nand have ${ahead} and ${behind} different commits each, ` +
    'respectively.\n  (use "git pull" to merge the remote branch into yours)\n';
}

function detachedText(repository: Repository): string {
  const { references, objects } = repository;
  const head = references.resolve("HEAD") ?? "";
  for (const { target, id: to } of references.switches()) {
    const isTag = findRevision(repository, `refs/tags/${target}^{commit}`) === to ||
      references.resolve(`refs/remotes/${target}`) === to;
    return `HEAD detached ${to === head ? "at" : "from"} ${
      isTag ? target : objects.abbreviate(to, objects.digits)
    }`;
  }
  return "Not currently on any branch.";
}
