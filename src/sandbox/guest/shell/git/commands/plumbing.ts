import { bytesOf, byteText, errorText, pathIn, statusOf, textOf, unicodeText } from "../../gnu/command.ts";
import { quotedPath } from "../compare/names.ts";
import { modeText } from "../compare/patch_output.ts";
import type { FreeCommand, GitCommand } from "../git_command.ts";
import { writeCommit } from "../store/commit_object.ts";
import { fatal, GitError, refuse } from "../store/git_error.ts";
import type { ObjectKind } from "../store/git_object.ts";
import { hashObject } from "../store/object_store.ts";
import { findRepository, type Repository } from "../store/repository.ts";
import {
  ambiguousText,
  commitOf,
  findRevision,
  fullName,
  isAncestor,
  mergeBases,
  revision,
  treeOf,
  walk,
} from "../store/revisions.ts";
import { isReferenceName } from "../store/references.ts";
import { MODE, readTree, writeTrees } from "../store/tree_object.ts";
import { IgnoreRules } from "../worktree/ignore_rules.ts";
import { insidePath, PathSpec, relativeName } from "../worktree/path_spec.ts";
import { WorkTree } from "../worktree/work_tree.ts";
import { allWords, commandOptions, usage } from "./command_words.ts";
import { formatReference } from "./branch.ts";

/** `git cat-file`. */
export const catFile: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "t:s:e:p:batch?:batch-check?:textconv:filters:path=:buffer:allow-unknown-type",
  );
  const { objects, context } = repository;
  const { print } = context;
  if (options.has("batch") || options.has("batch-check")) {
    if (options.value("batch") || options.value("batch-check")) refuse("a format of --batch");
    for (const line of context.stdin.split("\n").slice(0, -1)) {
      const id = findRevision(repository, line);
      const object = id === undefined ? undefined : objects.find(id);
      if (!object) print(`${line} missing\n`);
      else {
        print(`${id} ${object.kind} ${object.bytes.length}\n`);
        if (options.has("batch")) print(`${textOf(object.bytes)}\n`);
      }
    }
    return 0;
  }
  const words = allWords(options);
  const [kind, name] = words.length > 1 ? words : [undefined, words[0]];
  if (name === undefined) usage("git cat-file <type> <object>");
  const id = findRevision(repository, name);
  const object = id === undefined ? undefined : objects.find(id);
  if (id === undefined || !object) {
    if (options.has("e") && id !== undefined) return 1;
    return fatal(`Not a valid object name ${unicodeText(name)}`);
  }
  if (options.has("e")) return 0;
  if (options.has("t")) print(`${object.kind}\n`);
  else if (options.has("s")) print(`${object.bytes.length}\n`);
  else if (options.has("p")) {
    if (object.kind === "tree") print(treeText(repository, id));
    else print(textOf(object.bytes));
  } else if (kind === undefined) usage("git cat-file <type> <object>");
  else {
    const wanted = findRevision(repository, `${name}^{${kind}}`);
    if (wanted === undefined || objects.read(wanted).kind !== kind) fatal(`git cat-file ${name}: bad file`);
    print(textOf(objects.read(wanted).bytes));
  }
  return 0;
};

function treeText(repository: Repository, id: string): string {
  return readTree(repository.objects, id).map(({ mode, name, id: entry }) =>
    `${modeText(mode)} ${kindOf(mode)} ${entry}\t${quotedPath(name, repository.keepsBytes)}\n`
  ).join("");
}

function kindOf(mode: number): ObjectKind {
  return mode === MODE.folder ? "tree" : mode === MODE.module ? "commit" : "blob";
}

/** `git hash-object`. */
export const hashObjects: FreeCommand = (args, context, globals) => {
  const options = commandOptions(args, "t=:w:stdin:stdin-paths:no-filters:path=:literally", {
    refused: ["literally", "path"],
  });
  const kind = options.value("t") ?? "blob";
  if (kind !== "blob" && kind !== "tree" && kind !== "commit" && kind !== "tag") {
    fatal(`invalid object type "${kind}"`);
  }
  const repository = options.has("w")
    ? findRepository(context, globals) ??
      fatal("not a git repository (or any of the parent directories): .git")
    : undefined;
  const hash = (bytes: Uint8Array) => {
    const id = repository ? repository.objects.write(kind, bytes) : hashObject(kind, bytes);
    context.print(`${id}\n`);
  };
  if (options.has("stdin")) hash(bytesOf(context.stdin));
  const names = options.has("stdin-paths") ? context.stdin.split("\n").slice(0, -1) : allWords(options);
  for (const name of names) {
    try {
      hash(context.files.read(pathIn(context.cwd, name)));
    } catch (error) {
      fatal(`could not open '${unicodeText(name)}' for reading: ${errorText(error)}`);
    }
  }
  return 0;
};

const revParse: GitCommand = (args, repository) => {
  const { context, references, objects } = repository;
  const print = (text: string) => context.print(`${text}\n`);
  let [isShort, digits, isVerified, isQuiet, isAbbreviated, isSymbolic] = [
    false,
    objects.digits,
    false,
    false,
    false,
    false,
  ];
  const bytePath = (path: string) => byteText(path);
  let fallback: string | undefined;
  let hasName = false;
  for (const [at, word] of args.entries()) {
    const [, option = word, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    switch (option) {
      case "--show-toplevel":
        repository.requireWorkTree();
        print(bytePath(repository.top ?? ""));
        break;
      case "--show-prefix":
        print(repository.prefix);
        break;
      case "--show-cdup":
        print(repository.prefix.split("/").slice(0, -1).map(() => "../").join(""));
        break;
      case "--git-dir": {
        const { gitFolder } = repository;
        const isUsual = gitFolder === `${context.cwd === "/" ? "" : context.cwd}/.git`;
        print(isUsual ? ".git" : gitFolder === context.cwd ? "." : bytePath(gitFolder));
        break;
      }
      case "--absolute-git-dir":
      case "--git-common-dir":
        print(
          option === "--git-common-dir" && repository.prefix === "" ? ".git" : bytePath(repository.gitFolder),
        );
        break;
      case "--git-path": {
        const base = repository.prefix === "" && repository.top !== undefined
          ? ".git"
          : bytePath(repository.gitFolder);
        print(`${base}/${args[at + 1] ?? ""}`);
        return 0;
      }
      case "--is-inside-work-tree":
        print(
          String(repository.top !== undefined && !`${context.cwd}/`.startsWith(`${repository.gitFolder}/`)),
        );
        break;
      case "--is-inside-git-dir":
        print(String(`${context.cwd}/`.startsWith(`${repository.gitFolder}/`)));
        break;
      case "--is-bare-repository":
        print(String(repository.top === undefined));
        break;
      case "--is-shallow-repository":
        print(String(statusOf(repository.files, `${repository.gitFolder}/shallow`) !== undefined));
        break;
      case "--show-object-format":
        print("sha1");
        break;
      case "--short":
        isShort = true;
        isVerified = true;
        if (value !== undefined) digits = Number(value);
        break;
      case "--verify":
        isVerified = true;
        break;
      case "-q":
      case "--quiet":
        isQuiet = true;
        break;
      case "--abbrev-ref":
        isAbbreviated = true;
        break;
      case "--symbolic-full-name":
        isSymbolic = true;
        break;
      case "--default":
        fallback = args[at + 1];
        break;
      case "--all":
        for (const id of references.list("refs/").values()) print(id);
        break;
      case "--branches":
        for (const id of references.list("refs/heads/").values()) print(id);
        break;
      case "--tags":
        for (const id of references.list("refs/tags/").values()) print(id);
        break;
      case "--":
      case "--end-of-options":
        break;
      default:
        if (option.startsWith("--")) refuse(`the option ${option}`);
        if (args[at - 1] === "--default") break;
        hasName = true;
        if (isVerified && isQuiet && findRevision(repository, word) === undefined) return 1;
        show(word);
    }
  }
  if (!hasName && fallback !== undefined) show(fallback);
  return 0;

  function show(name: string): void {
    const [, left, dots, right] = /^(.*?)(\.{2,3})(.*)$/s.exec(name) ?? [];
    if (dots !== undefined && left !== undefined && findRevision(repository, name) === undefined) {
      const [from, to] = [revision(repository, left || "HEAD"), revision(repository, right || "HEAD")];
      print(to);
      if (dots.length === 3) {
        print(from);
        for (const base of mergeBases(repository, from, to)) print(`^${base}`);
      } else print(`^${from}`);
      return;
    }
    const isExcluded = name.startsWith("^");
    const text = isExcluded ? name.slice(1) : name;
    if (isAbbreviated || isSymbolic) {
      const full = /@\{-\d+\}$|@\{u/.test(text)
        ? undefined
        : fullName(repository, text === "@" ? "HEAD" : text);
      const target = full === "HEAD" ? references.headTarget() ?? "HEAD" : full;
      if (full === "HEAD" && references.resolve("HEAD") === undefined) failed(name);
      if (target === undefined) {
        if (findRevision(repository, text) === undefined) failed(name);
        return;
      }
      print(isSymbolic ? target : target.replace(/^refs\/(?:heads|tags|remotes)\//, ""));
      return;
    }
    const id = findRevision(repository, text);
    if (id === undefined) {
      if (!isVerified && statusOf(repository.files, pathIn(context.cwd, text))) {
        print(name);
        return;
      }
      failed(name);
    }
    print((isExcluded ? "^" : "") + (isShort ? objects.abbreviate(id, digits) : id));
  }

  function failed(name: string): never {
    if (isVerified) fatal("Needed a single revision");
    context.print(`${name}\n`);
    return fatal(ambiguousText(name));
  }
};

const lsFiles: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "c,cached:d,deleted:m,modified:o,others:i,ignored:s,stage:u,unmerged:k,killed:directory:no-empty-directory:z:" +
      "x,exclude=:X,exclude-from=:exclude-per-directory=:exclude-standard:error-unmatch:full-name:abbrev?:debug:" +
      "deduplicate:t:v:f:eol:recurse-submodules:format=:with-tree=",
    {
      refused: [
        "k",
        "debug",
        "t",
        "v",
        "f",
        "eol",
        "format",
        "with-tree",
        "X",
        "exclude-per-directory",
        "recurse-submodules",
      ],
    },
  );
  const { index, context } = repository;
  const end = options.has("z") ? "\0" : "\n";
  const words = allWords(options);
  const spec = new PathSpec(repository, words.length === 0 && repository.prefix !== "" ? ["."] : words);
  const show = (path: string) => {
    const name = options.has("full-name") ? path : relativeName(repository, path);
    return (options.has("z") ? name : quotedPath(name, repository.keepsBytes)) + end;
  };
  const isStandard = options.has("exclude-standard");
  const rules = new IgnoreRules(repository, options.values("x"));
  const hasRules = isStandard || options.has("x");
  const work = () => new WorkTree(repository);
  if (options.has("o")) {
    const isFolders = options.has("directory");
    const found = work().others(rules, {
      ...(!spec.isEmpty && { spec }),
      isWhole: !isFolders,
      isIgnoredWhole: !isFolders,
    });
    const chosen = options.has("i")
      ? found.ignored
      : hasRules
      ? found.untracked
      : [...found.untracked, ...found.ignored].sort();
    for (const path of chosen) context.print(show(path));
  }
  const isModified = options.has("m");
  const isCached = options.has("c") || options.has("s") || options.has("u") ||
    !(options.has("o") || options.has("d") || isModified);
  if (options.has("d") || isModified) {
    for (const { from, to } of work().changes(spec).pairs) {
      if (to && !isModified) continue;
      context.print(show(to?.path ?? from?.path ?? ""));
    }
  }
  if (isCached) {
    for (const [path, { mode, id }] of options.has("u") ? [] : index.entries) {
      if (!spec.matches(path)) continue;
      if (options.has("i") && !rules.isIgnored(path, false)) continue;
      context.print(options.has("s") ? `${modeText(mode)} ${id} 0\t${show(path)}` : show(path));
    }
    for (const [path, stages] of index.conflicts) {
      if (!spec.matches(path)) continue;
      for (const [stage, { mode, id }] of stages) {
        context.print(
          options.has("s") || options.has("u")
            ? `${modeText(mode)} ${id} ${stage}\t${show(path)}`
            : show(path),
        );
      }
    }
  }
  if (options.has("error-unmatch")) {
    const [missing] = spec.unused();
    if (missing !== undefined) {
      throw new GitError(
        `pathspec '${
          unicodeText(missing)
        }' did not match any file(s) known to git\nDid you forget to 'git add'?`,
        { kind: "error", exitCode: 1 },
      );
    }
  }
  return 0;
};

const lsTree: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "d:r:t:l,long:z:name-only:name-status:object-only:full-name:full-tree:abbrev?:format=",
    {
      refused: ["format", "object-only", "abbrev"],
    },
  );
  const [name, ...paths] = allWords(options);
  if (name === undefined) usage("git ls-tree [<options>] <tree-ish> [<path>...]");
  const { objects, context } = repository;
  const end = options.has("z") ? "\0" : "\n";
  const prefix = options.has("full-tree") ? "" : repository.prefix;
  const wanted = paths.map((path) => prefix + path.replace(/^\.\//, ""));
  const visit = (tree: string, folder: string) => {
    for (const { mode, name: entry, id } of readTree(objects, tree)) {
      const path = folder + entry;
      const isFolder = mode === MODE.folder;
      const isChosen = wanted.length === 0
        ? `${path}/`.startsWith(prefix)
        : wanted.some((other) =>
          path === other.replace(/\/$/, "") || path.startsWith(other.endsWith("/") ? other : `${other}/`)
        );
      const isAbove = [...wanted, ...wanted.length === 0 ? [prefix] : []].some((other) =>
        other.startsWith(`${path}/`)
      );
      const isEntered = isFolder && (options.has("r") && isChosen || isAbove && !(wanted.includes(path)));
      if (
        isChosen && !(isAbove && !wanted.includes(path)) && !(options.has("d") && !isFolder) &&
        (!isEntered || options.has("t"))
      ) {
        const shown = options.has("full-name") || options.has("full-tree")
          ? path
          : relativeName(repository, path);
        const label = options.has("z") ? shown : quotedPath(shown, repository.keepsBytes);
        const size = options.has("l")
          ? ` ${(isFolder ? "-" : String(objects.read(id).bytes.length)).padStart(7)}`
          : "";
        context.print(
          options.has("name-only") || options.has("name-status")
            ? label + end
            : `${modeText(mode)} ${kindOf(mode)} ${id}${size}\t${label}${end}`,
        );
      }
      if (isEntered) visit(id, `${path}/`);
    }
  };
  visit(treeOf(repository, name), "");
  return 0;
};

const showRef: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "tags:heads:head:d,dereference:s,hash?:verify:q,quiet:abbrev?:exclude-existing?",
    {
      refused: ["d", "exclude-existing"],
    },
  );
  const { references, objects, context } = repository;
  const words = allWords(options);
  const found: [string, string][] = [];
  if (options.has("verify")) {
    for (const word of words) {
      const id = references.resolve(word);
      if (id === undefined) return options.has("q") ? 1 : fatal(`'${word}' - not a valid ref`);
      found.push([word, id]);
    }
  } else {
    const head = references.resolve("HEAD");
    if (options.has("head") && head !== undefined) found.push(["HEAD", head]);
    for (const [name, id] of references.list("refs/")) {
      const isKind = (!options.has("tags") && !options.has("heads")) ||
        (options.has("tags") && name.startsWith("refs/tags/")) ||
        (options.has("heads") && name.startsWith("refs/heads/"));
      if (
        isKind && (words.length === 0 || words.some((word) => name === word || name.endsWith(`/${word}`)))
      ) found.push([name, id]);
    }
  }
  for (const [name, id] of found) {
    const hash = options.value("s") ? objects.abbreviate(id, Number(options.value("s"))) : id;
    if (!options.has("q")) context.print(options.has("s") ? `${hash}\n` : `${hash} ${name}\n`);
  }
  return found.length > 0 ? 0 : 1;
};

const forEachRef: GitCommand = (args, repository) => {
  const options = commandOptions(
    args,
    "format=:sort=:count=:s,shell:p,perl:python:tcl:points-at=:merged?:no-merged?:contains?:no-contains?:i,ignore-case",
    {
      refused: [
        "s",
        "p",
        "python",
        "tcl",
        "points-at",
        "merged",
        "no-merged",
        "contains",
        "no-contains",
        "i",
        "sort",
      ],
    },
  );
  const words = allWords(options);
  const format = options.value("format") ?? "%(objectname) %(objecttype)\t%(refname)";
  const found = [...repository.references.list("refs/")].filter(([name]) =>
    words.length === 0 ||
    words.some((word) => name === word || name.startsWith(word.endsWith("/") ? word : `${word}/`))
  ).slice(0, Number(options.value("count") ?? Infinity));
  for (const [full, id] of found) {
    repository.context.print(`${formatReference(repository, format, { full, id })}\n`);
  }
  return 0;
};

const symbolicRef: GitCommand = (args, repository) => {
  const options = commandOptions(args, "q,quiet:d,delete:short:m=", { refused: ["d"] });
  const [name = "HEAD", target] = allWords(options);
  const { references, context } = repository;
  if (target !== undefined) {
    if (name === "HEAD" && !target.startsWith("refs/")) fatal("Refusing to point HEAD outside of refs/");
    references.setSymbolic(name, target);
    return 0;
  }
  const raw = references.raw(name);
  if (!raw?.startsWith("ref: ")) return options.has("q") ? 1 : fatal(`ref ${name} is not a symbolic ref`);
  const full = raw.slice("ref: ".length).trim();
  context.print(`${options.has("short") ? full.replace(/^refs\/(?:heads|tags|remotes)\//, "") : full}\n`);
  return 0;
};

const updateRef: GitCommand = (args, repository) => {
  const options = commandOptions(args, "m=:d:no-deref:z:stdin:create-reflog", {
    refused: ["stdin", "z", "no-deref"],
  });
  const [name, value] = allWords(options);
  if (name === undefined) usage("git update-ref [<options>] <refname> <new-oid> [<old-oid>]");
  if (options.has("d")) {
    repository.references.remove(name);
    return 0;
  }
  const id = value === undefined ? usage("git update-ref <refname> <new-oid>") : revision(repository, value);
  if (name !== "HEAD" && !isReferenceName(name)) fatal(`invalid ref name: ${name}`);
  const message = options.value("m");
  repository.references.update(
    name,
    id,
    message === undefined ? undefined : { who: repository.signature("committer"), message },
  );
  return 0;
};

const revList: GitCommand = (args, repository) => {
  const options = commandOptions(
    args.map((word) => /^-\d+$/.test(word) ? `-n${word.slice(1)}` : word),
    "n,max-count=:skip=:all:count:reverse:first-parent:merges:no-merges:topo-order:date-order:branches:tags:abbrev-commit:objects:parents",
    { refused: ["objects", "parents", "branches", "tags"] },
  );
  const words = options.operands;
  const { objects, context, references } = repository;
  const [starts, excluded]: [string[], string[]] = [[], []];
  for (const word of words) {
    const [, left, dots, right] = /^(.*?)(\.{2,3})(.*)$/s.exec(word) ?? [];
    if (dots !== undefined) {
      const [from, to] = [commitOf(repository, left || "HEAD"), commitOf(repository, right || "HEAD")];
      starts.push(to);
      if (dots.length === 2) excluded.push(from);
      else {
        starts.push(from);
        excluded.push(...mergeBases(repository, from, to));
      }
    } else if (word.startsWith("^")) excluded.push(commitOf(repository, word.slice(1)));
    else starts.push(commitOf(repository, word));
  }
  if (options.has("all")) {
    for (const [name] of references.list("refs/")) starts.push(commitOf(repository, name));
    const head = repository.head();
    if (head !== undefined) starts.push(head);
  }
  if (starts.length === 0) usage("git rev-list [<options>] <commit>... [--] [<path>...]");
  if ((options.paths?.length ?? 0) > 0) refuse("'git rev-list' with paths");
  const walked = walk(repository, {
    starts,
    excluded,
    isFirstParent: options.has("first-parent"),
    isTopological: options.has("topo-order") || options.has("date-order"),
  });
  const skip = Number(options.value("skip") ?? 0);
  const limit = Number(options.value("n") ?? Infinity);
  let ids = [...walked].filter(({ parents }) =>
    (!options.has("merges") || parents.length > 1) && (!options.has("no-merges") || parents.length < 2)
  ).map(({ id }) => id);
  ids = ids.slice(skip, limit < 0 ? undefined : skip + limit);
  if (options.has("reverse")) ids.reverse();
  if (options.has("count")) context.print(`${ids.length}\n`);
  else {for (const id of ids) {
      context.print(`${options.has("abbrev-commit") ? objects.abbreviate(id, objects.digits) : id}\n`);
    }}
  return 0;
};

const mergeBase: GitCommand = (args, repository) => {
  const options = commandOptions(args, "a,all:octopus:is-ancestor:independent:fork-point", {
    refused: ["octopus", "independent", "fork-point"],
  });
  const [one, other, more] = allWords(options);
  if (one === undefined || other === undefined || more !== undefined) {
    usage("git merge-base [-a | --all] <commit> <commit>");
  }
  const [left, right] = [commitOf(repository, one), commitOf(repository, other)];
  if (options.has("is-ancestor")) return isAncestor(repository, left, right) ? 0 : 1;
  const bases = mergeBases(repository, left, right);
  for (const id of options.has("a") ? bases : bases.slice(0, 1)) repository.context.print(`${id}\n`);
  return bases.length > 0 ? 0 : 1;
};

const writeTree: GitCommand = (args, repository) => {
  commandOptions(args, "missing-ok:prefix=", { refused: ["prefix"] });
  const files = [...repository.index.entries].filter(([, entry]) => !entry.isIntent);
  repository.context.print(`${writeTrees(repository.objects, files)}\n`);
  return 0;
};

const commitTree: GitCommand = (args, repository) => {
  const options = commandOptions(args, "p=:m=:F=:S?:no-gpg-sign", { refused: ["S"] });
  const [tree] = allWords(options);
  if (tree === undefined) usage("git commit-tree [-p <parent>...] [-m <message>] [-F <file>] <tree>");
  const { context, objects } = repository;
  const file = options.value("F");
  const message = options.has("m")
    ? options.values("m").map((text) => `${text}\n`).join("\n")
    : file === undefined || file === "-"
    ? context.stdin
    : textOf(context.files.read(pathIn(context.cwd, file)));
  const id = writeCommit(objects, {
    tree: treeOf(repository, tree),
    parents: options.values("p").map((name) => commitOf(repository, name)),
    author: repository.signature("author"),
    committer: repository.signature("committer"),
    message,
  });
  context.print(`${id}\n`);
  return 0;
};

const checkIgnore: GitCommand = (args, repository) => {
  const options = commandOptions(args, "q,quiet:v,verbose:stdin:z:n,non-matching:no-index", {
    refused: ["z"],
  });
  const { context, index } = repository;
  const words = options.has("stdin") ? context.stdin.split("\n").slice(0, -1) : allWords(options);
  if (words.length === 0) fatal("no path specified");
  const rules = new IgnoreRules(repository);
  const work = new WorkTree(repository);
  let found = false;
  for (const word of words) {
    const path = insidePath(repository, word);
    const isFolder = word.endsWith("/") || work.status(path)?.kind === "directory";
    const isTracked = index.entries.has(path) && !options.has("no-index");
    const rule = isTracked ? undefined : decidingRule(path, isFolder);
    const isShown = rule !== undefined && (options.has("v") || !rule.isNegated);
    if (isShown) found = true;
    if (options.has("q")) continue;
    if (isShown && options.has("v")) {
      context.print(`${rule.source}:${rule.line}:${rule.text}\t${quotedPath(word, repository.keepsBytes)}\n`);
    } else if (isShown) context.print(`${quotedPath(word, repository.keepsBytes)}\n`);
    else if (options.has("n") && options.has("v")) {
      context.print(`::\t${quotedPath(word, repository.keepsBytes)}\n`);
    }
  }
  return found ? 0 : 1;

  /** Returns the rule about the highest ignored folder of a path, or else about the path. */
  function decidingRule(path: string, isFolder: boolean) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      const rule = rules.ruleFor(path.slice(0, at), true);
      if (rule && !rule.isNegated) return rule;
    }
    return rules.ruleFor(path, isFolder);
  }
};

/** Commands that scripts use. */
export const LISTING_COMMANDS: Readonly<Record<string, GitCommand>> = {
  "check-ignore": checkIgnore,
  "commit-tree": commitTree,
  "for-each-ref": forEachRef,
  "ls-files": lsFiles,
  "ls-tree": lsTree,
  "merge-base": mergeBase,
  "rev-list": revList,
  "rev-parse": revParse,
  "show-ref": showRef,
  "symbolic-ref": symbolicRef,
  "update-ref": updateRef,
  "write-tree": writeTree,
};
