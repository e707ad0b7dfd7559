import { type CommandContext, pathOf, statusOf, unicodeText, UsageError } from "../command.ts";
import type { ParsedOptions } from "../options.ts";

/** Returns the last name of a path, as `basename` prints it. */
export function baseName(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  if (trimmed === "") return path === "" ? "" : "/";
  return trimmed.slice(trimmed.lastIndexOf("/") + 1);
}

/** Returns a path without its last name, as `dirname` prints it. */
export function folderName(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  if (trimmed === "") return path === "" ? "." : "/";
  const at = trimmed.lastIndexOf("/");
  if (at < 0) return ".";
  return trimmed.slice(0, at).replace(/\/+$/, "") || "/";
}

/** Appends a name to a folder, as messages show the path. */
export function childOf(folder: string, name: string): string {
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}

/** Quotes a name for a message. */
export function quoted(name: string): string {
  return `'${unicodeText(name)}'`;
}

/** Ends the command with an error that has no hint. */
export function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

/** Refuses options that the sandbox cannot serve. */
export function refuse(options: ParsedOptions, names: readonly string[]): void {
  const name = names.find((option) => options.has(option));
  if (name === undefined) return;
  fail(`the option ${name.length === 1 ? `-${name}` : `--${name}`} is not available in the sandbox`);
}

/** What `cp`, `mv` and `ln` work on. */
export interface Transfer {
  readonly sources: readonly string[];
  readonly target: string;
  /** Whether the sources get their own names inside of the target. */
  readonly isInto: boolean;
}

/** Reads sources and target, with `-t DIRECTORY`, `-T`, or the last operand as the target. */
export function readTransfer(
  options: ParsedOptions,
  { files, cwd }: CommandContext,
  { followsTarget = true }: { followsTarget?: boolean } = {},
): Transfer {
  const { operands } = options;
  const given = options.value("t");
  const isFolder = (name: string) =>
    statusOf(files, pathOf(cwd, name), { follow: followsTarget || name.endsWith("/") })?.kind === "directory";
  if (given !== undefined) {
    if (options.has("T")) fail("cannot combine --target-directory (-t) and --no-target-directory (-T)");
    if (operands.length === 0) throw new UsageError("missing file operand");
    if (!isFolder(given)) fail(`target directory ${quoted(given)}: ${missing(files, pathOf(cwd, given))}`);
    return { sources: operands, target: given, isInto: true };
  }
  const target = operands.at(-1);
  if (target === undefined) throw new UsageError("missing file operand");
  const sources = operands.slice(0, -1);
  if (sources.length === 0) {
    throw new UsageError(`missing destination file operand after ${quoted(target)}`);
  }
  if (options.has("T")) {
    if (sources.length > 1) throw new UsageError(`extra operand ${quoted(operands[2] ?? "")}`);
    return { sources, target, isInto: false };
  }
  const isInto = isFolder(target);
  if (sources.length > 1 && !isInto) fail(`target ${quoted(target)}: ${missing(files, pathOf(cwd, target))}`);
  return { sources, target, isInto };
}

function missing(files: CommandContext["files"], path: string): string {
  return statusOf(files, path) ? "Not a directory" : "No such file or directory";
}

/** Answers to questions of `-i`, which are lines of stdin. */
export class Answers {
  readonly #context: CommandContext;
  #at = 0;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  /** Asks a question. Without an answer that begins with `y`, the answer is no. */
  ask(question: string): boolean {
    const { stdin, warn } = this.#context;
    warn(question);
    const end = stdin.indexOf("\n", this.#at);
    const answer = stdin.slice(this.#at, end < 0 ? undefined : end);
    this.#at = end < 0 ? stdin.length : end + 1;
    return /^[yY]/.test(answer);
  }
}
