import { type CommandContext, type GnuCommand, pathIn, statusOf, unicodeText } from "../gnu/command.ts";
import { add } from "./commands/add.ts";
import { apply } from "./commands/apply.ts";
import { branch } from "./commands/branch.ts";
import { checkout, restore, switchBranch } from "./commands/checkout.ts";
import { clean } from "./commands/clean.ts";
import { commit } from "./commands/commit.ts";
import { config } from "./commands/config.ts";
import { blame } from "./commands/listing/blame.ts";
import { gitDiff } from "./commands/listing/git_diff.ts";
import { gitMv, gitRm } from "./commands/move.ts";
import { gitGrep } from "./commands/listing/git_grep.ts";
import { init } from "./commands/init.ts";
import { log, reflog, show } from "./commands/listing/log.ts";
import { merge } from "./commands/merge.ts";
import { catFile, hashObjects, LISTING_COMMANDS } from "./commands/plumbing.ts";
import { remote } from "./commands/remote.ts";
import { reset } from "./commands/reset.ts";
import { stash } from "./commands/stash.ts";
import { status } from "./commands/listing/status.ts";
import { tag } from "./commands/tag.ts";
import { normalKey, type Setting } from "./store/config_file.ts";
import { fatal, GitError } from "./store/git_error.ts";
import type { FreeCommand, GitCommand } from "./git_command.ts";
import { findRepository, type GlobalOptions, type Repository } from "./store/repository.ts";

const VERSION = "2.39.5";

const COMMANDS: Readonly<Record<string, GitCommand>> = {
  add,
  blame,
  stage: add,
  branch,
  checkout,
  clean,
  commit,
  grep: gitGrep,
  log,
  merge,
  mv: gitMv,
  reflog,
  remote,
  reset,
  restore,
  rm: gitRm,
  show,
  stash,
  status,
  switch: switchBranch,
  tag,
  "cat-file": catFile,
  ...LISTING_COMMANDS,
};

const FREE_COMMANDS: Readonly<Record<string, FreeCommand>> = {
  apply,
  config,
  diff: gitDiff,
  "hash-object": hashObjects,
  init,
  version: (_args, { print }) => (print(`git version ${VERSION}\n`), 0),
};

/** Commands of git that need a network. */
const NETWORK = ["clone", "fetch", "pull", "push", "ls-remote", "fetch-pack", "send-pack", "request-pull"];
/** Commands of git that the sandbox lacks. */
const MISSING = [
  ...["am", "annotate", "archive", "bisect", "bundle", "cherry", "cherry-pick", "column", "commit-graph"],
  ...["credential", "daemon", "difftool", "fast-export", "fast-import", "filter-branch", "format-patch"],
  ...[
    "fsck",
    "gc",
    "gui",
    "help",
    "index-pack",
    "instaweb",
    "interpret-trailers",
    "maintenance",
    "mergetool",
  ],
  ...["merge-file", "merge-tree", "multi-pack-index", "name-rev", "notes", "pack-objects", "pack-refs"],
  ...["prune", "range-diff", "read-tree", "rebase", "repack", "replace", "rerere", "revert", "send-email"],
  ...["shortlog", "show-branch", "sparse-checkout", "stripspace", "submodule", "subtree", "unpack-objects"],
  ...[
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "whatchanged",
    "worktree",
    "lfs",
    "svn",
    "blame",
    "describe",
  ],
  ...["diff-files", "diff-index", "diff-tree", "checkout-index", "update-index", "lfs", "mktree", "mktag"],
];

/** `git` for a local repository, with the output of git 2.39. */
export const git: GnuCommand = async (args, context) => {
  try {
    return await run(args, context);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const head = error.kind === "" ? "" : `${error.kind}: `;
    context.printError(`${head}${error.message}\n`);
    return error.exitCode;
  }
};

async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const { options, cwd, rest } = readGlobalOptions(args, context);
  const [name, ...words] = rest;
  const inner = { ...context, cwd };
  if (name === undefined) {
    context.print(
      "usage: git [-C <path>] [-c <name>=<value>] [--git-dir=<path>] [--work-tree=<path>] <command> [<args>]\n",
    );
    return 1;
  }
  if (name === "--version" || name === "-v") return await FREE_COMMANDS["version"]?.([], inner, options) ?? 0;
  return await runCommand(name, words, { context: inner, options });
}

async function runCommand(
  name: string,
  words: readonly string[],
  { context, options }: { context: CommandContext; options: GlobalOptions },
): Promise<number> {
  const free = Object.hasOwn(FREE_COMMANDS, name) ? FREE_COMMANDS[name] : undefined;
  if (free) return await free(words, context, options);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command) return await command(words, requireRepository(context, options));
  if (NETWORK.includes(name)) fatal(`'git ${name}' is not available in the sandbox, which has no network`);
  if (MISSING.includes(name)) fatal(`'git ${name}' is not available in the sandbox`);
  const alias = findRepository(context, options)?.config.get(`alias.${name}`);
  if (alias !== undefined && !alias.startsWith("!")) {
    const [first = "", ...more] = alias.split(/\s+/).filter((word) => word !== "");
    if (first === name) fatal(`alias loop detected: expansion of '${name}' does not terminate`);
    return await runCommand(first, [...more, ...words], { context, options });
  }
  if (alias !== undefined) fatal(`alias '${name}' runs a shell, which is not available in the sandbox`);
  throw new GitError(`git: '${unicodeText(name)}' is not a git command. See 'git --help'.`, {
    kind: "",
    exitCode: 1,
  });
}

/** Returns the repository of the working directory. Ends the command if there is none. */
export function requireRepository(context: CommandContext, options: GlobalOptions): Repository {
  return findRepository(context, options) ??
    fatal("not a git repository (or any of the parent directories): .git");
}

function readGlobalOptions(
  args: readonly string[],
  { files, cwd: start }: CommandContext,
): { options: GlobalOptions; cwd: string; rest: string[] } {
  const settings: Setting[] = [];
  const rest = [...args];
  let cwd = start;
  let [gitFolder, workTree]: (string | undefined)[] = [];
  while (rest[0]?.startsWith("-")) {
    const [word = ""] = rest;
    if (["--version", "-v"].includes(word)) break;
    rest.shift();
    const at = word.indexOf("=");
    const name = at < 0 ? word : word.slice(0, at);
    const value = () => at < 0 ? rest.shift() ?? fatal(`no value given for ${name}`) : word.slice(at + 1);
    if (word === "-C") {
      const folder = value();
      cwd = folder === "" ? cwd : pathIn(cwd, folder);
      if (statusOf(files, cwd)?.kind !== "directory") {
        fatal(`cannot change to '${unicodeText(folder)}': No such file or directory`);
      }
    } else if (word === "-c") settings.push(readSetting(rest.shift() ?? fatal("no config key given for -c")));
    else if (name === "--git-dir") gitFolder = unicodeText(value());
    else if (name === "--work-tree") workTree = unicodeText(value());
    else if (
      !["--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"].includes(
        word,
      )
    ) {
      if (word === "-p" || word === "--paginate") continue;
      throw new GitError(`unknown option: ${word}`, { kind: "", exitCode: 129 });
    }
  }
  const options = {
    settings,
    ...(gitFolder !== undefined && { gitFolder }),
    ...(workTree !== undefined && { workTree }),
  };
  return { options, cwd, rest };
}

function readSetting(text: string): Setting {
  const at = text.indexOf("=");
  const key = normalKey(at < 0 ? text : text.slice(0, at));
  if (key === undefined) {
    throw new GitError(`bad config parameter '${text}'`, { kind: "error", exitCode: 128 });
  }
  return { key, value: at < 0 ? undefined : text.slice(at + 1) };
}
