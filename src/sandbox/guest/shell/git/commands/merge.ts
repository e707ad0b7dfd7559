import { unicodeText } from "../../gnu/command.ts";
import { columnsOf } from "../compare/diff_options.ts";
import { compareTrees } from "../compare/file_pairs.ts";
import { findRenames } from "../compare/renames.ts";
import { statText, summaryText } from "../compare/stat_output.ts";
import type { GitCommand } from "../git_command.ts";
import { readCommit } from "../store/commit_object.ts";
import { fatal, GitError } from "../store/git_error.ts";
import { findRevision, isAncestor, mergeBases } from "../store/revisions.ts";
import { filesOfTree } from "../store/tree_object.ts";
import { forceTree, switchTree } from "../worktree/switch_tree.ts";
import { writeIndex } from "./add.ts";
import { allWords, commandOptions } from "./command_words.ts";
import { actorOf } from "./branch.ts";

/** `git merge`, for a branch that only goes further than the current branch. */
export const merge: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "n,no-stat:stat:summary:log?:no-log:squash:no-squash:commit:no-commit:e,edit:no-edit:cleanup=:ff:ff-only:no-ff:" +
      "rerere-autoupdate:verify-signatures:no-verify-signatures:s,strategy=:X,strategy-option=:m,message=:F,file=:" +
      "into-name=:v,verbose:q,quiet:abort:quit:continue:allow-unrelated-histories:progress:no-progress:S,gpg-sign?:" +
      "no-gpg-sign:autostash:no-autostash:overwrite-ignore:no-verify:verify:signoff",
    { refused: ["squash", "no-commit", "no-ff", "s", "X", "autostash", "S", "verify-signatures", "F"] },
  );
  const { references, objects, context } = repository;
  for (const name of ["abort", "quit", "continue"]) {
    if (options.has(name)) {
      fatal(`There is no merge ${name === "continue" ? "in progress" : "to abort"} (MERGE_HEAD missing).`);
    }
  }
  const [word, ...more] = allWords(options);
  if (word === undefined) fatal("No remote for the current branch.");
  if (more.length > 0) fatal("a merge of more than two branches is not available in the sandbox");
  const id = findRevision(repository, `${word}^{commit}`);
  if (id === undefined) {
    throw new GitError(`merge: ${unicodeText(word)} - not something we can merge`, { kind: "", exitCode: 1 });
  }
  const head = repository.head();
  const who = actorOf(repository);
  const change = { who, message: `merge ${word}: Fast-forward` };
  if (head === undefined) {
    forceTree(repository, readCommit(objects, id).tree);
    writeIndex(repository);
    references.update("HEAD", id, change);
    return 0;
  }
  if (isAncestor(repository, id, head)) {
    if (!options.has("q")) context.print("Already up to date.\n");
    return 0;
  }
  if (!isAncestor(repository, head, id)) {
    const [base] = mergeBases(repository, head, id);
    if (base === undefined && !options.has("allow-unrelated-histories")) {
      fatal("refusing to merge unrelated histories");
    }
    if (options.has("ff-only")) {
      throw new GitError(
        "hint: Diverging branches can't be fast-forwarded, you need to either:\nhint:\nhint: \tgit merge --no-ff\nhint:\n" +
          "hint: or:\nhint:\nhint: \tgit rebase\nhint:\n" +
          'hint: Disable this message with "git config advice.diverging false"\n' +
          "fatal: Not possible to fast-forward, aborting.",
        { kind: "", exitCode: 128 },
      );
    }
    fatal("a merge of branches that both have commits of their own is not available in the sandbox");
  }
  const [from, to] = [readCommit(objects, head).tree, readCommit(objects, id).tree];
  if (!options.has("q")) {
    const short = (commit: string) => objects.abbreviate(commit, objects.digits);
    context.print(`Updating ${short(head)}..${short(id)}\n`);
  }
  switchTree(repository, { from, to, command: "merge" });
  writeIndex(repository);
  repository.files.write(`${repository.gitFolder}/ORIG_HEAD`, new TextEncoder().encode(`${head}\n`));
  references.update("HEAD", id, change);
  if (options.has("q")) return 0;
  context.print("Fast-forward\n");
  if (options.has("n")) return 0;
  const pairs = findRenames(compareTrees(objects, filesOfTree(objects, from), filesOfTree(objects, to)), {
    poll: () => context.poll(),
  });
  context.print(statText(pairs, () => ({}), { width: columnsOf(context) }) + summaryText(pairs));
  return 0;
};
