import { type CommandContext, textOf } from "../../../gnu/command.ts";
import { grep } from "../../../gnu/text/grep.ts";
import type { GitCommand } from "../../git_command.ts";
import { fatal, refuse } from "../../store/git_error.ts";
import { findRevision, treeOf } from "../../store/revisions.ts";
import { filesOfTree } from "../../store/tree_object.ts";
import { IgnoreRules } from "../../worktree/ignore_rules.ts";
import { PathSpec, relativeName } from "../../worktree/path_spec.ts";
import { WorkTree } from "../../worktree/work_tree.ts";
import { commandOptions } from "../command_words.ts";

const OPTIONS =
  "cached:no-index:untracked:exclude-standard:no-exclude-standard:a,text:I:textconv:no-textconv:" +
  "i,ignore-case:w,word-regexp:v,invert-match:h:H:full-name:E,extended-regexp:G,basic-regexp:P,perl-regexp:" +
  "F,fixed-strings:n,line-number:no-line-number:column:l,files-with-matches,name-only:L,files-without-match:z,null:" +
  "o,only-matching:c,count:color?:no-color:break:heading:p,show-function:W,function-context:C,context=:" +
  "A,after-context=:B,before-context=:threads=:f=:e=:and:or:not:q,quiet:m,max-count=:max-depth=:r,recursive:all-match";

/** `git grep`: the lines of files that git knows which match a pattern. */
export const gitGrep: GitCommand = async (args, repository) => {
  const options = commandOptions(args, OPTIONS, {
    refused: [
      "no-index",
      "column",
      "break",
      "heading",
      "p",
      "W",
      "f",
      "and",
      "or",
      "not",
      "max-depth",
      "z",
      "all-match",
    ],
  });
  const { context, index, objects } = repository;
  const words = [...options.operands];
  const patterns = options.has("e") ? options.values("e") : words.splice(0, 1);
  if (patterns.length === 0) fatal("no pattern given");
  const trees: string[] = [];
  while (words[0] !== undefined && options.paths === undefined && isTree(words[0])) {
    trees.push(words.shift() ?? "");
  }
  if (options.paths !== undefined) trees.push(...words.splice(0));
  if (trees.length > 1) refuse("'git grep' in several revisions");
  const [tree] = trees;
  const paths = [...words, ...options.paths ?? []];
  const spec = new PathSpec(repository, paths.length === 0 && repository.prefix !== "" ? ["."] : paths);
  const work = new WorkTree(repository);
  const contents = new Map<string, () => Uint8Array>();
  const stored = (id: string) => () => objects.readKind(id, "blob");
  if (tree !== undefined) {
    for (const [path, { id }] of filesOfTree(objects, treeOf(repository, tree))) {
      contents.set(path, stored(id));
    }
  } else {
    for (const [path, { id }] of index.entries) {
      const status = options.has("cached") ? undefined : work.status(path);
      if (options.has("cached")) contents.set(path, stored(id));
      else if (status?.kind === "file") contents.set(path, () => work.read(path, status));
    }
    if (options.has("untracked")) {
      for (const path of work.others(new IgnoreRules(repository), { spec, isWhole: true }).untracked) {
        const status = work.status(path);
        if (status?.kind === "file") contents.set(path, () => work.read(path, status));
      }
    }
  }
  const flags = options.given.flatMap(({ name, value }) => {
    if (["a", "I", "i", "w", "v", "E", "G", "P", "F", "n", "l", "L", "o", "c", "q"].includes(name)) {
      return [`-${name}`];
    }
    return ["A", "B", "C", "m"].includes(name) ? [`-${name}`, value] : [];
  });
  const chosen = [...contents].filter(([path]) => spec.matches(path)).sort(([a], [b]) => a < b ? -1 : 1);
  const withContext = ["A", "B", "C"].some((name) => options.has(name));
  let found = false;
  let hadOutput = false;
  for (const [path, read] of chosen) {
    context.poll();
    const shown = `${tree === undefined ? "" : `${tree}:`}${
      options.has("full-name") ? path : relativeName(repository, path)
    }`;
    const text = textOf(read());
    let output = "";
    const inner: CommandContext = {
      ...context,
      stdin: text,
      print: (piece) => {
        output += piece;
      },
    };
    const label = options.has("h") ? ["-h"] : ["-H", `--label=${shown}`];
    const code = await grep(
      [...flags, ...label, ...patterns.flatMap((pattern) => ["-e", pattern]), "-"],
      inner,
    );
    if (code > 1) return 128;
    const isMatch = options.has("L") ? output !== "" : code === 0;
    if (isMatch) found = true;
    if (options.has("c") && /:0\n$/.test(output)) continue;
    if (options.has("c") && options.has("h") && output === "0\n") continue;
    if (withContext && hadOutput && output !== "") context.print("--\n");
    if (output !== "") hadOutput = true;
    if (options.has("q") && found) return 0;
    context.print(output);
  }
  return found ? 0 : 1;

  function isTree(word: string): boolean {
    return findRevision(repository, `${word}^{tree}`) !== undefined;
  }
};
