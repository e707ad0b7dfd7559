import { InvalidArgumentError } from "commander";
import { basename, dirname } from "node:path";
import { ArgumentRangeError, GuestFileError } from "../../errors.ts";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { checkPath } from "../../sandbox/exec/exec_check.ts";
import type { Limits } from "../../sandbox/profile/schema.ts";
import { MAX_FRAME_BYTES } from "../../sandbox/protocol.ts";
import { escapeControls } from "../../terminal_text.ts";
import { checkUsage, rethrowAsUsageError, UnwrittenError, UsageError } from "../cli_errors.ts";
import { ioErrorText, readInputBytes, STDIN } from "../input.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";

/** A file to copy: the path on this machine, and the name under the session's working directory. */
export interface FileCopy {
  readonly path: string;
  readonly name: string;
}

/** A file to write into a session. */
export interface InputFile {
  readonly name: string;
  readonly contents: Uint8Array;
}

/** Parses a value of `--file`, which is `path` or `path=name`, and adds the value to the earlier values. */
export function parseInputFile(value: string, earlier: readonly FileCopy[] = []): FileCopy[] {
  const at = value.lastIndexOf("="); // a name has none, but a path may
  const path = at < 0 ? value : value.slice(0, at);
  return [...earlier, toCopy(path, at < 0 ? basename(path) : value.slice(at + 1))];
}

/** Parses a value of `--get`, which is `name` or `name=path`, and adds the value to the earlier values. */
export function parseOutputFile(value: string, earlier: readonly FileCopy[] = []): FileCopy[] {
  const at = value.indexOf("=");
  const name = at < 0 ? value : value.slice(0, at);
  return [...earlier, toCopy(at < 0 ? basename(name) : value.slice(at + 1), name)];
}

function toCopy(path: string, name: string): FileCopy {
  if (path !== "" && name !== "") return { path, name };
  throw new InvalidArgumentError("It must have a path and a name that are not empty.");
}

/**
 * Reads the files that are copied into a session.
 *
 * @throws {UsageError} if a file cannot be read, a name is not under the working directory or occurs twice, or the
 * files are larger than a session may hold.
 */
export async function readInputFiles(
  copies: readonly FileCopy[],
  { fileBytes }: Pick<Limits, "fileBytes">,
): Promise<InputFile[]> {
  checkNames("--file", copies.map(({ name }) => name));
  let leftBytes = fileBytes;
  const files: InputFile[] = [];
  for (const { path, name } of copies) {
    if (path === STDIN) throw new UsageError("Cannot copy stdin into the sandbox as --file needs a path");
    const contents = await readInputBytes(path, `'${path}'`, Math.min(MAX_FRAME_BYTES, leftBytes));
    leftBytes -= contents.length;
    files.push({ name, contents });
  }
  return files;
}

/**
 * Checks that files of a session can be written to their paths, before the program runs.
 *
 * @throws {UsageError} if a path is a directory or is in no directory, a name is not under the working directory, or two
 * files have the same path.
 */
export async function checkOutputFiles(copies: readonly FileCopy[]): Promise<void> {
  checkNames("--get", copies.map(({ name }) => name), { isUnique: false });
  for (const [index, { path }] of copies.entries()) {
    const directory = dirname(path);
    const isTwice = copies.findIndex((copy) => copy.path === path) !== index;
    if (isTwice) throw new UsageError(`Cannot write '${path}' as two files of --get have this path`);
    const inDirectory = await rethrowAsUsageError(() => Deno.stat(directory), {
      prefix: `Cannot write '${path}' into '${directory}'`,
      describe: ioErrorText,
    });
    if (!inDirectory.isDirectory) {
      throw new UsageError(`Cannot write '${path}' as '${directory}' is no directory`);
    }
    if (await isDirectory(path)) throw new UsageError(`Cannot write '${path}': it is a directory`);
  }
}

/**
 * Writes files into a session.
 *
 * @throws {UsageError} if the session cannot hold a file.
 */
export async function writeInputFiles(session: PythonSession, files: readonly InputFile[]): Promise<void> {
  for (const { name, contents } of files) {
    await rethrowAsUsageError(() => session.writeFile(name, contents), {
      kinds: [GuestFileError, ArgumentRangeError],
    });
  }
}

/**
 * Writes files of a session to their paths. Files that cannot be read are reported on stderr.
 *
 * @returns true if all files were written.
 * @throws {UnwrittenError} if a path cannot be written.
 */
export async function saveOutputFiles(
  session: PythonSession,
  copies: readonly FileCopy[],
  { stateKept }: Pick<ExecResult, "stateKept">,
): Promise<boolean> {
  const { stderr } = currentIo();
  let isComplete = true;
  for (const { path, name } of copies) {
    const contents = stateKept
      ? await session.readFile(name).catch(toGuestFileError)
      : `Cannot read '${name}' as the interpreter has ended, and its files with it`;
    if (typeof contents === "string") {
      isComplete = false;
      await writeText(stderr, `error: ${escapeControls(contents)}\n`);
    } else await writeOutputFile(path, contents);
  }
  return isComplete;
}

/** Returns the message of an error about a file. Rethrows any other error. */
function toGuestFileError(error: unknown): string {
  if (error instanceof GuestFileError) return error.message;
  throw error;
}

async function writeOutputFile(path: string, contents: Uint8Array): Promise<void> {
  try {
    await Deno.writeFile(path, contents);
  } catch (cause) {
    throw new UnwrittenError(`Cannot write '${path}': ${ioErrorText(cause)}`, { cause });
  }
}

function checkNames(option: string, names: readonly string[], { isUnique = true } = {}): void {
  const seen = new Set<string>();
  for (const name of names) {
    checkUsage(() => checkPath(name));
    const plain = name.split("/").filter((part) => part !== "" && part !== ".").join("/");
    if (isUnique && seen.has(plain)) {
      throw new UsageError(`Cannot copy files as two of ${option} have the name '${plain}'`);
    }
    seen.add(plain);
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false; // there is no such file, or the write reports what is wrong
  }
}
