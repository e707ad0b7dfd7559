/** What the engine knows of a pattern of paths. */
export interface PatternSettings {
  readonly cwd: string;
  readonly globstar: boolean;
  readonly dotglob: boolean;
  readonly hasGlobignore: boolean;
  /** Compares a name with a pattern without slashes. */
  matchPattern(name: string, pattern: string): boolean;
  /** True if a text without slashes may match other names than itself. */
  hasGlobChars(text: string): boolean;
  /** Counts a read of a folder. Throws if there were too many. */
  checkOpsLimit(): void;
}

/** The files among which paths are looked for. */
export interface PatternFiles {
  /** Names in a folder, in order; none if the path is no folder. */
  names(path: string): readonly string[];
  /** Kind of a file, or `undefined` if there is none. */
  kindOf(path: string, options: { readonly follow: boolean }): "directory" | "other" | undefined;
}

const RECURSIVE = "**";

/** Returns the text of a pattern that matches itself only. */
export function literalOf(pattern: string): string {
  return pattern.replace(/\\(.)/gs, "$1");
}

/**
 * Returns the paths that match a pattern, by name. A pattern that ends with a slash matches folders, and the paths end
 * with a slash.
 */
export function pathNames(pattern: string, settings: PatternSettings, files: PatternFiles): string[] {
  const search = new PatternSearch(settings, files);
  search.visit(pattern.match(/\/+|[^/]+/g) ?? [], "", settings.cwd);
  return [...search.found].sort();
}

class PatternSearch {
  readonly found = new Set<string>();
  readonly #settings: PatternSettings;
  readonly #files: PatternFiles;

  constructor(settings: PatternSettings, files: PatternFiles) {
    this.#settings = settings;
    this.#files = files;
  }

  /** Adds the paths that match the parts of a pattern, which are names and slashes, in a folder. */
  visit(parts: readonly string[], shown: string, folder: string): void {
    const [part, ...rest] = parts;
    if (part === undefined) {
      if (shown !== "") this.found.add(shown);
      return;
    }
    if (part.startsWith("/")) return this.#enter(rest, shown + part, shown === "" ? "/" : folder);
    if (part === RECURSIVE && this.#settings.globstar) return this.#visitTree(rest, shown, folder);
    for (const name of this.#namesOf(part, folder)) {
      this.visit(rest, shown + name, joined(folder, name));
    }
  }

  #enter(rest: readonly string[], shown: string, folder: string): void {
    if (this.#files.kindOf(folder, { follow: true }) === "directory") this.visit(rest, shown, folder);
  }

  #namesOf(part: string, folder: string): readonly string[] {
    const { matchPattern, hasGlobChars } = this.#settings;
    const simple = part.replace(/\\.|\*+/gs, (signs) => signs.startsWith("*") ? "*" : signs);
    if (!hasGlobChars.call(this.#settings, simple)) {
      const name = literalOf(part);
      return this.#files.kindOf(joined(folder, name), { follow: false }) === undefined ? [] : [name];
    }
    return this.#visibleNames(folder, simple).filter((name) =>
      matchPattern.call(this.#settings, name, simple)
    );
  }

  #visibleNames(folder: string, pattern: string): readonly string[] {
    const { dotglob, hasGlobignore } = this.#settings;
    this.#settings.checkOpsLimit();
    const showsHidden = dotglob || hasGlobignore || /^\\?\./.test(pattern);
    return this.#files.names(folder).filter((name) => showsHidden || !name.startsWith("."));
  }

  /** Adds what matches the parts behind `**` in a folder and in all folders below it. */
  #visitTree(rest: readonly string[], shown: string, folder: string, isTop = true): void {
    if (rest.length > 0) this.visit(rest.slice(1), shown, folder);
    else if (isTop) this.visit([], shown, folder);
    for (const name of this.#visibleNames(folder, "")) {
      const path = joined(folder, name);
      const isFolder = this.#files.kindOf(path, { follow: false }) === "directory";
      if (rest.length === 0) this.found.add(shown + name);
      if (isFolder) this.#visitTree(rest, `${shown}${name}/`, path, false);
    }
  }
}

function joined(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}
