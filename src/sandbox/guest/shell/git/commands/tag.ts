import { pathIn, textOf, unicodeText } from "../../gnu/command.ts";
import type { GitCommand } from "../git_command.ts";
import { peelToCommit, readCommit, readTag, subjectOf, writeTag } from "../store/commit_object.ts";
import { fatal, GitError } from "../store/git_error.ts";
import { isReferenceName } from "../store/references.ts";
import { commitOf, isAncestor, revision } from "../store/revisions.ts";
import { wildmatch } from "../worktree/wildmatch.ts";
import { allWords, commandOptions, withValues } from "./command_words.ts";
import { formatReference } from "./branch.ts";
import { cleanMessage } from "./commit.ts";

/** `git tag`. */
export const tag: GitCommand = (args, repository) => {
  const options = commandOptions(
    withValues(args, ["--contains", "--merged", "--points-at"]),
    "l,list:n?:d,delete:v,verify:a,annotate:m,message=:F,file=:e,edit:s,sign:no-sign:cleanup=:u,local-user=:f,force:" +
      "create-reflog:column?:contains?:no-contains?:merged?:no-merged?:sort=:points-at=:format=:color?:i,ignore-case",
    { refused: ["v", "e", "s", "u", "column", "no-contains", "no-merged", "i"] },
  );
  const { references, objects, context } = repository;
  const words = allWords(options);
  if (options.has("d")) {
    let failed = false;
    for (const name of words) {
      const id = references.resolve(`refs/tags/${name}`);
      if (id === undefined) {
        context.printError(`error: tag '${unicodeText(name)}' not found.\n`);
        failed = true;
        continue;
      }
      references.remove(`refs/tags/${name}`);
      context.print(`Deleted tag '${name}' (was ${objects.abbreviate(id, objects.digits)})\n`);
    }
    return failed ? 1 : 0;
  }
  const isFiltered = ["contains", "merged", "points-at", "n", "sort", "format"].some((name) =>
    options.has(name)
  );
  if (options.has("l") || words.length === 0 || isFiltered) return list();
  const [name = "", target = "HEAD"] = words;
  if (!isReferenceName(name)) fatal(`'${unicodeText(name)}' is not a valid tag name.`);
  const reference = `refs/tags/${name}`;
  const old = references.resolve(reference);
  if (old !== undefined && !options.has("f")) fatal(`tag '${unicodeText(name)}' already exists`);
  if (repository.head() === undefined && target === "HEAD") fatal("Failed to resolve 'HEAD' as a valid ref.");
  const object = revision(repository, target);
  const file = options.value("F");
  let id = object;
  if (options.has("m") || file !== undefined || options.has("a")) {
    if (!options.has("m") && file === undefined) {
      throw new GitError(
        "Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option.",
        { kind: "error", exitCode: 1 },
      );
    }
    const text = file === undefined
      ? options.values("m").map((message) => `${message}\n`).join("\n")
      : file === "-"
      ? context.stdin
      : textOf(context.files.read(pathIn(context.cwd, file)));
    id = writeTag(objects, {
      object,
      kind: objects.read(object).kind,
      name,
      tagger: repository.signature("committer"),
      message: cleanMessage(text, { isCommented: false }),
    });
  }
  references.update(reference, id);
  if (old !== undefined && old !== id) {
    context.print(`Updated tag '${name}' (was ${objects.abbreviate(old, objects.digits)})\n`);
  }
  return 0;

  function list(): number {
    const patterns = words.map((word) => wildmatch(word, { isPath: true }));
    let found = [...references.list("refs/tags/")].map(([full, id]) => ({
      full,
      id,
      name: full.slice("refs/tags/".length),
    })).filter(({ name: short }) => patterns.length === 0 || patterns.some((pattern) => pattern.test(short)));
    const commit = (option: string) => commitOf(repository, options.value(option) || "HEAD");
    if (options.has("contains")) {
      found = found.filter(({ id, name: short }) =>
        isAncestor(repository, commit("contains"), peelToCommit(objects, id, short))
      );
    }
    if (options.has("merged")) {
      found = found.filter(({ id, name: short }) =>
        isAncestor(repository, peelToCommit(objects, id, short), commit("merged"))
      );
    }
    if (options.has("points-at")) {
      const wanted = revision(repository, options.value("points-at") ?? "HEAD");
      found = found.filter(({ id, name: short }) =>
        id === wanted || peelToCommit(objects, id, short) === wanted
      );
    }
    const sort = options.value("sort") ?? repository.config.get("tag.sort") ?? "refname";
    const key = sort.replace(/^-/, "");
    if (/^(?:version:refname|v:refname)$/.test(key)) found.sort((a, b) => compareVersions(a.name, b.name));
    else if (/^(?:creatordate|committerdate|taggerdate)$/.test(key)) {
      const time = (id: string) =>
        objects.read(id).kind === "tag"
          ? readTag(objects, id).tagger.seconds
          : readCommit(objects, id).committer.seconds;
      found.sort((a, b) => time(a.id) - time(b.id));
    } else if (key !== "refname") fatal(`sorting tags by '${key}' is not available in the sandbox`);
    if (sort.startsWith("-")) found.reverse();
    const format = options.value("format");
    for (const { full, id, name: short } of found) {
      if (format !== undefined) context.print(`${formatReference(repository, format, { full, id })}\n`);
      else if (!options.has("n")) context.print(`${short}\n`);
      else {
        const { kind } = objects.read(id);
        const message = kind === "tag" ? readTag(objects, id).message : readCommit(objects, id).message;
        const count = Number(options.value("n") || 1);
        const lines = count === 1 ? [subjectOf(message)] : message.trimEnd().split("\n").slice(0, count);
        context.print(
          lines.map((line, at) => at === 0 ? `${short.padEnd(15)} ${line}\n` : `    ${line}\n`).join(""),
        );
      }
    }
    return 0;
  }
};

/** Compares names in which numbers count as numbers. */
function compareVersions(a: string, b: string): number {
  const parts = (text: string) => text.match(/\d+|\D+/g) ?? [];
  const [left, right] = [parts(a), parts(b)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [one = "", other = ""] = [left[at], right[at]];
    if (one === other) continue;
    const isNumber = /^\d/.test(one) && /^\d/.test(other);
    if (isNumber && Number(one) !== Number(other)) return Number(one) - Number(other);
    return one < other ? -1 : 1;
  }
  return 0;
}
