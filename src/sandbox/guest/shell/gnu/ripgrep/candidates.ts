import {
  byteText,
  type CommandContext,
  type CommandFiles,
  errorText,
  pathOf,
  statusOf,
  textOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { findRule, type IgnoreRule, readRule } from "../../git/worktree/ignore_rules.ts";
import { wildmatch } from "../../git/worktree/wildmatch.ts";
import { TROUBLE } from "./expression.ts";
import type { RipgrepSettings } from "./settings.ts";

/** A file to search. */
export interface Candidate {
  /** The file's name in the output. */
  readonly name: string;
  readonly path: string;
  /** Whether an argument names the file, so that no rule leaves it out. */
  readonly isNamed: boolean;
}

/** Names of ignore files, the most important first. Ignore files of git count only within a repository. */
const IGNORE_FILES = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"] as const;

interface FolderRules {
  readonly path: string;
  readonly hasGit: boolean;
  /** The rules of each of the ignore files. */
  readonly lists: readonly (readonly IgnoreRule[])[];
}

/** Finds the files that a call of `rg` searches. */
export class Candidates {
  readonly #settings: RipgrepSettings;
  readonly #context: CommandContext;
  readonly #files: CommandFiles;
  readonly #globs: readonly IgnoreRule[];
  readonly #hasWanted: boolean;
  readonly #wantedTypes: readonly RegExp[];
  readonly #unwantedTypes: readonly RegExp[];
  readonly #explicit: readonly IgnoreRule[];
  readonly #global: readonly IgnoreRule[];
  readonly #fail: (name: string, message: string) => void;

  constructor(
    settings: RipgrepSettings,
    context: CommandContext,
    fail: (name: string, message: string) => void,
  ) {
    this.#settings = settings;
    this.#context = context;
    this.#files = context.files;
    this.#fail = fail;
    const { options, types } = settings;
    this.#globs = options.given.flatMap(({ name, value }) =>
      name === "g" || name === "iglob" ? readGlob(value, name === "iglob") : []
    );
    this.#hasWanted = this.#globs.some(({ isNegated }) => !isNegated);
    const globsOf = (name: string) =>
      options.values(name).flatMap((type) => types.globs(type) ?? (type === "all" ? ["*"] : [])).map(globOf);
    this.#wantedTypes = globsOf("t");
    this.#unwantedTypes = globsOf("T");
    this.#explicit = options.values("ignore-file").flatMap((name) => this.#read(pathOf(context.cwd, name)));
    const home = context.variables["HOME"] ?? "/";
    const configuration = context.variables["XDG_CONFIG_HOME"] ?? `${home}/.config`;
    this.#global = this.#respects("global") ? this.#read(`${configuration}/git/ignore`) : [];
  }

  /** Yields the files of a path in the order of their names. */
  *of(name: string, prefix: string): Generator<Candidate> {
    const path = pathOf(this.#context.cwd, name);
    const status = statusOf(this.#files, path);
    if (!status) {
      this.#fail(name, `IO error for operation on ${name}: No such file or directory (os error 2)`);
    } else if (status.kind === "directory") {
      yield* this.#walk(path, prefix, 1, this.#above(path));
    } else yield { name, path, isNamed: true };
  }

  *#walk(folder: string, prefix: string, depth: number, above: readonly FolderRules[]): Generator<Candidate> {
    const { options, maxDepth, maxBytes } = this.#settings;
    if (depth > maxDepth) return;
    this.#context.poll();
    const chain = [this.#rulesOf(folder), ...above];
    for (const entry of this.#names(folder)) {
      const path = `${folder === "/" ? "" : folder}/${unicodeText(entry)}`;
      const status = statusOf(this.#files, path, { follow: options.has("L") });
      if (!status || status.kind === "link" || status.kind === "device") continue;
      const isFolder = status.kind === "directory";
      if (this.#leavesOut(path, entry, isFolder, chain)) continue;
      const name = prefix + entry;
      if (isFolder) yield* this.#walk(path, `${name}/`, depth + 1, chain);
      else if (status.size <= maxBytes) yield { name, path, isNamed: false };
    }
  }

  #names(folder: string): string[] {
    try {
      return this.#files.names(folder).toSorted();
    } catch (error) {
      this.#fail(folder, errorText(error));
      return [];
    }
  }

  /** Whether ignore files of a kind count. */
  #respects(kind: "dot" | "vcs" | "exclude" | "global" | "parent"): boolean {
    const { options, unrestricted } = this.#settings;
    const last = options.given.findLast(({ name }) => name === "no-ignore" || name === "ignore")?.name;
    if (unrestricted > 0 || last === "no-ignore" || options.has(`no-ignore-${kind}`)) return false;
    return kind === "exclude" || kind === "global" ? !options.has("no-ignore-vcs") : true;
  }

  #above(path: string): FolderRules[] {
    if (!this.#respects("parent")) return [];
    const chain: FolderRules[] = [];
    for (let folder = path; folder !== "/";) {
      folder = folder.slice(0, Math.max(1, folder.lastIndexOf("/")));
      chain.push(this.#rulesOf(folder));
    }
    return chain;
  }

  #rulesOf(folder: string): FolderRules {
    const base = folder === "/" ? "" : folder;
    const kinds = ["dot", "dot", "vcs", "exclude"] as const;
    return {
      path: folder,
      hasGit: statusOf(this.#files, `${base}/.git`) !== undefined,
      lists: IGNORE_FILES.map((name, at) =>
        this.#respects(kinds[at] ?? "dot") ? this.#read(`${base}/${name}`) : []
      ),
    };
  }

  #read(path: string): IgnoreRule[] {
    if (statusOf(this.#files, path)?.kind !== "file") return [];
    return textOf(this.#files.read(path)).split("\n").flatMap((line) => rulesOfLine(line));
  }

  #leavesOut(path: string, name: string, isFolder: boolean, chain: readonly FolderRules[]): boolean {
    const glob = findRule(this.#globs, relativePath(path, this.#context.cwd), isFolder);
    if (glob) return glob.isNegated;
    if (this.#hasWanted && !isFolder) return true;
    const rule = this.#ruleFor(path, isFolder, chain);
    if (rule && !rule.isNegated) return true;
    if (!isFolder && this.#unwantedTypes.some((type) => type.test(name))) return true;
    const isWanted = !isFolder && this.#wantedTypes.some((type) => type.test(name));
    if (!isFolder && this.#wantedTypes.length > 0 && !isWanted) return true;
    const { options, unrestricted } = this.#settings;
    return name.startsWith(".") && !rule && !isWanted && !options.has("hidden") && unrestricted < 2;
  }

  /** Returns the rule of the ignore files that decides about a path. */
  #ruleFor(path: string, isFolder: boolean, chain: readonly FolderRules[]): IgnoreRule | undefined {
    const isInGit = this.#settings.options.has("no-require-git") || chain.some(({ hasGit }) => hasGit);
    for (const [at, name] of IGNORE_FILES.entries()) {
      const isOfGit = name.startsWith(".git");
      if (isOfGit && !isInGit) continue;
      for (const { path: folder, lists, hasGit } of chain) {
        const found = findRule(lists[at] ?? [], relativePath(path, folder), isFolder);
        if (found) return found;
        if (isOfGit && hasGit) break;
      }
    }
    const inside = relativePath(path, this.#context.cwd);
    return (isInGit ? findRule(this.#global, inside, isFolder) : undefined) ??
      findRule(this.#explicit, inside, isFolder);
  }
}

/** Returns the byte text of a path below a folder. */
function relativePath(path: string, folder: string): string {
  const base = folder === "/" ? "/" : `${folder}/`;
  return byteText(path.startsWith(base) ? path.slice(base.length) : path);
}

function rulesOfLine(line: string, options?: { ignoresCase: boolean }): IgnoreRule[] {
  return expandBraces(line).flatMap((text) => readRule(text, "", 0, options) ?? []);
}

/** Reads a glob of `-g`, in which `!` leaves out. A rule that is negated leaves a file out here. */
function readGlob(glob: string, ignoresCase: boolean): IgnoreRule[] {
  if (/\[[^\]]*$/.test(glob.replace(/\\./g, ""))) {
    throw new UsageError(`error parsing glob '${glob}': unclosed character class; missing ']'`, {
      exitCode: TROUBLE,
      hasHint: false,
    });
  }
  return rulesOfLine(glob, { ignoresCase });
}

function globOf(glob: string): RegExp {
  return wildmatch(glob, { isPath: false });
}

/** Returns the globs that a glob with `{a,b}` stands for. */
function expandBraces(glob: string): string[] {
  const found = /^((?:\\.|[^\\{])*)\{((?:\\.|[^\\{}])*)\}(.*)$/s.exec(glob);
  if (!found) return [glob];
  const [, head = "", inside = "", tail = ""] = found;
  return inside.split(",").flatMap((part) => expandBraces(head + part + tail));
}
