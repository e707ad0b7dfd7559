import { byteText, pathIn, unicodeText } from "../../gnu/command.ts";
import { fatal } from "../store/git_error.ts";
import type { Repository } from "../store/repository.ts";
import { isPattern, wildmatch } from "./wildmatch.ts";

interface Item {
  /** The text as it was given. */
  readonly given: string;
  /** Path relative to the top, without a slash at the end. Empty for everything. */
  readonly path: string;
  readonly isExcluded: boolean;
  readonly isFolder: boolean;
  readonly pattern: RegExp | undefined;
  /** The folder of the pattern in which nothing is a pattern. */
  readonly base: string;
}

/** Paths and patterns that choose files. Without any, all files are chosen. */
export class PathSpec {
  readonly #items: readonly Item[];
  readonly #used = new Set<Item>();

  constructor(repository: Repository, words: readonly string[]) {
    this.#items = words.map((word) => readItem(repository, word));
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** True if a file is chosen. */
  matches(path: string): boolean {
    const wanted = this.#items.filter(({ isExcluded }) => !isExcluded);
    const found = wanted.filter((item) => matchesItem(item, path));
    for (const item of found) this.#used.add(item);
    if (wanted.length > 0 && found.length === 0) return false;
    return !this.#items.some((item) => item.isExcluded && matchesItem(item, path));
  }

  /** True if files in a folder may be chosen. */
  mayMatchIn(folder: string): boolean {
    const wanted = this.#items.filter(({ isExcluded }) => !isExcluded);
    return wanted.length === 0 || wanted.some((item) => {
      const at = item.pattern ? item.base : item.path;
      return at === "" || at === folder || at.startsWith(`${folder}/`) || folder.startsWith(`${at}/`);
    });
  }

  /** True if all files in a folder are chosen. */
  matchesWhole(folder: string): boolean {
    if (this.#items.some(({ isExcluded }) => isExcluded)) return false;
    return this.#items.length === 0 || this.#items.some((item) => matchesItem(item, folder));
  }

  /** Returns the words that matched nothing so far. */
  unused(): string[] {
    return this.#items.filter((item) => !item.isExcluded && !this.#used.has(item)).map(({ given }) => given);
  }

  /** Returns the paths that are given without a pattern. */
  literals(): { given: string; path: string }[] {
    return this.#items.filter((item) => !item.isExcluded && !item.pattern);
  }
}

function matchesItem({ path, pattern, isFolder }: Item, name: string): boolean {
  if (path === "" || name.startsWith(`${path}/`)) return true;
  if (name === path) return !isFolder;
  return pattern?.test(name) === true;
}

const MAGIC: Readonly<Record<string, string>> = { "/": "top", "!": "exclude", "^": "exclude" };

function readItem(repository: Repository, word: string): Item {
  const [, long, short = "", given = word] = /^:(?:\(([^)]*)\)|([/!^]*):?)(.*)$/s.exec(word) ?? [];
  const magic = new Set(
    long !== undefined
      ? long.split(",").filter((name) => name !== "")
      : [...short].map((sign) => MAGIC[sign] ?? ""),
  );
  for (const name of magic) {
    if (!["top", "exclude", "glob", "literal", "icase"].includes(name)) {
      fatal(`Invalid pathspec magic '${name}' in '${word}'`);
    }
  }
  if (given === "" && word === "") {
    fatal("empty string is not a valid pathspec. please use . instead if you meant to match all paths");
  }
  const prefix = magic.has("top") ? "" : repository.prefix;
  const path = insidePath(repository, given, prefix);
  const isGlob = !magic.has("literal") && isPattern(path);
  const ignoresCase = magic.has("icase");
  const literal = /^[^*?[\\]*/.exec(path)?.[0] ?? "";
  return {
    given: word,
    path,
    isExcluded: magic.has("exclude"),
    isFolder: given.endsWith("/"),
    pattern: isGlob || ignoresCase ? wildmatch(path, { isPath: magic.has("glob"), ignoresCase }) : undefined,
    base: ignoresCase ? "" : literal.slice(0, Math.max(0, literal.lastIndexOf("/"))),
  };
}

/** Returns the path from the top to what a word names. Ends the command if that is outside. */
export function insidePath(repository: Repository, word: string, prefix = repository.prefix): string {
  const top = repository.top ?? "/";
  const start = top === "/" ? "" : byteText(top);
  const absolute = word.startsWith("/") ? word : `${start}/${prefix}${word}`;
  const path = byteText(pathIn("/", absolute));
  if (path === byteText(top)) return "";
  if (!path.startsWith(`${start}/`)) {
    fatal(`${unicodeText(word)}: '${unicodeText(word)}' is outside repository at '${top}'`);
  }
  return path.slice(start.length + 1);
}

/** Returns the path of a file as it is named from the working directory. */
export function relativeName(repository: Repository, path: string): string {
  const from = repository.prefix.split("/").filter((part) => part !== "");
  const to = path.split("/");
  let shared = 0;
  while (shared < from.length && shared < to.length - 1 && from[shared] === to[shared]) shared++;
  const isSelf = shared === from.length - 1 && to.length === shared + 2 && to[shared + 1] === "" &&
    from[shared] === to[shared];
  if (isSelf) return "./";
  return [...from.slice(shared).map(() => ".."), ...to.slice(shared)].join("/");
}
