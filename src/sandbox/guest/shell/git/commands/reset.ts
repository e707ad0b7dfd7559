import { pathOfPair } from "../compare/file_pairs.ts";
import type { GitCommand } from "../git_command.ts";
import { readCommit, subjectOf } from "../store/commit_object.ts";
import { fatal } from "../store/git_error.ts";
import type { Repository } from "../store/repository.ts";
import { commitOf, findRevision, treeOf } from "../store/revisions.ts";
import { filesOfTree } from "../store/tree_object.ts";
import { PathSpec } from "../worktree/path_spec.ts";
import { forceTree, resetIndex } from "../worktree/switch_tree.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { writeIndex } from "./add.ts";
import { type CommandOptions, commandOptions, splitRevisions } from "./command_words.ts";
import { actorOf } from "./branch.ts";

/** `git reset`. */
export const reset: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "q,quiet:no-quiet:mixed:soft:hard:merge:keep:recurse-submodules?:p,patch:N,intent-to-add:no-refresh:refresh:" +
      "pathspec-from-file=",
    { refused: ["merge", "keep", "p", "N", "pathspec-from-file"] },
  );
  const { references, objects, index, context } = repository;
  const { first, paths } = readOperands(repository, options);
  const mode = options.given.findLast(({ name }) => ["soft", "mixed", "hard"].includes(name))?.name;
  if (mode !== "soft") repository.requireWorkTree();
  const isUnborn = repository.head() === undefined && first === "HEAD";
  if (paths.length > 0) {
    if (mode === "soft" || mode === "hard") fatal(`Cannot do ${mode} reset with paths.`);
    const spec = new PathSpec(repository, paths);
    const files = filesOfTree(objects, isUnborn ? undefined : treeOf(repository, first));
    resetIndex(repository, files, (path) => spec.matches(path));
    writeIndex(repository);
    reportUnstaged();
    return 0;
  }
  if (isUnborn) {
    if (mode === "hard") forceTree(repository, undefined);
    else if (mode !== "soft") resetIndex(repository, new Map(), () => true);
    writeIndex(repository);
    return 0;
  }
  const id = commitOf(repository, first);
  const { tree, message } = readCommit(objects, id);
  if (mode === "soft" && index.conflicts.size > 0) fatal("Cannot do a soft reset in the middle of a merge.");
  if (mode === "hard") forceTree(repository, tree);
  else if (mode !== "soft") resetIndex(repository, filesOfTree(objects, tree), () => true);
  if (mode !== "soft") writeIndex(repository);
  const who = actorOf(repository);
  const head = repository.head();
  if (head !== undefined) {
    repository.files.write(`${repository.gitFolder}/ORIG_HEAD`, new TextEncoder().encode(`${head}\n`));
  }
  references.update("HEAD", id, { who, message: `reset: moving to ${first}` });
  if (mode === "hard") {
    if (!options.has("q")) {
      context.print(`HEAD is now at ${objects.abbreviate(id, objects.digits)} ${subjectOf(message)}\n`);
    }
  } else if (mode !== "soft") reportUnstaged();
  return 0;

  function reportUnstaged(): void {
    if (options.has("q")) return;
    const work = new WorkTree(repository);
    const pairs = work.changes().pairs;
    writeIndex(repository);
    if (pairs.length === 0) return;
    context.print(
      `Unstaged changes after reset:\n${
        pairs.map((pair) => `${pair.letter}\t${pathOfPair(pair)}\n`).join("")
      }`,
    );
  }
};

/** Reads a revision and paths. The paths behind a revision need not exist. */
function readOperands(
  repository: Repository,
  options: CommandOptions,
): { first: string; paths: readonly string[] } {
  const [word, ...rest] = options.operands;
  if (options.paths !== undefined) return { first: word ?? "HEAD", paths: [...rest, ...options.paths] };
  if (word === undefined) return { first: "HEAD", paths: [] };
  if (rest.length > 0 && findRevision(repository, word) !== undefined) return { first: word, paths: rest };
  const { revisions: [first = "HEAD"], paths } = splitRevisions(repository, options);
  return { first, paths };
}
