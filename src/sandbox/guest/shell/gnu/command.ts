import { PathError } from "../../errno.ts";

/** Type and attributes of a file. */
export interface FileStatus {
  readonly kind: "file" | "directory" | "link" | "device";
  /** Permission bits. */
  readonly mode: number;
  readonly size: number;
  /** Time of the last change of the contents, in milliseconds. */
  readonly changedMs: number;
  /** Time of the last access, in milliseconds. */
  readonly accessedMs: number;
  /** Time of the last change of contents or attributes, in milliseconds. */
  readonly statusMs: number;
  readonly inode: number;
}

/** The files that commands read and write. Paths are absolute. Each function throws a {@linkcode PathError}. */
export interface CommandFiles {
  status(path: string, options?: { follow?: boolean }): FileStatus;
  names(path: string): string[];
  read(path: string): Uint8Array;
  write(path: string, bytes: Uint8Array): void;
  target(path: string): string;
  makeDirectory(path: string): void;
  removeFile(path: string): void;
  removeDirectory(path: string): void;
  rename(from: string, to: string): void;
  link(target: string, path: string): void;
  setMode(path: string, mode: number): void;
  /** Sets the times that are given. */
  setTimes(path: string, times: Partial<Pick<FileStatus, "accessedMs" | "changedMs">>): void;
  /** Permissions that new files do not have. */
  umask(): number;
  /** Sizes of the file system. */
  space(): FileSpace;
}

/** Sizes of a file system, in blocks of `blockBytes`, and numbers of its files. */
export interface FileSpace {
  readonly blockBytes: number;
  readonly blocks: number;
  readonly freeBlocks: number;
  readonly files: number;
  readonly freeFiles: number;
}

/** A process of a shell: the shell, or a job of the shell. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** The command with its arguments. */
  readonly command: string;
  /** Time of the start, in milliseconds. */
  readonly startedMs: number;
}

/** The processes of a shell. */
export interface ProcessTable {
  list(): readonly ProcessEntry[];
  /** Number of the next process. */
  readonly nextPid: number;
  /** Sends a signal to a job. Returns `false` if the process is no job that runs. */
  signal(pid: number, name: string): boolean;
}

/** Output and exit code of a command that another command ran. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  /** True if there is no such command, or the file is no program. */
  readonly wasNotRun?: boolean;
}

/** How a command runs another command. */
export interface RunOptions {
  readonly stdin?: string;
  readonly cwd?: string;
  /** All of its variables. @default the variables of the command */
  readonly variables?: Readonly<Record<string, string>>;
  /** True to return the output without printing stdout. @default false */
  readonly isCaptured?: boolean;
}

/**
 * What a command works with. Texts of arguments, input and output are byte texts: each character is a byte, so that
 * files need not be text.
 */
export interface CommandContext {
  readonly files: CommandFiles;
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string>>;
  /** A command that reads it takes all of it, unless it calls `leaveStdin`. */
  readonly stdin: string;
  /** Leaves the last bytes of stdin, if that is a file, to the next command. */
  leaveStdin(length: number): void;
  /** Prints to stdout. */
  print(text: string): void;
  /** Prints `name: text` and a line end to stderr, where `name` is the command. */
  warn(text: string): void;
  /** Prints to stderr. */
  printError(text: string): void;
  /** Handles interrupts. Long loops call it in each round. */
  poll(): void;
  /** The processes of the shell that runs the command. */
  readonly processes: ProcessTable;
  /** Runs another command, and prints its output. */
  run(words: readonly string[], options?: RunOptions): Promise<CommandResult>;
}

/** A command. Returns its exit code. */
export type GnuCommand = (args: readonly string[], context: CommandContext) => number | Promise<number>;

/** An error in the arguments of a command. */
export class UsageError extends Error {
  readonly exitCode: number;
  /** True if the message is followed by the hint at `--help`. */
  readonly hasHint: boolean;

  constructor(
    message: string,
    { exitCode = 1, hasHint = true }: { exitCode?: number; hasHint?: boolean } = {},
  ) {
    super(message);
    this.exitCode = exitCode;
    this.hasHint = hasHint;
  }
}

/** Texts of errors as the C library writes them, by code. */
const ERROR_TEXTS: Readonly<Record<string, string>> = {
  EACCES: "Permission denied",
  EBUSY: "Device or resource busy",
  EEXIST: "File exists",
  EINVAL: "Invalid argument",
  EISDIR: "Is a directory",
  ELOOP: "Too many levels of symbolic links",
  ENAMETOOLONG: "File name too long",
  ENOENT: "No such file or directory",
  ENOSPC: "No space left on device",
  ENOTDIR: "Not a directory",
  ENOTEMPTY: "Directory not empty",
  EPERM: "Operation not permitted",
  EROFS: "Read-only file system",
  EXDEV: "Invalid cross-device link",
};

/** Returns the text of a failed file operation. Rethrows any other error. */
export function errorText(error: unknown): string {
  if (!(error instanceof PathError)) throw error;
  return ERROR_TEXTS[error.code] ?? "Input/output error";
}

/** Returns the status of a file, or `undefined` if there is none. */
export function statusOf(
  files: CommandFiles,
  path: string,
  options?: { follow?: boolean },
): FileStatus | undefined {
  try {
    return files.status(path, options);
  } catch (error) {
    if (error instanceof PathError) return undefined;
    throw error;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A path in a folder that cannot exist. */
const NO_PATH = "/\0/\0";

/** Returns the absolute path that a byte text names. An empty text names no file. */
export function pathOf(cwd: string, name: string): string {
  return name === "" ? NO_PATH : pathIn(cwd, name);
}

/** Returns the absolute path of a byte text in a folder. An empty text is the folder itself. */
export function pathIn(folder: string, name: string): string {
  const text = decoder.decode(bytesOf(name));
  const parts: string[] = [];
  for (const part of (text.startsWith("/") ? text : `${folder}/${text}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Converts text to byte text. */
export function byteText(text: string): string {
  return textOf(encoder.encode(text));
}

/** Converts byte text to text. */
export function unicodeText(text: string): string {
  return decoder.decode(bytesOf(text));
}

/** Converts byte text to bytes. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Characters of the escapes that all commands with escapes know, by the letter behind the backslash. */
export const C_ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

const PIECE = 8192;

/** Converts bytes to byte text. */
export function textOf(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  }
  return text;
}

/** Splits byte text into lines with their ends. */
export function linesOf(text: string, end = "\n"): string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length;) {
    const next = text.indexOf(end, at);
    const stop = next < 0 ? text.length : next + 1;
    lines.push(text.slice(at, stop));
    at = stop;
  }
  return lines;
}

/** Reads the inputs of a command: files, or stdin for `-` or without a file. Reports those that cannot be read. */
export function readInputs(
  names: readonly string[],
  context: CommandContext,
  warn: CommandContext["warn"] = context.warn,
): { inputs: { name: string; text: string }[]; failed: boolean } {
  const inputs: { name: string; text: string }[] = [];
  let failed = false;
  for (const name of names.length > 0 ? names : ["-"]) {
    if (name === "-") {
      inputs.push({ name, text: context.stdin });
      continue;
    }
    try {
      inputs.push({ name, text: textOf(context.files.read(pathOf(context.cwd, name))) });
    } catch (error) {
      warn(`${name}: ${errorText(error)}`);
      failed = true;
    }
  }
  return { inputs, failed };
}
