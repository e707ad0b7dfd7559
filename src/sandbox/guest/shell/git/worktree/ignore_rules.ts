import { pathIn, statusOf, textOf } from "../../gnu/command.ts";
import type { Repository } from "../store/repository.ts";
import { wildmatch } from "./wildmatch.ts";

/** A line of an ignore file. */
export interface IgnoreRule {
  /** The file as messages name it, its line number and the line. */
  readonly source: string;
  readonly line: number;
  readonly text: string;
  readonly isNegated: boolean;
  readonly isFolderOnly: boolean;
  /** Matches the path below the folder of the file, or only the last name. */
  readonly matchesPath: boolean;
  readonly pattern: RegExp;
}

/** The rules of a repository about files that are not to be added. */
export class IgnoreRules {
  readonly #repository: Repository;
  readonly #common: readonly IgnoreRule[];
  readonly #byFolder = new Map<string, readonly IgnoreRule[]>();
  readonly #folders = new Map<string, boolean>();

  constructor(repository: Repository, given: readonly string[] = []) {
    this.#repository = repository;
    const { gitFolder, config, context } = repository;
    const home = context.variables["HOME"] ?? "/";
    const named = config.get("core.excludesfile")?.replace(/^~(?=\/|$)/, home);
    const xdg = context.variables["XDG_CONFIG_HOME"] ?? `${home}/.config`;
    const global = named === undefined ? `${xdg}/git/ignore` : pathIn(context.cwd, named);
    this.#common = [
      ...this.#readFile(global, global),
      ...this.#readFile(`${gitFolder}/info/exclude`, ".git/info/exclude"),
      ...given.flatMap((text, at) => readRule(text, "", at + 1) ?? []),
    ];
  }

  /** True if a path or a folder above it is ignored. */
  isIgnored(path: string, isFolder: boolean): boolean {
    const slash = path.lastIndexOf("/");
    if (slash >= 0) {
      const folder = path.slice(0, slash);
      const known = this.#folders.get(folder) ?? this.isIgnored(folder, true);
      this.#folders.set(folder, known);
      if (known) return true;
    }
    const rule = this.ruleFor(path, isFolder);
    return rule !== undefined && !rule.isNegated;
  }

  /** Returns the rule that decides about a path, with no regard to the folders above. */
  ruleFor(path: string, isFolder: boolean): IgnoreRule | undefined {
    for (let folder = folderOf(path);; folder = folderOf(folder)) {
      const inside = folder === "" ? path : path.slice(folder.length + 1);
      const found = findRule(this.#rulesOf(folder), inside, isFolder);
      if (found) return found;
      if (folder === "") return findRule(this.#common, path, isFolder);
    }
  }

  #rulesOf(folder: string): readonly IgnoreRule[] {
    const known = this.#byFolder.get(folder);
    if (known) return known;
    const name = folder === "" ? ".gitignore" : `${folder}/.gitignore`;
    const rules = this.#readFile(this.#repository.absolute(name), name);
    this.#byFolder.set(folder, rules);
    return rules;
  }

  #readFile(path: string, source: string): IgnoreRule[] {
    const { files } = this.#repository;
    if (statusOf(files, path, { follow: source !== ".gitignore" })?.kind !== "file") return [];
    return textOf(files.read(path)).split("\n").flatMap((line, at) => readRule(line, source, at + 1) ?? []);
  }
}

function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
}

/** Returns the last rule that matches a path. */
export function findRule(
  rules: readonly IgnoreRule[],
  path: string,
  isFolder: boolean,
): IgnoreRule | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return rules.findLast((rule) =>
    (!rule.isFolderOnly || isFolder) && rule.pattern.test(rule.matchesPath ? path : name)
  );
}

/** Reads a line of an ignore file; `undefined` if it holds no rule. */
export function readRule(
  line: string,
  source: string,
  number: number,
  { ignoresCase = false }: { ignoresCase?: boolean } = {},
): IgnoreRule | undefined {
  let text = line.replace(/\r$/, "");
  if (text.startsWith("#")) return undefined;
  text = text.replace(/((?:^|[^\\])(?:\\\\)*(?:\\ )?) +$/, "$1");
  if (text === "") return undefined;
  const isNegated = text.startsWith("!");
  let pattern = isNegated ? text.slice(1) : text;
  const isFolderOnly = pattern.endsWith("/");
  if (isFolderOnly) pattern = pattern.slice(0, -1);
  const matchesPath = pattern.includes("/");
  return {
    source,
    line: number,
    text,
    isNegated,
    isFolderOnly,
    matchesPath,
    pattern: wildmatch(pattern.replace(/^\//, ""), { isPath: true, ignoresCase }),
  };
}
