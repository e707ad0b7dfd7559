import { type CommandContext, type CommandFiles, pathIn, statusOf, textOf } from "../../gnu/command.ts";
import { byteText } from "../../gnu/command.ts";
import { parseDate } from "../../gnu/date.ts";
import { zoneOf } from "../../gnu/time_zone.ts";
import type { Signature } from "./commit_object.ts";
import { ConfigFile, normalKey, readBoolean, type Setting } from "./config_file.ts";
import { fatal, GitError } from "./git_error.ts";
import { IndexFile } from "./index_file.ts";
import { ObjectStore } from "./object_store.ts";
import { References } from "./references.ts";

/** Settings that a command line gives, and the repository that it names. */
export interface GlobalOptions {
  readonly settings: readonly Setting[];
  readonly gitFolder?: string;
  readonly workTree?: string;
}

/** Settings of all files, of variables and of the command line. */
export class Config {
  readonly local: ConfigFile | undefined;
  readonly global: ConfigFile;
  readonly system: ConfigFile;
  readonly given: readonly Setting[];

  constructor(
    { files, variables, cwd }: CommandContext,
    { given, gitFolder }: { given: readonly Setting[]; gitFolder: string | undefined },
  ) {
    const named = variables["GIT_CONFIG_GLOBAL"];
    const home = variables["HOME"] ?? "/";
    const xdg = `${variables["XDG_CONFIG_HOME"] ?? `${home}/.config`}/git/config`;
    const usual = `${home}/.gitconfig`;
    const chosen = statusOf(files, usual) || !statusOf(files, xdg) ? usual : xdg;
    this.global = new ConfigFile(files, named === undefined ? chosen : pathIn(cwd, byteText(named)));
    this.system = new ConfigFile(files, variables["GIT_CONFIG_NOSYSTEM"] ? "/dev/null" : "/etc/gitconfig");
    this.local = gitFolder === undefined ? undefined : new ConfigFile(files, `${gitFolder}/config`);
    const count = Number(variables["GIT_CONFIG_COUNT"] ?? 0);
    const ofVariables = Array.from({ length: count }, (_, at) => ({
      key: normalKey(variables[`GIT_CONFIG_KEY_${at}`] ?? "") ?? "",
      value: byteText(variables[`GIT_CONFIG_VALUE_${at}`] ?? ""),
    }));
    this.given = [...ofVariables, ...given];
  }

  settings(): Setting[] {
    const files = [this.system, this.global, ...this.local ? [this.local] : []];
    return [...files.flatMap((file) => file.settings()), ...this.given];
  }

  /** Returns the last value of a key. */
  get(key: string): string | undefined {
    return this.settings().findLast((setting) => setting.key === key)?.value;
  }

  has(key: string): boolean {
    return this.settings().some((setting) => setting.key === key);
  }

  /** Returns a truth value. Ends the command if it is none. */
  flag(key: string, missing: boolean): boolean {
    if (!this.has(key)) return missing;
    const value = this.get(key);
    return readBoolean(value) ?? fatal(`bad boolean config value '${value}' for '${key}'`);
  }
}

/** A repository with its work tree. */
export class Repository {
  readonly context: CommandContext;
  readonly files: CommandFiles;
  /** Absolute path of `.git`. */
  readonly gitFolder: string;
  /** Absolute path of the work tree, absent for a bare repository. */
  readonly top: string | undefined;
  readonly config: Config;
  readonly objects: ObjectStore;
  readonly references: References;
  #index: IndexFile | undefined;

  constructor(
    context: CommandContext,
    { gitFolder, top, given }: { gitFolder: string; top: string | undefined; given: readonly Setting[] },
  ) {
    this.context = context;
    this.files = context.files;
    this.gitFolder = gitFolder;
    this.config = new Config(context, { given, gitFolder });
    this.#requireKnownFormat();
    this.top = this.config.flag("core.bare", false) ? undefined : top;
    this.objects = new ObjectStore(context.files, `${gitFolder}/objects`);
    this.references = new References(context.files, gitFolder);
  }

  get index(): IndexFile {
    const named = this.context.variables["GIT_INDEX_FILE"];
    const path = named === undefined ? `${this.gitFolder}/index` : pathIn(this.context.cwd, byteText(named));
    this.#index ??= new IndexFile(this.files, path);
    return this.#index;
  }

  /** Path of the working directory relative to the top, such as `src/`, empty at the top. */
  get prefix(): string {
    const { cwd } = this.context;
    const top = this.top ?? "/";
    if (cwd === top) return "";
    const inside = top === "/" ? cwd.slice(1) : cwd.slice(top.length + 1);
    return `${byteText(inside)}/`;
  }

  /** Whether bytes above 0x7f of names are printed as they are. */
  get keepsBytes(): boolean {
    return this.config.has("core.quotepath") && !this.config.flag("core.quotepath", true);
  }

  /** Returns the absolute path of a file of the work tree. */
  absolute(path: string): string {
    return pathIn(this.top ?? "/", path);
  }

  /** Returns the commit of `HEAD`, absent before the first commit. */
  head(): string | undefined {
    return this.references.resolve("HEAD");
  }

  /** Ends the command if there is no work tree. */
  requireWorkTree(): void {
    if (this.top === undefined) fatal("this operation must be run in a work tree");
  }

  /** Returns the signature of an author or a committer. Ends the command if its name or address is unknown. */
  signature(role: "author" | "committer"): Signature {
    const { variables, files } = this.context;
    const upper = role.toUpperCase();
    const fromVariable = (variable: string) => {
      const text = variables[variable];
      return text === undefined ? undefined : byteText(text);
    };
    const value = (part: "name" | "email") =>
      fromVariable(`GIT_${upper}_${part.toUpperCase()}`) ??
        this.config.get(`${role}.${part}`) ?? this.config.get(`user.${part}`) ??
        (part === "email" ? fromVariable("EMAIL") : undefined);
    const [name, email] = [value("name"), value("email")];
    if (name === undefined || email === undefined || name === "") {
      throw new GitError(unknownIdentity(role, email), { kind: "", exitCode: 128 });
    }
    const zone = zoneOf({ files, variables });
    const date = variables[`GIT_${upper}_DATE`];
    const { seconds, offset } = date === undefined
      ? { seconds: Math.floor(Date.now() / 1000), offset: zone(Date.now()).minutes }
      : readDate(date, { nowMs: Date.now(), zone }) ?? fatal(`invalid date format: ${date}`);
    const clean = (text: string) => text.replace(/[<>\n]/g, "").trim();
    return { name: clean(name), email: clean(email), seconds, offset };
  }

  #requireKnownFormat(): void {
    const version = this.config.local?.settings().find(({ key }) => key === "core.repositoryformatversion");
    if (version && Number(version.value) > 1) fatal(`expected git repo version <= 1, found ${version.value}`);
    const format = this.config.get("extensions.objectformat") ?? "sha1";
    if (format !== "sha1") fatal(`repositories with ${format} are not available in the sandbox`);
  }
}

/** Finds the repository of the working directory, as the command line, variables and the folders above say. */
export function findRepository(context: CommandContext, options: GlobalOptions): Repository | undefined {
  const { files, cwd, variables } = context;
  const given = options.settings;
  const named = options.gitFolder ?? variables["GIT_DIR"];
  const namedTree = options.workTree ?? variables["GIT_WORK_TREE"];
  const topOf = (fallback: string | undefined) =>
    namedTree === undefined ? fallback : pathIn(cwd, byteText(namedTree));
  if (named !== undefined) {
    const gitFolder = pathIn(cwd, byteText(named));
    if (!isRepository(files, gitFolder)) fatal(`not a git repository: '${named}'`);
    return new Repository(context, { gitFolder, top: topOf(cwd), given });
  }
  for (let at = cwd;; at = at.slice(0, at.lastIndexOf("/")) || "/") {
    const inner = at === "/" ? "/.git" : `${at}/.git`;
    const status = statusOf(files, inner);
    if (status?.kind === "file") {
      const [, target] = /^gitdir: (.*)/.exec(textOf(files.read(inner))) ?? [];
      if (target === undefined) fatal(`invalid gitfile format: ${inner}`);
      return new Repository(context, { gitFolder: pathIn(at, target), top: topOf(at), given });
    }
    if (isRepository(files, inner)) {
      return new Repository(context, { gitFolder: inner, top: topOf(at), given });
    }
    if (isRepository(files, at)) {
      return new Repository(context, { gitFolder: at, top: topOf(undefined), given });
    }
    if (at === "/") return undefined;
  }
}

function isRepository(files: CommandFiles, path: string): boolean {
  return statusOf(files, `${path}/objects`)?.kind === "directory" &&
    statusOf(files, `${path}/refs`)?.kind === "directory" &&
    statusOf(files, `${path}/HEAD`, { follow: false }) !== undefined;
}

/** Reads a date as variables and options give it: seconds with an offset, or text. */
export function readDate(
  text: string,
  { nowMs, zone }: { nowMs: number; zone: ReturnType<typeof zoneOf> },
): { seconds: number; offset: number } | undefined {
  const [, seconds, sign, hours, minutes] = /^@?(\d+)(?: ([-+])(\d\d):?(\d\d))?$/.exec(text.trim()) ?? [];
  if (seconds !== undefined && (text.startsWith("@") || seconds.length > 8 || sign !== undefined)) {
    const offset = sign === undefined
      ? zone(Number(seconds) * 1000).minutes
      : (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1);
    return { seconds: Number(seconds), offset };
  }
  const words = text.trim().replace(/\.(?=second|minute|hour|day|week|month|year|ago)/g, " ");
  const timeMs = parseDate(words, nowMs, zone);
  if (timeMs === undefined) return undefined;
  const [, given, ahead, behind] = /\d([-+])(\d\d):?(\d\d)\s*$/.exec(text) ??
    /\s([-+])(\d\d):?(\d\d)(?:\s|$)/.exec(text) ?? [];
  const offset = given === undefined
    ? /Z\s*$|\bUTC\b|\bGMT\b/.test(text) ? 0 : zone(timeMs).minutes
    : (Number(ahead) * 60 + Number(behind)) * (given === "-" ? -1 : 1);
  return { seconds: Math.floor(timeMs / 1000), offset };
}

function unknownIdentity(role: "author" | "committer", email: string | undefined): string {
  const title = role === "author" ? "Author" : "Committer";
  const missing = email === undefined ? "email address" : "name";
  const found = email === undefined ? "got 'pyodide@localhost.(none)'" : `no name was given`;
  return `${title} identity unknown\n\n*** Please tell me who you are.\n\nRun\n\n` +
    '  git config --global user.email "you@example.com"\n  git config --global user.name "Your Name"\n\n' +
    "to set your account's default identity.\nOmit --global to set the identity only in this repository.\n\n" +
    `fatal: unable to auto-detect ${missing} (${found})`;
}
