import { bytesOf, byteText, pathIn, statusOf, textOf, unicodeText } from "../../gnu/command.ts";
import { zoneOf } from "../../gnu/time_zone.ts";
import { compareTrees } from "../compare/file_pairs.ts";
import { findRenames } from "../compare/renames.ts";
import { shortStatText, summaryText } from "../compare/stat_output.ts";
import type { GitCommand } from "../git_command.ts";
import { type Commit, readCommit, type Signature, subjectOf, writeCommit } from "../store/commit_object.ts";
import { fails, fatal, GitError } from "../store/git_error.ts";
import type { IndexEntry } from "../store/index_file.ts";
import { readDate, type Repository } from "../store/repository.ts";
import { commitOf } from "../store/revisions.ts";
import { filesOfTree, writeTrees } from "../store/tree_object.ts";
import { type Changes, findChanges } from "../worktree/changes.ts";
import { PathSpec } from "../worktree/path_spec.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { writeIndex } from "./add.ts";
import { allWords, commandOptions } from "./command_words.ts";
import { dateText } from "./listing/date_text.ts";
import { longText, readUntracked, shortText } from "./listing/status.ts";

const OPTIONS =
  "q,quiet:v,verbose:F,file=:author=:date=:m,message=:c,reedit-message=:C,reuse-message=:fixup=:squash=:" +
  "reset-author:trailer=:s,signoff:t,template=:e,edit:no-edit:cleanup=:S,gpg-sign?:no-gpg-sign:a,all:i,include:" +
  "o,only:p,patch:interactive:n,no-verify:verify:dry-run:short:branch:porcelain:long:z,null:amend:no-post-rewrite:" +
  "u,untracked-files?:allow-empty:allow-empty-message:no-signoff:status:no-status:pathspec-from-file=";

/** `git commit`. */
export const commit: GitCommand = async (args, repository) => {
  const options = commandOptions(args, OPTIONS, {
    refused: ["p", "interactive", "S", "fixup", "squash", "t", "pathspec-from-file", "i", "trailer"],
  });
  const { context, objects, references, index } = repository;
  repository.requireWorkTree();
  const words = allWords(options);
  const isAmend = options.has("amend");
  const head = repository.head();
  if (isAmend && head === undefined) fatal("You have nothing yet to amend.");
  if (options.has("a") && words.length > 0) {
    fatal(`paths '${unicodeText(words[0] ?? "")} ...' with -a does not make sense`);
  }
  const old = isAmend && head !== undefined ? readCommit(objects, head) : undefined;
  const files = stage();
  if (index.conflicts.size > 0) {
    for (const path of index.conflicts.keys()) context.print(`U\t${path}\n`);
    throw new GitError(
      "Committing is not possible because you have unmerged files.\nhint: Fix them up in the work tree, and then use " +
        "'git add/rm <file>'\nhint: as appropriate to mark resolution and make a commit.\n" +
        "fatal: Exiting because of an unresolved conflict.",
      { kind: "error", exitCode: 128 },
    );
  }
  const parents = old ? old.parents : parentsOfNext(repository, head);
  const parentTree = parents[0] === undefined ? undefined : readCommit(objects, parents[0]).tree;
  if (["dry-run", "short", "porcelain", "long"].some((name) => options.has(name))) return dryRun();
  const tree = writeTrees(objects, [...files].filter(([, entry]) => !entry.isIntent));
  const isMerge = parents.length > 1;
  const isSame = parentTree === undefined ? files.size === 0 : tree === parentTree;
  if (
    isSame && !isMerge && !options.has("allow-empty") &&
    !(isAmend && old?.tree === tree && tree !== parentTree)
  ) {
    return reportNothing();
  }
  const reused = options.value("C") ?? options.value("c");
  const source = old ??
    (reused === undefined ? undefined : readCommit(objects, commitOf(repository, reused)));
  const author = authorOf(source);
  const committer = repository.signature("committer");
  const message = await readMessage(source);
  if (message === "" && !options.has("allow-empty-message")) {
    throw new GitError("Aborting commit due to empty commit message.", { kind: "", exitCode: 1 });
  }
  await runHooks();
  const id = writeCommit(objects, { tree, parents, author, committer, message });
  writeIndex(repository);
  const kind = isAmend ? " (amend)" : parents.length === 0 ? " (initial)" : isMerge ? " (merge)" : "";
  references.update("HEAD", id, { who: committer, message: `commit${kind}: ${subjectOf(message)}` });
  for (const name of ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "SQUASH_MSG"]) {
    const path = `${repository.gitFolder}/${name}`;
    if (statusOf(repository.files, path)) repository.files.removeFile(path);
  }
  if (!options.has("q")) printSummary(readCommit(objects, id));
  return 0;

  /** Stages what the options name. Returns the files of the commit. */
  function stage(): ReadonlyMap<string, IndexEntry> {
    const work = new WorkTree(repository);
    const update = (spec?: PathSpec) => {
      for (const { from, to } of work.changes(spec).pairs) {
        const path = to?.path ?? from?.path ?? "";
        const status = to && work.status(path);
        if (!status) index.entries.delete(path);
        else index.entries.set(path, work.store(path, status));
      }
    };
    if (options.has("a")) update();
    if (words.length === 0) return index.entries;
    const spec = new PathSpec(repository, words);
    for (const path of index.entries.keys()) spec.matches(path);
    const base = filesOfTree(objects, head === undefined ? undefined : readCommit(objects, head).tree);
    for (const path of base.keys()) spec.matches(path);
    const [missing] = spec.unused();
    if (missing !== undefined) {
      fails(`pathspec '${unicodeText(missing)}' did not match any file(s) known to git`);
    }
    update(spec);
    const chosen = new Map<string, IndexEntry>([...base].filter(([path]) => !spec.matches(path)));
    for (const [path, entry] of index.entries) if (spec.matches(path)) chosen.set(path, entry);
    return new Map([...chosen].sort(([a], [b]) => a < b ? -1 : 1));
  }

  function changesNow(): Changes {
    const untracked = readUntracked(
      options.value("u") ?? repository.config.get("status.showuntrackedfiles"),
      options.has("u"),
    );
    return findChanges(repository, { untracked, tree: parentTree });
  }

  function dryRun(): number {
    const changes = changesNow();
    const style = { end: options.has("z") ? "\0" : "\n", hasBranch: options.has("branch") };
    context.print(
      options.has("short") || options.has("porcelain")
        ? shortText(repository, changes, { ...style, isRelative: options.has("short") })
        : longText(repository, changes, { untracked: "normal", isAmend }),
    );
    return changes.staged.length > 0 ? 0 : 1;
  }

  function reportNothing(): number {
    if (isAmend) {
      throw new GitError(
        "You asked to amend the most recent commit, but doing so would make\nit empty. You can repeat your command " +
          'with --allow-empty, or you can\nremove the commit entirely with "git reset HEAD^".',
        { kind: "", exitCode: 1 },
      );
    }
    const untracked = readUntracked(
      options.value("u") ?? repository.config.get("status.showuntrackedfiles"),
      options.has("u"),
    );
    const changes = findChanges(repository, { untracked });
    context.print(longText(repository, changes, { untracked, isCommit: true }));
    return 1;
  }

  function authorOf(source: Commit | undefined): Signature {
    const base = source && !options.has("reset-author") ? source.author : repository.signature("author");
    const given = options.value("author");
    let author = base;
    if (given !== undefined) {
      const [, name, email] = /^\s*(.*?)\s*<([^>]*)>\s*$/.exec(given) ?? [];
      if (name === undefined || email === undefined) {
        fatal(`--author '${unicodeText(given)}' is not 'Name <email>' and matches no existing author`);
      }
      author = { ...author, name, email };
    }
    const date = options.value("date");
    if (date === undefined) return author;
    const zone = zoneOf(context);
    const found = date === "now"
      ? repository.signature("committer")
      : readDate(unicodeText(date), { nowMs: Date.now(), zone }) ??
        fatal(`invalid date format: ${unicodeText(date)}`);
    return { ...author, seconds: found.seconds, offset: found.offset };
  }

  async function readMessage(source: Commit | undefined): Promise<string> {
    const messages = options.values("m");
    const file = options.value("F");
    const isVerbatim = options.value("cleanup") === "verbatim";
    const merging = `${repository.gitFolder}/MERGE_MSG`;
    let text: string | undefined;
    if (messages.length > 0) {
      if (file !== undefined) fatal("options '-m' and '-F' cannot be used together");
      text = messages.map((message) => message.endsWith("\n") ? message : `${message}\n`).join("\n");
    } else if (file !== undefined) {
      if (file !== "-" && !statusOf(context.files, pathIn(context.cwd, file))) {
        fatal(`could not read log file '${unicodeText(file)}': No such file or directory`);
      }
      text = file === "-" ? context.stdin : textOf(context.files.read(pathIn(context.cwd, file)));
    } else if (source) text = source.message;
    else if (statusOf(context.files, merging)) text = textOf(context.files.read(merging));
    const isEdited = options.has("e") || options.has("c") ||
      (messages.length === 0 && file === undefined && !options.has("no-edit") &&
        options.value("C") === undefined);
    if (isEdited) return await editMessage(text ?? "");
    if (options.has("s")) text = withSignOff(text ?? "");
    return isVerbatim ? text ?? "" : cleanMessage(text ?? "", { isCommented: false });
  }

  /** Runs the editor that variables or settings name. A terminal has none. */
  async function editMessage(text: string): Promise<string> {
    const { variables } = context;
    const editor = variables["GIT_EDITOR"] ?? repository.config.get("core.editor") ?? variables["VISUAL"] ??
      variables["EDITOR"];
    if (editor === undefined || editor === "") {
      throw new GitError(
        "Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option.",
        { kind: "error", exitCode: 1 },
      );
    }
    const path = `${repository.gitFolder}/COMMIT_EDITMSG`;
    const hint = "\n# Please enter the commit message for your changes. Lines starting\n" +
      "# with '#' will be ignored, and an empty message aborts the commit.\n";
    repository.files.write(path, bytesOf((options.has("s") ? withSignOff(text) : text) + hint));
    if (editor !== ":" && editor !== "true") {
      const words = ["sh", "-c", `${byteText(editor)} "$@"`, byteText(editor), byteText(path)];
      const { exitCode } = await context.run(words);
      if (exitCode !== 0) {
        fails(
          `There was a problem with the editor '${editor}'.\nPlease supply the message using either -m or -F option.`,
        );
      }
    }
    return cleanMessage(textOf(repository.files.read(path)), { isCommented: true });
  }

  function withSignOff(text: string): string {
    const { name, email } = repository.signature("committer");
    const line = `Signed-off-by: ${name} <${email}>\n`;
    const body = text === "" || text.endsWith("\n") ? text : `${text}\n`;
    if (body.endsWith(`\n${line}`)) return body;
    const isTrailer = /\n\n(?:[A-Za-z0-9-]+: .*\n)+$/.test(body);
    return isTrailer ? body + line : `${body}\n${line}`;
  }

  /** Runs the hooks of a commit, which a repository may have as programs. */
  async function runHooks(): Promise<void> {
    if (options.has("n")) return;
    const path = `${repository.gitFolder}/hooks/pre-commit`;
    const status = statusOf(repository.files, path);
    if (status?.kind !== "file" || !(status.mode & 0o100)) return;
    const cwd = repository.top ?? "/";
    const { exitCode } = await context.run([byteText(path)], { cwd });
    if (exitCode !== 0) throw new GitError("", { kind: "", exitCode: 1 });
  }

  function printSummary(made: Commit): void {
    const branch = references.branch() ?? "detached HEAD";
    const root = head === undefined ? " (root-commit)" : "";
    context.print(
      `[${branch}${root} ${objects.abbreviate(made.id, objects.digits)}] ${subjectOf(made.message)}\n`,
    );
    const { author, committer } = made;
    if (author.name !== committer.name || author.email !== committer.email) {
      context.print(` Author: ${author.name} <${author.email}>\n`);
    }
    if (isAmend || options.has("date") || options.has("C")) {
      context.print(` Date: ${dateText(author, "default", zoneOf(context))}\n`);
    }
    if (made.parents.length > 1) return;
    const pairs = findRenames(
      compareTrees(objects, filesOfTree(objects, parentTree), filesOfTree(objects, tree)),
      {
        poll: () => context.poll(),
      },
    );
    context.print(shortStatText(pairs) + summaryText(pairs));
  }
};

/** Returns the parents of the next commit: the commit of `HEAD`, and the parents of a merge that was begun. */
function parentsOfNext({ files, gitFolder }: Repository, head: string | undefined): string[] {
  const path = `${gitFolder}/MERGE_HEAD`;
  const merged = statusOf(files, path)
    ? textOf(files.read(path)).split("\n").filter((line) => line !== "")
    : [];
  return head === undefined ? [] : [head, ...merged];
}

/** Removes blank lines at both ends, spaces at ends of lines, and all but a single line of several blank lines. */
export function cleanMessage(text: string, { isCommented }: { isCommented: boolean }): string {
  const lines = text.split("\n").filter((line) => !(isCommented && line.startsWith("#")))
    .map((line) => line.replace(/[ \t\r\f\v]+$/, ""));
  const cleaned = lines.join("\n").replace(/\n{3,}/g, "\n\n").replace(/^\n+|\n+$/g, "");
  return cleaned === "" ? "" : `${cleaned}\n`;
}
