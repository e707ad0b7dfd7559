import { basename } from "node:path";
import type { Option } from "commander";
import { SandboxError } from "../../errors.ts";
import type { PythonFileOptions } from "../../plugins/python/python_file.ts";
import { shippedProfiles } from "../../sandbox/profile/profile.ts";
import { escapeControls } from "../../terminal_text.ts";
import { rethrowAsUsageError } from "../cli_errors.ts";
import { requireReadable } from "../input.ts";
import { currentIo } from "../io.ts";
import { nameOption } from "../options.ts";
import { writeText } from "../output.ts";
import { createLazyPool, prepareImage, resolveProfile } from "../sandbox_options.ts";

/** Flags of commands that run Python files of the user. */
export interface PythonFileFlags {
  /** Profile of their sandboxes. */
  pythonProfile?: string;
  cacheDir?: string;
  yes?: boolean;
}

/** Owner of the sandboxes of a Python file. */
export interface PythonFileOwner {
  /** Number of calls or episodes that run at the same time. */
  readonly size: number;
  /**
   * How an interpreter is cleaned between two episodes or calls.
   * @default "rewind"
   */
  readonly resetMode?: "rewind" | "fresh" | undefined;
  readonly stack: AsyncDisposableStack;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the option `--python-profile`. */
export function pythonProfileOption(): Option {
  return nameOption(
    "--python-profile <name>",
    "profile of the sandboxes of your own Python files, with their packages: a file or one of",
    shippedProfiles,
  ).default("python");
}

/** True for the path of a Python file. */
export function isPythonPath(path: string): boolean {
  return /\.py$/i.test(path);
}

/**
 * Loads a Python file in separate sandboxes. Printed text goes to stderr.
 *
 * @throws {UsageError} if the file cannot be read or does not load, or the profile is wrong.
 */
export async function openPythonFile<Opened>(
  path: string,
  open: (path: string, options: PythonFileOptions) => Promise<Opened>,
  { flags, owner }: { flags: PythonFileFlags; owner: PythonFileOwner },
): Promise<Opened> {
  const { pythonProfile = "python", ...rest } = flags;
  const { size, resetMode = "rewind", stack, signal = new AbortController().signal } = owner;
  await requireReadable(path);
  const { PYTHON_FILE_PRELOAD: preload } = await import("../../plugins/python/python_file.ts");
  const profile = { ...await resolveProfile({ ...rest, profile: pythonProfile }, signal), preload };
  await prepareImage(profile, { cacheDir: flags.cacheDir, signal });
  const pool = createLazyPool({ profile, size, resetMode, cacheDir: flags.cacheDir, stack })();
  const onPrint = (text: string) => printFor(path, text);
  return await rethrowAsUsageError(() => open(path, { pool, onPrint, signal }), { kinds: [SandboxError] });
}

/** Prints a file's output to stderr, with the file's name before each line. */
export function printFor(path: string, text: string): void {
  const { stderr } = currentIo();
  const start = stderr.isTerminal() ? "\r\x1b[K" : ""; // the progress may have drawn a line
  const lines = escapeControls(text.replace(/\n$/, "")).split("\n");
  const name = escapeControls(basename(path));
  const printed = lines.map((line) => `${start}${name}: ${line}\n`).join("");
  writeText(stderr, printed).catch(() => {}); // stderr is closed
}
