import { errorText, pathIn, statusOf, unicodeText } from "../../../gnu/command.ts";
import type { CommandContext } from "../../../gnu/command.ts";
import { choosePairs, DIFF_OPTIONS, diffText, readDiffSettings } from "../../compare/diff_options.ts";
import {
  comparePaths,
  compareTreeObjects,
  compareTrees,
  contentSide,
  type FilePair,
  type FileSide,
  pairOf,
  pathOfPair,
  storedSide,
} from "../../compare/file_pairs.ts";
import type { FreeCommand } from "../../git_command.ts";
import { fatal, GitError, refuse } from "../../store/git_error.ts";
import { Config, findRepository, type Repository } from "../../store/repository.ts";
import { commitOf, findRevision, headTree, mergeBases, treeOf } from "../../store/revisions.ts";
import { filesOfTree, MODE, type TreeFile } from "../../store/tree_object.ts";
import { PathSpec } from "../../worktree/path_spec.ts";
import { WorkTree } from "../../worktree/work_tree.ts";
import { allWords, type CommandOptions, commandOptions, splitRevisions, usage } from "../command_words.ts";

const OPTIONS = `cached:staged:merge-base:no-index:quiet:base:ours:theirs:0:1:2:3:${DIFF_OPTIONS}`;

/** `git diff`. */
export const gitDiff: FreeCommand = (args, context, globals) => {
  const options = commandOptions(args, OPTIONS, { refused: ["base", "ours", "theirs", "0", "1", "2", "3"] });
  const repository = options.has("no-index") ? undefined : findRepository(context, globals);
  const config = repository?.config ?? new Config(context, { given: globals.settings, gitFolder: undefined });
  const settings = readDiffSettings(options, { config, context }, {
    digits: repository?.objects.digits ?? 7,
  });
  const found = repository ? pairsOf(repository, options) : filePairs(context, allWords(options));
  const pairs = choosePairs(found, settings, context);
  const isQuiet = options.has("quiet");
  const text = isQuiet || settings.isSilent
    ? ""
    : diffText(pairs, settings, { context, form: "patch", ...(repository && { repository }) });
  context.print(text);
  if (!isQuiet && !options.has("exit-code") && repository) return 0;
  return pairs.length > 0 && (settings.style.whitespace === undefined || text !== "") ? 1 : 0;
};

/** Returns the pairs that the arguments of `git diff` name. */
function pairsOf(repository: Repository, options: CommandOptions): FilePair[] {
  const { revisions, paths } = splitRevisions(repository, options);
  const spec = new PathSpec(repository, paths);
  const only = (pairs: readonly FilePair[]) =>
    pairs.filter((pair) => spec.isEmpty || spec.matches(pathOfPair(pair)));
  const { objects, index } = repository;
  const filesOf = (text: string) => filesOfTree(objects, treeOf(repository, text));
  const isCached = options.has("cached") || options.has("staged");
  const [first, second] = revisions;
  if (!isCached && index.conflicts.size > 0 && first === undefined) {
    refuse("the diff of files with conflicts");
  }
  if (isCached) {
    if (revisions.length > 1) usage("git diff --cached [<commit>] [--] [<path>...]");
    const base = options.has("merge-base") ? baseOf(repository, first ?? "HEAD", "HEAD") : undefined;
    const tree = first === undefined ? headTree(repository) : treeOf(repository, base ?? first);
    const known = new Map([...index.entries].filter(([, entry]) => !entry.isIntent));
    return only(compareTrees(objects, filesOfTree(objects, tree), known));
  }
  if (first === undefined) return new WorkTree(repository).changes(spec).pairs;
  const [, left, dots, right] = /^(.*?)(\.{2,3})(.*)$/s.exec(first) ?? [];
  if (dots !== undefined && revisions.length === 1) {
    const [from, to] = [left || "HEAD", right || "HEAD"];
    const base = dots.length === 3 ? baseOf(repository, from, to) : from;
    return only(compareTreeObjects(objects, { from: treeOf(repository, base), to: treeOf(repository, to) }));
  }
  if (revisions.length > 2) refuse("the diff of more than two revisions");
  if (second === undefined) {
    requireKind(repository, first);
    const base = options.has("merge-base") ? baseOf(repository, first, "HEAD") : first;
    return new WorkTree(repository).changesFrom(filesOf(base), spec);
  }
  if (first.startsWith("^") || second.startsWith("^")) {
    const [from, to] = first.startsWith("^") ? [first.slice(1), second] : [second.slice(1), first];
    return only(compareTreeObjects(objects, { from: treeOf(repository, from), to: treeOf(repository, to) }));
  }
  const blobs = [first, second].map((text) => blobSide(repository, text));
  if (blobs[0] && blobs[1]) return blobs[0].id === blobs[1].id ? [] : [pairOf(blobs[0], blobs[1])];
  const from = options.has("merge-base") ? baseOf(repository, first, second) : first;
  return only(
    compareTreeObjects(objects, { from: treeOf(repository, from), to: treeOf(repository, second) }),
  );
}

function requireKind(repository: Repository, text: string): void {
  if (blobSide(repository, text)) refuse("the diff of a blob and a file");
}

function blobSide(repository: Repository, text: string): FileSide | undefined {
  const id = findRevision(repository, text);
  if (id === undefined || repository.objects.read(id).kind !== "blob") return undefined;
  const path = text.includes(":") ? text.slice(text.indexOf(":") + 1) : text;
  return storedSide(repository.objects, path, { mode: MODE.file, id });
}

function baseOf(repository: Repository, from: string, to: string): string {
  const [base] = mergeBases(repository, commitOf(repository, from), commitOf(repository, to));
  return base ?? fatal(`${from}...${to}: no merge base`);
}

/** Compares two files or folders that need not be in a repository. */
function filePairs(context: CommandContext, words: readonly string[]): FilePair[] {
  const [from, to] = words;
  if (from === undefined || to === undefined || words.length > 2) {
    if (words.length === 0) {
      throw new GitError(
        "Not a git repository\nTo compare two paths outside a working tree:\nusage: git diff [--no-index] <path> <path>",
        { kind: "", exitCode: 129 },
      );
    }
    usage("git diff --no-index [<options>] <path> <path>");
  }
  const { files, cwd } = context;
  const kindOf = (name: string) => name === "/dev/null" ? "file" : statusOf(files, pathIn(cwd, name))?.kind;
  for (const name of [from, to]) {
    if (kindOf(name) === undefined) {
      throw new GitError(`Could not access '${unicodeText(name)}'`, { kind: "error", exitCode: 1 });
    }
  }
  const side = (name: string): FileSide | undefined => {
    if (name === "/dev/null") return undefined;
    const path = pathIn(cwd, name);
    try {
      const status = files.status(path);
      return contentSide(name, status.mode & 0o100 ? MODE.program : MODE.file, files.read(path));
    } catch (error) {
      return fatal(`${unicodeText(name)}: ${errorText(error)}`);
    }
  };
  if (kindOf(from) === "directory" && kindOf(to) === "directory") {
    const list = (folder: string) =>
      new Map(listFiles(context, folder).map((name) => [name, folderFile(folder, name)]));
    const folderFile = (folder: string, name: string): TreeFile => {
      const found = side(`${folder.replace(/\/$/, "")}/${name}`);
      return found ?? fatal(`cannot read ${name}`);
    };
    const read = (folder: string) => (name: string) =>
      side(`${folder.replace(/\/$/, "")}/${name}`) ?? fatal(`cannot read ${name}`);
    return comparePaths(list(from), list(to), { from: read(from), to: read(to) });
  }
  const [left, right] = [side(from), side(to)];
  if (left?.id === right?.id && left?.mode === right?.mode) return [];
  return [pairOf(left, right)];
}

function listFiles({ files, cwd, poll }: CommandContext, folder: string): string[] {
  const found: string[] = [];
  const visit = (inner: string) => {
    poll();
    for (const name of files.names(pathIn(cwd, `${folder}/${inner}`))) {
      const path = inner + name;
      const kind = statusOf(files, pathIn(cwd, `${folder}/${path}`), { follow: false })?.kind;
      if (kind === "directory") visit(`${path}/`);
      else if (kind === "file") found.push(path);
    }
  };
  visit("");
  return found;
}
