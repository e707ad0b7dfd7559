import { textOf, unicodeText } from "../../../gnu/command.ts";
import { compileExpression } from "../../../gnu/regular_expression.ts";
import { zoneOf } from "../../../gnu/time_zone.ts";
import {
  choosePairs,
  DIFF_OPTIONS,
  diffText,
  readDiffSettings,
  refuseColor,
} from "../../compare/diff_options.ts";
import { compareTreeObjects, type FilePair, pathOfPair } from "../../compare/file_pairs.ts";
import type { GitCommand } from "../../git_command.ts";
import { type Commit, peelToCommit, readCommit, readTag } from "../../store/commit_object.ts";
import { fatal, refuse } from "../../store/git_error.ts";
import { readDate, type Repository } from "../../store/repository.ts";
import { commitOf, findRevision, fullName, mergeBases, revision, walk } from "../../store/revisions.ts";
import { MODE, readTree } from "../../store/tree_object.ts";
import { PathSpec } from "../../worktree/path_spec.ts";
import { type CommandOptions, commandOptions, readCount, splitRevisions } from "../command_words.ts";
import { dateText } from "./date_text.ts";
import { HistoryGraph } from "./graph.ts";
import { commitText, decorationsOf, endsEach, type PrettyStyle, readFormat } from "./pretty.ts";

const LOG_OPTIONS =
  "n,max-count=:skip=:since,after=:until,before=:author=:committer=:grep=:i,regexp-ignore-case:" +
  "E,extended-regexp:F,fixed-strings:P,perl-regexp:all-match:invert-grep:all:branches?:tags?:remotes?:merges:" +
  "no-merges:min-parents=:max-parents=:reverse:follow:first-parent:oneline:format=:pretty?:abbrev-commit:" +
  "no-abbrev-commit:date=:relative-date:decorate?:no-decorate:decorate-refs=:graph:no-graph:topo-order:date-order:" +
  `author-date-order:g,walk-reflogs:L=:parents:children:left-right:cherry-pick:cherry-mark:cherry:source:` +
  `full-history:simplify-merges:simplify-by-decoration:no-walk?:not:boundary:stdin:show-signature:no-notes:notes?:` +
  `clear-decorations:count:no-commit-header:dense:sparse:mailmap:no-mailmap:use-mailmap:encoding=:${DIFF_OPTIONS}`;
const REFUSED = [
  ...["L", "children", "left-right", "cherry-pick", "cherry-mark", "cherry", "source", "full-history"],
  ...[
    "simplify-merges",
    "simplify-by-decoration",
    "not",
    "boundary",
    "stdin",
    "show-signature",
    "notes",
    "P",
  ],
  ...["author-date-order", "decorate-refs", "count", "sparse", "all-match"],
];

/** Rewrites `-5` to `-n5`, wherever it stands. */
function withCounts(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return args.map((word, at) => (end < 0 || at < end) && /^-\d+$/.test(word) ? `-n${word.slice(1)}` : word);
}

/** `git log`. */
export const log: GitCommand = (args, repository) => {
  const options = commandOptions(withCounts(args), LOG_OPTIONS, { refused: REFUSED });
  if (options.has("g")) {
    return reflog([
      "show",
      ...args.filter((word) => word !== "-g" && word !== "--walk-reflogs"),
    ], repository);
  }
  const { revisions, paths } = splitRevisions(repository, options);
  const printer = new LogPrinter(repository, options);
  if (paths.length === 0 && !FILTERS.some((name) => options.has(name))) {
    printer.drawsAll = () => idsInRange(repository, options, revisions);
  }
  const commits = chooseCommits(repository, options, { revisions, paths });
  for (const { commit, pairs } of commits) printer.print(commit, pairs);
  return 0;
};

/** Options that leave out commits, so that a graph shows others than the parents of a commit. */
const FILTERS = [
  ...["since", "until", "author", "committer", "grep", "merges", "no-merges", "min-parents", "max-parents"],
  ...["S", "skip", "follow", "no-walk"],
];

/** Returns all commits of a range. */
function idsInRange(
  repository: Repository,
  options: CommandOptions,
  revisions: readonly string[],
): ReadonlySet<string> {
  const range = readRange(repository, options, revisions);
  const isFirstParent = options.has("first-parent");
  return new Set(Array.from(walk(repository, { ...range, isFirstParent }), ({ id }) => id));
}

interface Chosen {
  readonly commit: Commit;
  /** Files that differ from the first parent, if the walk has found them. */
  readonly pairs?: readonly FilePair[];
}

/** Returns the commits that the options of `git log` choose, in the order in which they are printed. */
function chooseCommits(
  repository: Repository,
  options: CommandOptions,
  { revisions, paths }: { revisions: readonly string[]; paths: readonly string[] },
): Iterable<Chosen> {
  const { starts, excluded } = readRange(repository, options, revisions);
  const limit = options.has("n") ? readCount(options.value("n") ?? "", "-n") : -1;
  const skip = options.has("skip") ? readCount(options.value("skip") ?? "", "--skip") : 0;
  const isWanted = commitFilter(repository, options);
  const isGraph = options.has("graph");
  const searched = options.value("S");
  let spec = paths.length > 0 ? new PathSpec(repository, paths) : undefined;
  const isFollowing = options.has("follow");
  if (isFollowing && paths.length !== 1) fatal("--follow requires exactly one pathspec");
  const { objects } = repository;
  const treeOf = (id: string | undefined) => id === undefined ? undefined : readCommit(objects, id).tree;
  const differences = (commit: Commit, parent: string | undefined) =>
    compareTreeObjects(
      objects,
      { from: treeOf(parent), to: commit.tree },
      (folder) => !spec || spec.mayMatchIn(folder),
    ).filter((pair) => !spec || spec.matches(pathOfPair(pair)));
  const parentsOf = (commit: Commit) => {
    if (!spec || commit.parents.length < 2) return commit.parents;
    const same = commit.parents.find((parent) => differences(commit, parent).length === 0);
    return same === undefined ? commit.parents : [same];
  };
  const walked = options.has("no-walk") ? starts.map((id) => readCommit(objects, id)) : walk(repository, {
    starts,
    excluded,
    parentsOf,
    isFirstParent: options.has("first-parent"),
    isTopological: options.has("topo-order") || options.has("date-order") || isGraph,
  });
  function* choose(): Generator<Chosen> {
    let [skipped, shown] = [0, 0];
    if (limit === 0) return;
    for (const commit of walked) {
      repository.context.poll();
      let pairs: readonly FilePair[] | undefined;
      if (spec) {
        pairs = differences(commit, commit.parents[0]);
        if (commit.parents.length > 1) {
          if (commit.parents.some((parent) => differences(commit, parent).length === 0)) continue;
        } else if (pairs.length === 0) continue;
        if (isFollowing) {
          const renamed = renamedFrom(commit, pairs);
          if (renamed) {
            pairs = [renamed];
            spec = new PathSpec(repository, [`:(top,literal)${renamed.from?.path ?? ""}`]);
          }
        }
      }
      if (!isWanted(commit)) continue;
      if (searched !== undefined && !containsChange(commit, pairs)) continue;
      if (skipped < skip) {
        skipped++;
        continue;
      }
      yield { commit, ...(pairs && commit.parents.length < 2 && { pairs }) };
      if (++shown === limit) return;
    }
  }
  if (!options.has("reverse")) return choose();
  return [...choose()].reverse();

  /** Returns the pair of the file that the followed file was renamed from. */
  function renamedFrom(commit: Commit, pairs: readonly FilePair[]): FilePair | undefined {
    if (!pairs.some(({ letter }) => letter === "A")) return undefined;
    const all = compareTreeObjects(objects, { from: treeOf(commit.parents[0]), to: commit.tree });
    const settings = { ...readDiffSettings(options, repository, { digits: 7 }), minRename: 50 };
    return choosePairs(all, { ...settings, searched: undefined, isReversed: false }, repository.context)
      .find((pair) => pair.similarity !== undefined && spec?.matches(pathOfPair(pair)));
  }

  function containsChange(commit: Commit, pairs: readonly FilePair[] | undefined): boolean {
    if (commit.parents.length > 1) return false;
    const all = pairs ?? differences(commit, commit.parents[0]);
    return choosePairs(all, readDiffSettings(options, repository, { digits: 7 }), repository.context).length >
      0;
  }
}

/** Reads revisions and ranges of revisions. Without any, the range is the range of `HEAD`. */
function readRange(
  repository: Repository,
  options: CommandOptions,
  revisions: readonly string[],
): { starts: string[]; excluded: string[] } {
  const { references, objects } = repository;
  const [starts, excluded]: [string[], string[]] = [[], []];
  for (const word of revisions) {
    const [, left, dots, right] = /^(.*?)(\.{2,3})(.*)$/s.exec(word) ?? [];
    if (dots !== undefined) {
      const [from, to] = [commitOf(repository, left || "HEAD"), commitOf(repository, right || "HEAD")];
      if (dots.length === 2) excluded.push(from);
      else {
        excluded.push(...mergeBases(repository, from, to));
        starts.push(from);
      }
      starts.push(to);
    } else if (word.startsWith("^")) excluded.push(commitOf(repository, word.slice(1)));
    else if (/\^@$/.test(word)) {
      starts.push(...readCommit(objects, commitOf(repository, word.slice(0, -2))).parents);
    } else starts.push(commitOf(repository, word));
  }
  const lists = [["branches", "refs/heads/"], ["tags", "refs/tags/"], ["remotes", "refs/remotes/"]] as const;
  const prefixes = options.has("all")
    ? ["refs/"]
    : lists.filter(([name]) => options.has(name)).map(([, prefix]) => prefix);
  for (const name of ["branches", "tags", "remotes"]) {
    if (options.value(name)) refuse(`a pattern of --${name}`);
  }
  for (const prefix of prefixes) {
    for (const [, id] of references.list(prefix)) {
      const kind = objects.read(id).kind;
      if (kind === "commit" || kind === "tag") starts.push(peelToCommit(objects, id, id));
    }
  }
  if (options.has("all")) {
    const head = repository.head();
    if (head !== undefined) starts.push(head);
  }
  if (revisions.length > 0 || prefixes.length > 0) return { starts: [...new Set(starts)], excluded };
  const head = repository.head();
  if (head === undefined) {
    fatal(`your current branch '${references.branch() ?? "HEAD"}' does not have any commits yet`);
  }
  return { starts: [head], excluded };
}

function commitFilter(repository: Repository, options: CommandOptions): (commit: Commit) => boolean {
  const zone = zoneOf(repository.context);
  const time = (name: string) => {
    const text = options.value(name);
    if (text === undefined) return undefined;
    const date = readDate(unicodeText(text), { nowMs: Date.now(), zone });
    return date?.seconds ?? refuse(`the date '${unicodeText(text)}'`);
  };
  const [since, until] = [time("since"), time("until")];
  const expression = (text: string) => {
    const ignoreCase = options.has("i");
    const pattern = options.has("F") ? text.replace(/[\\^$.*[\]]/g, "\\$&") : text;
    return compileExpression(unicodeText(pattern), options.has("E") ? "extended" : "basic", {
      ignoreCase,
      isMultiline: true,
    });
  };
  const [authors, committers, messages] = ["author", "committer", "grep"].map((name) =>
    options.values(name).map(expression)
  );
  const matches = (patterns: readonly RegExp[] | undefined, text: string) =>
    !patterns || patterns.length === 0 || patterns.some((pattern) => unicodeText(text).search(pattern) >= 0);
  const least = options.has("merges") ? 2 : Number(options.value("min-parents") ?? 0);
  const most = options.has("no-merges") ? 1 : Number(options.value("max-parents") ?? Infinity);
  return ({ author, committer, message, parents }) =>
    (since === undefined || committer.seconds >= since) &&
    (until === undefined || committer.seconds <= until) &&
    matches(authors, `${author.name} <${author.email}>`) &&
    matches(committers, `${committer.name} <${committer.email}>`) &&
    matches(messages, message) !== (options.has("invert-grep") && (messages?.length ?? 0) > 0) &&
    parents.length >= least && parents.length <= most;
}

/** Prints commits with their diffs. */
class LogPrinter {
  readonly #repository: Repository;
  readonly #style: PrettyStyle;
  readonly #settings: ReturnType<typeof readDiffSettings>;
  readonly #isGraph: boolean;
  readonly #isFirstParent: boolean;
  readonly #form: "patch" | undefined;
  #count = 0;
  #last: Commit | undefined;

  constructor(repository: Repository, options: CommandOptions, form?: "patch") {
    this.#repository = repository;
    this.#form = form;
    const { objects, config } = repository;
    this.#settings = readDiffSettings(options, repository, { digits: objects.digits });
    this.#isGraph = options.has("graph") && !options.has("no-graph");
    this.#isFirstParent = options.has("first-parent");
    refuseColor(options, config.get("color.log") ?? config.get("color.ui"));
    const given = options.given.findLast(({ name }) => ["format", "pretty", "oneline"].includes(name));
    const isOneLine = given?.name === "oneline";
    const format = isOneLine
      ? "oneline"
      : given?.name === "format" && given.value === ""
      ? "tformat:"
      : readFormat(given?.value || config.get("format.pretty") || "medium", repository);
    const isAbbreviated =
      (options.has("abbrev-commit") || isOneLine || config.flag("log.abbrevcommit", false)) &&
      !options.has("no-abbrev-commit");
    const decorate = options.given.findLast(({ name }) => name === "decorate" || name === "no-decorate");
    const isDecorated = decorate?.name === "decorate" && decorate.value !== "no" ||
      (!decorate && ["short", "full", "true", "yes"].includes(config.get("log.decorate") ?? "")) ||
      options.has("clear-decorations");
    this.#style = {
      format,
      date: options.has("relative-date")
        ? "relative"
        : options.value("date") ?? config.get("log.date") ?? "default",
      isAbbreviated,
      digits: this.#settings.digits,
      decorations: isDecorated ? decorationsOf(repository, decorate?.value === "full") : undefined,
      showsParents: options.has("parents"),
    };
  }

  print(
    commit: Commit,
    known?: readonly FilePair[],
    entry?: Parameters<typeof commitText>[2]["entry"],
  ): void {
    const { context } = this.#repository;
    const { format } = this.#style;
    const text = commitText(commit, this.#style, { repository: this.#repository, entry });
    const diff = this.#diff(commit, known);
    const isLined = endsEach(format);
    const isOwn = /^t?format:/.test(format);
    if (this.#isGraph) return this.#printGraph(commit, text, diff);
    if (this.#count++ > 0 && !isLined) context.print("\n");
    if (format === "tformat:") return context.print(diff);
    context.print(text);
    if (isLined || (isOwn && diff !== "")) context.print("\n");
    if (diff === "") return;
    const isStat = this.#settings.forms.has("stat") && this.#settings.forms.has("patch");
    if (isStat && format !== "oneline") context.print("---\n");
    else if (format !== "oneline") context.print("\n");
    context.print(diff);
  }

  /** Returns the commits that a graph draws, or is undefined if commits are left out. */
  drawsAll: (() => ReadonlySet<string>) | undefined;
  #drawn: ReadonlySet<string> | undefined;
  readonly #graph = new HistoryGraph();

  /** Prints a commit beside the lines of history. */
  #printGraph(commit: Commit, text: string, diff: string): void {
    const drawn = this.#drawn ??= this.drawsAll?.();
    if (!drawn) return this.#printLine(commit, text, diff);
    const { context } = this.#repository;
    const graph = this.#graph;
    const parents = this.#isFirstParent ? commit.parents.slice(0, 1) : commit.parents;
    graph.start({ id: commit.id, parents: parents.filter((id) => drawn.has(id)) });
    const isOwn = /^t?format:/.test(this.#style.format);
    const endsLine = !isOwn || text.endsWith("\n");
    const isLined = endsEach(this.#style.format);
    if (this.#count++ > 0 && !isLined) context.print(this.#isOpen ? "\n" : `${graph.separator()}\n`);
    const lines = text.replace(/\n$/, "").split("\n").map((line) => graph.nextLine() + line);
    while (!graph.isFinished) lines.push(graph.nextLine());
    if (isOwn && isLined && endsLine) lines.push(graph.nextLine());
    const isSeparate = diff !== "" && this.#style.format !== "oneline";
    const changes = diff === "" ? [] : diff.replace(/\n$/, "").split("\n");
    for (const line of [...isSeparate ? [""] : [], ...changes]) lines.push(graph.nextLine() + line);
    this.#isOpen = !endsLine && !isLined && diff === "";
    context.print(lines.join("\n") + (this.#isOpen ? "" : "\n"));
  }

  /** True if the last line of the graph waits for its end. */
  #isOpen = false;

  /** Prints a commit with the line of history that it is on. Only histories without merges have a single line. */
  #printLine(commit: Commit, text: string, diff: string): void {
    const { context } = this.#repository;
    if (commit.parents.length > 1) refuse("--graph of a history with merges");
    if (this.#last && this.#last.parents[0] !== commit.id) refuse("--graph of a history with several lines");
    const isLast = commit.parents.length === 0;
    if (this.#last && !endsEach(this.#style.format)) context.print("| \n");
    this.#last = commit;
    const bar = isLast ? "  " : "| ";
    const body = text.replace(/\n$/, "") +
      (diff === "" ? "" : `\n${this.#style.format === "oneline" ? "" : "\n"}${diff.replace(/\n$/, "")}`);
    context.print(body.split("\n").map((line, at) => `${at === 0 ? "* " : bar}${line}\n`).join(""));
  }

  #diff(commit: Commit, known: readonly FilePair[] | undefined): string {
    const settings = this.#settings;
    if (settings.isSilent || (settings.forms.size === 0 && this.#form === undefined)) return "";
    const { objects, context } = this.#repository;
    const treeOf = (id: string) => readCommit(objects, id).tree;
    const [parent] = commit.parents;
    if (commit.parents.length > 1 && !this.#isFirstParent) {
      if (this.#form === undefined) return "";
      const changed = commit.parents.map((id) =>
        new Set(compareTreeObjects(objects, { from: treeOf(id), to: commit.tree }).map(pathOfPair))
      );
      const [first, ...others] = changed;
      const inAll = [...first ?? []].filter((path) => others.every((paths) => paths.has(path)));
      if (inAll.length > 0) refuse("the combined diff of a merge");
      return "";
    }
    const pairs = known ?? compareTreeObjects(objects, {
      from: parent === undefined ? undefined : treeOf(parent),
      to: commit.tree,
    });
    const chosen = choosePairs(pairs, settings, context);
    const form = this.#form;
    return diffText(chosen, settings, { context, repository: this.#repository, ...(form && { form }) });
  }
}

/** `git show`. */
export const show: GitCommand = (args, repository) => {
  const options = commandOptions(withCounts(args), LOG_OPTIONS, { refused: REFUSED });
  const { revisions, paths } = splitRevisions(repository, options);
  const { objects, context } = repository;
  const printer = new LogPrinter(repository, options, "patch");
  const spec = paths.length > 0 ? new PathSpec(repository, paths) : undefined;
  const names = revisions.length > 0 ? revisions : ["HEAD"];
  if (repository.head() === undefined && revisions.length === 0) {
    fatal(`your current branch '${repository.references.branch() ?? "HEAD"}' does not have any commits yet`);
  }
  const showCommit = (commit: Commit) => {
    if (!spec || commit.parents.length > 1) return printer.print(commit);
    const [parent] = commit.parents;
    const from = parent === undefined ? undefined : readCommit(objects, parent).tree;
    const pairs = compareTreeObjects(objects, { from, to: commit.tree });
    printer.print(commit, pairs.filter((pair) => spec.matches(pathOfPair(pair))));
  };
  const showObject = (id: string, name: string) => {
    const { kind, bytes } = objects.read(id);
    if (kind === "blob") return context.print(textOf(bytes));
    if (kind === "tree") {
      const rows = readTree(objects, id).map(({ name: entry, mode }) =>
        entry + (mode === MODE.folder ? "/" : "")
      );
      return context.print(`tree ${name}\n\n${rows.map((row) => `${row}\n`).join("")}`);
    }
    if (kind === "commit") return showCommit(readCommit(objects, id));
    const { name: tagName, tagger, message, object } = readTag(objects, id);
    const date = dateText(tagger, options.value("date") ?? "default", zoneOf(context));
    context.print(
      `tag ${tagName}\nTagger: ${tagger.name} <${tagger.email}>\nDate:   ${date}\n\n${message}\n`,
    );
    showObject(object, name);
  };
  for (const word of names) {
    if (/\.\./.test(word) && findRevision(repository, word) === undefined) {
      const { starts, excluded } = readRange(repository, options, [word]);
      for (const commit of walk(repository, { starts, excluded })) showCommit(commit);
    } else showObject(revision(repository, word), word);
  }
  return 0;
};

/** `git reflog`. */
export const reflog: GitCommand = (args, repository) => {
  const [first] = args;
  if (first === "expire" || first === "delete") refuse(`'git reflog ${first}'`);
  const words = first === "show" ? args.slice(1) : args;
  if (first === "exists") {
    return repository.references.log(fullName(repository, args[1] ?? "") ?? args[1] ?? "").length > 0 ? 0 : 1;
  }
  const options = commandOptions(withCounts(words), LOG_OPTIONS, { refused: REFUSED });
  const [name = "HEAD"] = options.operands;
  const full = fullName(repository, name) ??
    fatal(`ambiguous argument '${name}': unknown revision or path not in the working tree.`);
  const isPlain = !["format", "pretty", "oneline"].some((option) => options.has(option));
  const given = isPlain ? commandOptions(["--oneline", ...withCounts(words)], LOG_OPTIONS) : options;
  const printer = new LogPrinter(repository, given);
  const limit = options.has("n") ? readCount(options.value("n") ?? "", "-n") : Infinity;
  const isWanted = commitFilter(repository, options);
  let shown = 0;
  for (const [at, value] of repository.references.log(full).entries()) {
    const commit = readCommit(repository.objects, value.to);
    if (!isWanted(commit)) continue;
    if (shown++ >= limit) break;
    printer.print(commit, undefined, { name: `${name}@{${at}}`, value });
  }
  return 0;
};
