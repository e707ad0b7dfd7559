import { concat } from "@std/bytes";
import { loadTokenizer } from "../chat/load_tokenizer.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { errorMessage } from "../errors.ts";
import { MAX_CODE_CHARACTERS } from "../sandbox/exec_check.ts";
import { UsageError } from "./errors.ts";
import { currentIo } from "./io.ts";

/** The name that stands for the standard input in place of a file's. */
export const STDIN = "-";

/**
 * Reads all of a file of UTF-8, or of the standard input where the path is `-`.
 *
 * @throws {UsageError} when it cannot be read, is no UTF-8, or is larger than `maxBytes`.
 */
export async function readText(path: string, options: { maxBytes: number }): Promise<string> {
  const name = path === STDIN ? "the standard input" : `'${path}'`;
  const bytes = await readBytes(path, name, options.maxBytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError(`Cannot read ${name} as it must be UTF-8: it is not`, { cause });
  }
}

async function readBytes(path: string, name: string, maxBytes: number): Promise<Uint8Array> {
  try {
    const readable = path === STDIN ? currentIo().stdin.readable : (await Deno.open(path)).readable;
    return await collect(readable, name, maxBytes);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`Cannot read ${name}: ${ioErrorText(cause)}`, { cause });
  }
}

async function collect(
  readable: ReadableStream<Uint8Array>,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of readable) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new UsageError(`Cannot read ${name} as it must have at most ${maxBytes} bytes: it has more`);
    }
    pieces.push(new Uint8Array(piece));
  }
  return concat(pieces);
}

function ioErrorText(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  return errorMessage(error);
}

/** The path that a file is read by: `-` stands for the standard input. */
export function toInputPath(path: string): string {
  return path === STDIN ? "/dev/stdin" : path;
}

/** What {@linkcode requireReadable} lets through. */
export interface RequireReadableOptions {
  mayBeFolder?: boolean | undefined;
}

/**
 * Refuses a file that cannot be read, before anything is opened for its sake.
 *
 * @throws {UsageError} when there is no such file, or it is a folder and must be none.
 */
export async function requireReadable(path: string, options: RequireReadableOptions = {}): Promise<void> {
  const { mayBeFolder = false } = options;
  try {
    const { isDirectory } = await Deno.stat(path);
    if (isDirectory && !mayBeFolder) throw new UsageError(`Cannot read '${path}': it is a directory`);
    using _file = await Deno.open(path);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const isMissing = cause instanceof Deno.errors.NotFound;
    const reason = isMissing
      ? "there is no such file"
      : cause instanceof Error
      ? cause.message
      : String(cause);
    throw new UsageError(`Cannot read '${path}': ${reason}`, { cause });
  }
}

/** Where a program and its input come from. */
export interface ProgramSource {
  /** The program itself. */
  code?: string | undefined;
  /** The file that holds it; `-` is the standard input. */
  file?: string | undefined;
  /** The file that `input()` reads; `-` is the standard input. */
  stdin?: string | undefined;
  /** Whether the standard input is a terminal: what a person may type is not waited for. */
  isTerminal: boolean;
}

/** A program and what `input()` reads. */
export interface Program {
  readonly code: string;
  readonly stdin?: string | undefined;
}

/** More than this is refused as a program's input. */
export const MAX_STDIN_BYTES = 16 * 1024 * 1024;

const MAX_BYTES_PER_CHARACTER = 4;

const READS_INPUT = /\binput\s*\(|\bstdin\b|\bfileinput\b|\bopen\(0\b/;

/**
 * Reads a program, and its input where there is one.
 *
 * @throws {UsageError} when there is not just one program, or something cannot be read.
 */
export async function readProgram(source: ProgramSource): Promise<Program> {
  const { file } = source;
  if ((source.code === undefined) === (file === undefined)) {
    throw new UsageError("Cannot tell what to run as there must be one program: give -e CODE, FILE, or -");
  }
  const maxBytes = MAX_BYTES_PER_CHARACTER * MAX_CODE_CHARACTERS;
  const code = source.code ?? await readText(file ?? STDIN, { maxBytes });
  const path = stdinPath(code, source);
  return {
    code,
    stdin: path === undefined ? undefined : await readText(path, { maxBytes: MAX_STDIN_BYTES }),
  };
}

function stdinPath(code: string, { file, stdin, isTerminal }: ProgramSource): string | undefined {
  if (file === STDIN) {
    if (stdin !== STDIN) return stdin;
    throw new UsageError("Cannot read both the program and its input from the standard input");
  }
  if (stdin !== undefined) return stdin;
  // A pipe that nobody closes would be waited for in vain, so only a program that can read it has it.
  return !isTerminal && READS_INPUT.test(code) ? STDIN : undefined;
}

const NEWLINE = 10;

/** How many lines a file has, counted up to `most`; `undefined` for what can be read only once, such as a pipe. */
export async function countLines(path: string, most = Infinity): Promise<number | undefined> {
  if (!(await Deno.stat(path)).isFile) return undefined;
  using file = await Deno.open(path);
  const piece = new Uint8Array(64 * 1024);
  let lines = 0;
  let last = NEWLINE;
  for (let size = await file.read(piece); size !== null && lines < most; size = await file.read(piece)) {
    for (const byte of piece.subarray(0, size)) {
      if (byte === NEWLINE) lines++;
      last = byte;
    }
  }
  return Math.min(most, last === NEWLINE ? lines : lines + 1);
}

/**
 * Loads the tokenizer that was asked for; none where none was.
 *
 * @throws {UsageError} when there is none in the folder, or it is broken.
 */
export async function resolveTokenizer(directory: string | undefined): Promise<Tokenizer | undefined> {
  if (directory === undefined) return undefined;
  try {
    return await loadTokenizer(directory);
  } catch (error) {
    throw new UsageError(errorMessage(error), { cause: error });
  }
}
