import {
  type CommandContext,
  errorText,
  type FileStatus,
  type GnuCommand,
  pathOf,
  statusOf,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { Answers, baseName, childOf, fail, folderName, quoted, readTransfer, refuse } from "./operands.ts";
import { resolvePath } from "./resolve.ts";

const CP_OPTIONS =
  "a,archive:attributes-only:backup?:b:copy-contents:d:debug:f,force:i,interactive:H:l,link:" +
  "L,dereference:n,no-clobber:P,no-dereference:p:preserve?:no-preserve=:parents:R,r,recursive:reflink?:" +
  "remove-destination:sparse=:strip-trailing-slashes:s,symbolic-link:S,suffix=:t,target-directory=:" +
  "T,no-target-directory:u,update?:v,verbose:x,one-file-system:Z:context?";
const MV_OPTIONS =
  "backup?:b:debug:f,force:i,interactive:n,no-clobber:no-copy:strip-trailing-slashes:S,suffix=:" +
  "t,target-directory=:T,no-target-directory:u,update?:v,verbose:Z,context";
const MAX_DEPTH = 200;

/** `cp` of GNU coreutils 9.1. */
export const cp: GnuCommand = (args, context) => {
  const options = parseOptions(args.flatMap(splitUpdate), CP_OPTIONS);
  refuse(options, ["b", "backup", "S", "l", "attributes-only", "copy-contents"]);
  const { sources, target, isInto } = readTransfer(options, context);
  const copier = new Copier(options, context);
  const { files, cwd } = context;
  if (options.has("parents") && !isInto) fail("with --parents, the destination must be a directory");
  for (const given of sources) {
    const source = options.has("strip-trailing-slashes") ? given.replace(/(.)\/+$/, "$1") : given;
    if (options.has("parents")) {
      copier.copyWithParents(source, target);
      continue;
    }
    const base = baseName(source);
    const name = isInto && base !== "." && base !== ".." && base !== "/" ? childOf(target, base) : target;
    if (!isInto && name.endsWith("/") && statusOf(files, pathOf(cwd, source))?.kind === "file") {
      copier.complain(`cannot create regular file ${quoted(name)}: Not a directory`);
      continue;
    }
    copier.copy(source, name, { isOperand: true });
  }
  return copier.failed ? 1 : 0;
};

/** `-u` takes no value, while `--update` may. */
function splitUpdate(word: string): string[] {
  return /^-[a-zA-Z]*u[a-zA-Z]*$/.test(word) && !word.startsWith("--") && !/[tS]/.test(word)
    ? [word.replace("u", ""), "--update"].filter((part) => part !== "-")
    : [word];
}

class Copier {
  failed = false;
  readonly #options: ParsedOptions;
  readonly #context: CommandContext;
  readonly #answers: Answers;
  readonly #isRecursive: boolean;
  readonly #keepsMode: boolean;
  readonly #keepsTime: boolean;
  readonly #follows: "always" | "operands" | "never";
  readonly #made = new Set<string>();

  constructor(options: ParsedOptions, context: CommandContext) {
    this.#options = options;
    this.#context = context;
    this.#answers = new Answers(context);
    this.#isRecursive = options.has("R") || options.has("a");
    const kept = options.has("p") || options.has("a") ? ["mode", "timestamps"] : [];
    for (const value of options.values("preserve")) {
      kept.push(...value === "" ? ["mode", "timestamps"] : value.split(","));
    }
    const dropped = options.values("no-preserve").flatMap((value) => value.split(","));
    const keeps = (word: string) =>
      (kept.includes(word) || kept.includes("all")) && !dropped.includes(word) && !dropped.includes("all");
    this.#keepsMode = keeps("mode");
    this.#keepsTime = keeps("timestamps");
    const last = options.given.findLast(({ name }) => ["L", "P", "d", "H", "a"].includes(name))?.name;
    this.#follows = last === "L"
      ? "always"
      : last === "H"
      ? "operands"
      : last !== undefined || this.#isRecursive
      ? "never"
      : "always";
  }

  complain(message: string): void {
    this.#context.warn(message);
    this.failed = true;
  }

  /** Copies a file with the folders that its name states. */
  copyWithParents(source: string, target: string): void {
    const { files, cwd, print } = this.#context;
    const parts = folderName(source).split("/").filter((part) => part !== "" && part !== ".");
    let from = source.startsWith("/") ? "" : ".";
    let folder = target;
    for (const part of parts) {
      from = from === "." ? part : childOf(from, part);
      folder = childOf(folder, part);
      if (statusOf(files, pathOf(cwd, folder))) continue;
      try {
        const { mode } = files.status(pathOf(cwd, from));
        files.makeDirectory(pathOf(cwd, folder));
        files.setMode(pathOf(cwd, folder), mode & ~files.umask());
        if (this.#options.has("v")) print(`${from} -> ${folder}\n`);
      } catch (error) {
        return this.complain(`failed to get attributes of ${quoted(from)}: ${errorText(error)}`);
      }
    }
    this.copy(source, childOf(target, source.replace(/^\/+/, "")), { isOperand: true });
  }

  copy(
    source: string,
    name: string,
    { isOperand = false, depth = MAX_DEPTH }: { isOperand?: boolean; depth?: number } = {},
  ): void {
    const { files, cwd, poll } = this.#context;
    poll();
    const from = pathOf(cwd, source);
    const follow = this.#follows === "always" || this.#follows === "operands" && isOperand ||
      source.endsWith("/");
    let status: FileStatus;
    try {
      status = files.status(from, { follow });
      if (source.endsWith("/") && status.kind !== "directory") throw new UsageError("Not a directory");
    } catch (error) {
      return this.complain(
        `cannot stat ${quoted(source)}: ${error instanceof UsageError ? error.message : errorText(error)}`,
      );
    }
    if (status.kind === "directory") return this.#copyFolder(source, name, status, depth);
    this.#copyFile(source, name, status);
  }

  #copyFolder(source: string, name: string, status: FileStatus, depth: number): void {
    const { files, cwd, print } = this.#context;
    if (!this.#isRecursive) return this.complain(`-r not specified; omitting directory ${quoted(source)}`);
    const [from, to] = [
      resolvePath(this.#context, source, "missing"),
      resolvePath(this.#context, name, "missing"),
    ];
    if (from === to) return this.complain(`${quoted(source)} and ${quoted(name)} are the same file`);
    if (depth === 0 || from === "/" || to?.startsWith(`${from}/`)) {
      return this.complain(`cannot copy a directory, ${quoted(source)}, into itself, ${quoted(name)}`);
    }
    const path = pathOf(cwd, name);
    const old = statusOf(files, path);
    if (old && old.kind !== "directory") {
      return this.complain(`cannot overwrite non-directory ${quoted(name)} with directory ${quoted(source)}`);
    }
    let names: string[];
    try {
      if (!old) {
        files.makeDirectory(path);
        if (this.#options.has("v")) print(`'${source}' -> '${name}'\n`);
      }
      names = files.names(pathOf(cwd, source));
    } catch (error) {
      return this.complain(`cannot create directory ${quoted(name)}: ${errorText(error)}`);
    }
    for (const child of names) this.copy(childOf(source, child), childOf(name, child), { depth: depth - 1 });
    try {
      if (!old || this.#keepsMode) {
        files.setMode(path, this.#keepsMode ? status.mode : status.mode & 0o777 & ~files.umask());
      }
      if (this.#keepsTime) files.setTimes(path, status);
    } catch (error) {
      this.complain(`preserving times for ${quoted(name)}: ${errorText(error)}`);
    }
  }

  #copyFile(source: string, name: string, status: FileStatus): void {
    const { files, cwd, print } = this.#context;
    const options = this.#options;
    const [from, to] = [pathOf(cwd, source), pathOf(cwd, name)];
    const entry = statusOf(files, to, { follow: false });
    const old = status.kind === "link" ? entry : statusOf(files, to) ?? entry;
    if (old) {
      if (old.kind === "directory") {
        return this.complain(`cannot overwrite directory ${quoted(name)} with non-directory`);
      }
      const isSame = from === to || status.kind !== "link" &&
          resolvePath(this.#context, source, "last") === resolvePath(this.#context, name, "last");
      if (isSame && isKept(options)) return;
      if (isSame && !options.has("remove-destination")) {
        return this.complain(`${quoted(source)} and ${quoted(name)} are the same file`);
      }
      if (this.#made.has(to)) {
        return this.complain(`will not overwrite just-created ${quoted(name)} with ${quoted(source)}`);
      }
      if (!mayReplace(options, { status, old, name, answers: this.#answers })) return;
    }
    try {
      const isLink = status.kind === "link";
      if (entry && (isLink || options.has("s") || options.has("remove-destination"))) files.removeFile(to);
      if (isLink) files.link(files.target(from), to);
      else if (options.has("s")) files.link(this.#linkTarget(source, name), to);
      else this.#write(files.read(from), to, name, entry);
      this.#made.add(to);
      if (options.has("v")) print(`'${source}' -> '${name}'\n`);
      if (isLink || options.has("s")) return;
      if (this.#keepsMode) files.setMode(to, status.mode);
      else if (!old || options.has("remove-destination")) {
        files.setMode(to, status.mode & 0o777 & ~files.umask());
      }
      if (this.#keepsTime) files.setTimes(to, status);
    } catch (error) {
      const message = error instanceof UsageError ? error.message : errorText(error);
      this.complain(`cannot create regular file ${quoted(name)}: ${message}`);
    }
  }

  #linkTarget(source: string, name: string): string {
    if (source.startsWith("/") || !name.includes("/")) return source;
    return fail(`${name}: can make relative symbolic links only in current directory`);
  }

  /** Writes a file. With `-f`, a file that cannot be written is removed first. */
  #write(bytes: Uint8Array, to: string, name: string, entry: FileStatus | undefined): void {
    const { files } = this.#context;
    if (entry?.kind === "link" && !statusOf(files, to)) {
      fail(`not writing through dangling symlink ${quoted(name)}`);
    }
    try {
      files.write(to, bytes);
    } catch (error) {
      if (!this.#options.has("f") || !entry) throw error;
      files.removeFile(to);
      files.write(to, bytes);
    }
  }
}

/** Returns whether `-n` keeps each file that exists. */
function isKept(options: ParsedOptions): boolean {
  return options.given.findLast(({ name }) => name === "n" || name === "i")?.name === "n";
}

/** Returns whether `-n`, `-u` and `-i` allow to replace a file. The last of `-n`, `-f` and `-i` counts for `mv`. */
function mayReplace(
  options: ParsedOptions,
  { status, old, name, answers }: { status: FileStatus; old: FileStatus; name: string; answers: Answers },
): boolean {
  const last = options.given.findLast((option) => option.name === "n" || option.name === "i")?.name;
  if (last === "n") return false;
  const update = options.has("u") ? options.value("u") || "older" : "all";
  if (update === "none") return false;
  if (update === "older" && old.changedMs >= status.changedMs) return false;
  return last !== "i" || answers.ask(`overwrite ${quoted(name)}?`);
}

/** `mv` of GNU coreutils 9.1. */
export const mv: GnuCommand = (args, context) => {
  const options = parseOptions(args.flatMap(splitUpdate), MV_OPTIONS);
  refuse(options, ["b", "backup", "S"]);
  const { sources, target, isInto } = readTransfer(options, context);
  const answers = new Answers(context);
  const made = new Set<string>();
  let failed = false;
  for (const source of sources) {
    context.poll();
    const trimmed = source.replace(/(.)\/+$/, "$1");
    const name = isInto ? childOf(target, baseName(trimmed)) : target;
    const message = moveFile(source, name, { options, context, answers, made });
    if (message === undefined) continue;
    context.warn(message);
    failed = true;
  }
  return failed ? 1 : 0;
};

/** Moves a file. Returns what is wrong, if anything is. */
function moveFile(
  source: string,
  name: string,
  { options, context, answers, made }: {
    options: ParsedOptions;
    context: CommandContext;
    answers: Answers;
    made: Set<string>;
  },
): string | undefined {
  const { files, cwd, print } = context;
  const [from, to] = [pathOf(cwd, source), pathOf(cwd, name)];
  try {
    const status = files.status(from, { follow: false });
    const isFolder = status.kind === "directory";
    if (/(?:^|\/)\.$/.test(source)) {
      return `cannot move ${quoted(source)} to ${quoted(name)}: Device or resource busy`;
    }
    if (source.endsWith("/") && !isFolder) return `cannot stat ${quoted(source)}: Not a directory`;
    const old = statusOf(files, to, { follow: false });
    if (old) {
      if (made.has(to)) return `will not overwrite just-created ${quoted(name)} with ${quoted(source)}`;
      const lastForce = options.given.findLast((option) => /^[fin]$/.test(option.name))?.name;
      const asks = lastForce === "f" ? withoutQuestions(options) : options;
      if (!mayReplace(asks, { status, old, name, answers })) return undefined;
      if (from === to) {
        return isFolder
          ? `cannot move ${quoted(source)} to a subdirectory of itself, ${
            quoted(childOf(name, baseName(source)))
          }`
          : `${quoted(source)} and ${quoted(name)} are the same file`;
      }
      if (isFolder && old.kind !== "directory") {
        return `cannot overwrite non-directory ${quoted(name)} with directory ${quoted(source)}`;
      }
      if (!isFolder && old.kind === "directory") {
        return `cannot overwrite directory ${quoted(name)} with non-directory`;
      }
    } else if (name.endsWith("/") && !isFolder) {
      const reason = statusOf(files, to) ? "Not a directory" : "No such file or directory";
      return `cannot move ${quoted(source)} to ${quoted(name)}: ${reason}`;
    }
    const [realFrom, realTo] = [from, resolvePath(context, name, "missing") ?? name];
    if (isFolder && `${realTo}/`.startsWith(`${resolvePath(context, source, "missing") ?? realFrom}/`)) {
      return `cannot move ${quoted(source)} to a subdirectory of itself, ${quoted(name)}`;
    }
    if (old?.kind === "directory" && files.names(to).length > 0) {
      return `cannot move ${quoted(source)} to ${quoted(name)}: Directory not empty`;
    }
    files.rename(from, to);
    made.add(to);
    if (options.has("v")) print(`renamed '${source}' -> '${name}'\n`);
    return undefined;
  } catch (error) {
    const isMissing = !statusOf(files, from, { follow: false });
    if (isMissing) return `cannot stat ${quoted(source)}: ${errorText(error)}`;
    return `cannot move ${quoted(source)} to ${quoted(name)}: ${errorText(error)}`;
  }
}

function withoutQuestions(options: ParsedOptions): ParsedOptions {
  return { ...options, given: options.given.filter(({ name }) => name !== "i" && name !== "n") };
}
