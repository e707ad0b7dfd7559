import { linesOf, textOf, unicodeText } from "../../../gnu/command.ts";
import { zoneOf } from "../../../gnu/time_zone.ts";
import { lineChanges } from "../../compare/line_changes.ts";
import type { GitCommand } from "../../git_command.ts";
import { type Commit, readCommit } from "../../store/commit_object.ts";
import { fatal, refuse } from "../../store/git_error.ts";
import { commitOf } from "../../store/revisions.ts";
import { entryOfTree } from "../../store/tree_object.ts";
import { insidePath } from "../../worktree/path_spec.ts";
import { WorkTree } from "../../worktree/work_tree.ts";
import { allWords, commandOptions, usage } from "../command_words.ts";
import { dateText } from "./date_text.ts";

/** Hash of lines that are not committed. */
const NO_ID = "0".repeat(40);

/** `git blame`: the commit that each line of a file is from. Renamed files are not followed. */
export const blame: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "L=:l:s:e,show-email:w:date=:root:abbrev=:p,porcelain:line-porcelain:c:t:f,show-name:n,show-number:M?:C?:" +
      "since=:reverse:first-parent:incremental:show-stats:score-debug:color-lines:color-by-age:ignore-rev=:contents=",
    {
      refused: [
        ...[
          "w",
          "p",
          "line-porcelain",
          "c",
          "t",
          "f",
          "n",
          "M",
          "C",
          "since",
          "reverse",
          "incremental",
          "abbrev",
        ],
        ...[
          "show-stats",
          "score-debug",
          "color-lines",
          "color-by-age",
          "ignore-rev",
          "contents",
          "first-parent",
        ],
      ],
    },
  );
  const words = allWords(options);
  const word = words.pop();
  const [start] = words;
  if (word === undefined) usage("git blame [<options>] [<rev-opts>] [<rev>] [--] <file>");
  const { objects, context } = repository;
  const path = insidePath(repository, word);
  const head = start === undefined ? repository.head() : commitOf(repository, start);
  const contentsOf = (commit: Commit) => {
    const file = entryOfTree(objects, commit.tree, path);
    return file && linesOf(textOf(objects.readKind(file.id, "blob")));
  };
  const blobOf = (commit: Commit) => entryOfTree(objects, commit.tree, path)?.id;
  const first = head === undefined ? undefined : readCommit(objects, head);
  const known = first && contentsOf(first);
  if (!first || !known) return fatal(`no such path '${unicodeText(path)}' in ${start ?? "HEAD"}`);
  const lines = start === undefined ? currentLines() : known;
  const origins = Array<Commit | undefined>(lines.length).fill(undefined);
  /** Lines that a commit may have written: their numbers in the commit's file and in the result. */
  const rows = pass(lines, known, lines.map((_, at) => ({ at, line: at })));
  const queue: { commit: Commit; rows: typeof rows }[] = [{ commit: first, rows }];
  for (let item = queue.shift(); item; item = queue.shift()) {
    context.poll();
    const { commit } = item;
    const own = contentsOf(commit) ?? [];
    let left = item.rows;
    const parents = commit.parents.map((id) => readCommit(objects, id));
    const same = parents.find((parent) => blobOf(parent) === blobOf(commit));
    for (const parent of same ? [same] : parents) {
      const before = contentsOf(parent);
      if (!before) continue;
      const older = pass(own, before, left);
      const passed = new Set(older.map(({ line }) => line));
      left = left.filter(({ line }) => !passed.has(line));
      if (older.length > 0) queue.push({ commit: parent, rows: older });
    }
    for (const { line } of left) origins[line] = commit;
  }
  print();
  return 0;

  function currentLines(): string[] {
    const work = new WorkTree(repository);
    const status = work.status(path);
    if (!status) return fatal(`Cannot lstat '${unicodeText(path)}': No such file or directory`);
    return linesOf(textOf(work.read(path, status)));
  }

  /** Returns the rows whose lines an older text has too, with their numbers there. */
  function pass(
    own: readonly string[],
    older: readonly string[],
    rows: readonly { at: number; line: number }[],
  ) {
    const places = new Map<number, number>();
    let [from, to] = [0, 0];
    const changes = lineChanges({ from: older, to: own }, { from: older, to: own });
    for (
      const change of [...changes, { fromStart: older.length, toStart: own.length, fromEnd: 0, toEnd: 0 }]
    ) {
      while (to < change.toStart) places.set(to++, from++);
      [from, to] = [change.fromEnd, change.toEnd];
    }
    return rows.flatMap(({ at, line }) => {
      const place = places.get(at);
      return place === undefined ? [] : [{ at: place, line }];
    });
  }

  function print(): void {
    const [low, high] = readRange(options.value("L"), lines.length);
    const zone = zoneOf(context);
    const rows = lines.map((text, line) => {
      const commit = origins[line];
      const isBoundary = commit !== undefined && commit.parents.length === 0 && !options.has("root");
      const id = commit?.id ?? NO_ID;
      const digits = options.has("l") ? 40 : objects.digits + 1;
      const short = isBoundary ? `^${id.slice(0, digits - 1)}` : id.slice(0, digits);
      const who = commit?.author ??
        {
          name: "Not Committed Yet",
          email: "not.committed.yet",
          seconds: Math.floor(Date.now() / 1000),
          offset: zone(Date.now()).minutes,
        };
      return {
        text,
        short,
        name: options.has("e") ? `<${who.email}>` : who.name,
        date: dateText(who, options.value("date") ?? "iso", zone),
      };
    }).slice(low - 1, high);
    const width = Math.max(0, ...rows.map(({ name }) => unicodeText(name).length));
    const digits = String(high).length;
    for (const [index, { text, short, name, date }] of rows.entries()) {
      const padding = " ".repeat(width - unicodeText(name).length);
      const who = options.has("s") ? "" : `(${name}${padding} ${date} `;
      const line = String(low + index).padStart(digits);
      context.print(`${short} ${who}${line}) ${text.endsWith("\n") ? text : `${text}\n`}`);
    }
  }
};

function readRange(text: string | undefined, count: number): [number, number] {
  if (text === undefined) return [1, count];
  const [, low, sign = "", high = ""] = /^(\d*),?([+-]?)(\d*)$/.exec(text) ??
    refuse(`the range '${text}' of -L`);
  const start = low === "" ? 1 : Number(low);
  if (start > count) fatal(`file has only ${count} lines`);
  if (high === "") return [start, count];
  if (sign === "+") return [start, Math.min(count, start + Number(high) - 1)];
  if (sign === "-") return [Math.max(1, start - Number(high) + 1), start];
  return [start, Math.min(count, Number(high))];
}
