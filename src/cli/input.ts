import { concat } from "@std/bytes";
import { basename } from "node:path";
import { loadTokenizer } from "../chat/load_tokenizer.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { errorMessage } from "../errors.ts";
import { MAX_CODE_CHARACTERS } from "../sandbox/contract/exec_fields.ts";
import { rethrowAsUsageError, UsageError } from "./cli_errors.ts";
import { currentIo } from "./io.ts";

/** Path that stands for stdin. */
export const STDIN = "-";

/**
 * Reads a whole UTF-8 file, or stdin if the path is `-`.
 *
 * @throws {UsageError} if the file cannot be read, is not UTF-8, or is larger than `maxBytes`.
 */
export async function readText(path: string, options: { maxBytes: number }): Promise<string> {
  const name = path === STDIN ? "stdin" : `'${path}'`;
  const bytes = await readInputBytes(path, name, options.maxBytes);
  return await rethrowAsUsageError(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes), {
    prefix: `Cannot read ${name} as it must be UTF-8`,
    describe: () => "found an invalid byte",
  });
}

/**
 * Reads a whole file, or stdin if the path is `-`.
 *
 * @throws {UsageError} if the file cannot be read or is larger than `maxBytes`.
 */
export async function readInputBytes(path: string, name: string, maxBytes: number): Promise<Uint8Array> {
  return await rethrowAsUsageError(async () => {
    const readable = path === STDIN ? currentIo().stdin.readable : (await Deno.open(path)).readable;
    return await collectBytes(readable, name, maxBytes);
  }, { prefix: `Cannot read ${name}`, describe: ioErrorText });
}

async function collectBytes(
  readable: ReadableStream<Uint8Array>,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of readable) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new UsageError(`Cannot read ${name} as it must have at most ${maxBytes} bytes: found more`);
    }
    chunks.push(new Uint8Array(chunk));
  }
  return concat(chunks);
}

/** Returns the reason why a file cannot be opened, in plain words. */
export function ioErrorText(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.IsADirectory) return "it is a directory";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  return errorMessage(error);
}

/** Returns the path to open for a file argument: `/dev/stdin` for `-`. */
export function toInputPath(path: string): string {
  return path === STDIN ? "/dev/stdin" : path;
}

/** Options of {@linkcode requireReadable}. */
export interface RequireReadableOptions {
  /** Accept a folder too. @default false */
  mayBeFolder?: boolean | undefined;
}

/**
 * Checks that a file can be read, before the command opens anything else.
 *
 * @throws {UsageError} if the file does not exist, cannot be read, or is a folder and `mayBeFolder` is false.
 */
export async function requireReadable(path: string, options: RequireReadableOptions = {}): Promise<void> {
  const { mayBeFolder = false } = options;
  await rethrowAsUsageError(async () => {
    const { isDirectory } = await Deno.stat(path);
    if (isDirectory && !mayBeFolder) throw new UsageError(`Cannot read '${path}': it is a directory`);
    using _file = await Deno.open(path);
  }, { prefix: `Cannot read '${path}'`, describe: ioErrorText });
}

/** Sources of a program and of the program's input. */
export interface ProgramSource {
  /** Text of a block. */
  code?: string | undefined;
  /** Name of a module. */
  module?: string | undefined;
  /** Path of the program, `-` for stdin, and the arguments; with `module`, only the arguments. */
  words: readonly string[];
  /** Path of the file that `input()` reads; `-` is stdin. */
  stdin?: string | undefined;
  /** True if stdin is a terminal. Then stdin is read only if named explicitly. */
  isTerminal: boolean;
}

/** A program and the text that `input()` reads. */
export interface Program {
  readonly code: string;
  /** `sys.argv`. A block has none. */
  readonly argv?: readonly [string, ...string[]] | undefined;
  readonly stdin?: string | undefined;
}

/** Maximum input of a program, in bytes. */
export const MAX_STDIN_BYTES = 16 * 1024 * 1024;

const MAX_BYTES_PER_CHARACTER = 4;

/** Characters that a program on a single line has, and a path rarely. */
const CODE_CHARACTERS = /[\s()=*'"]/;

const READS_INPUT = /\binput\s*\(|\bstdin\b|\bfileinput\b|\bopen\(0\b/;

/**
 * Reads a program, and the input, if any.
 *
 * @throws {UsageError} if there is not exactly one program, or a file cannot be read.
 */
export async function readProgram(source: ProgramSource): Promise<Program> {
  const program = await readCode(source);
  const path = stdinPath(program.code, source);
  if (path === undefined) return program;
  return { ...program, stdin: await readText(path, { maxBytes: MAX_STDIN_BYTES }) };
}

async function readCode({ code, module, words, isTerminal }: ProgramSource): Promise<Program> {
  const [file, ...args] = words;
  const hasFile = file !== undefined && module === undefined;
  const found = [code !== undefined, module !== undefined, hasFile].filter((isGiven) => isGiven).length;
  if (found > 1 || (found === 0 && isTerminal)) throw programCountError(found);
  if (code !== undefined) return { code };
  if (module !== undefined) return { code: moduleCode(module), argv: [module, ...words] };
  const path = file ?? STDIN;
  const text = await readText(path, { maxBytes: MAX_BYTES_PER_CHARACTER * MAX_CODE_CHARACTERS })
    .catch((error: unknown) => {
      const isMissing = error instanceof UsageError && error.cause instanceof Deno.errors.NotFound;
      if (!isMissing || !CODE_CHARACTERS.test(path)) throw error;
      throw new UsageError(`${error.message}; -e CODE runs a text`, { cause: error.cause });
    });
  if (found === 0 && text.trim() === "") throw programCountError(0);
  return { code: text, argv: [basename(path), ...args] };
}

function programCountError(found: number): UsageError {
  return new UsageError(
    `Cannot run as there must be one program, given as -e CODE, -m MODULE, FILE, - or a pipe: found ${
      found === 0 ? "none" : found
    }`,
  );
}

/** Returns a program that runs a module as `python -m` does. */
function moduleCode(module: string): string {
  const name = JSON.stringify(module);
  return `import runpy, sys
try:
    runpy.run_module(${name}, run_name="__main__", alter_sys=True)
except ImportError as error:
    if error.name not in (None, *[${name}.rsplit(".", depth)[0] for depth in range(${name}.count(".") + 1)]):
        raise
    sys.exit(f"paddock exec: {error}")
`;
}

function stdinPath(
  text: string,
  { code, module, words, stdin, isTerminal }: ProgramSource,
): string | undefined {
  if (module === undefined && code === undefined && (words[0] ?? STDIN) === STDIN) {
    if (stdin !== STDIN) return stdin;
    throw new UsageError("Cannot read both the program and its input from stdin");
  }
  if (stdin !== undefined) return stdin;
  if (isTerminal) return undefined;
  // The writer may never close a pipe, so stdin is read only for a program that can use stdin.
  return module !== undefined || READS_INPUT.test(text) ? STDIN : undefined;
}

const NEWLINE = 10;

/** Names of files whose tasks are no lines: compressed, Parquet, quoted cells with line ends, a list. */
const NOT_LINES = /\.(gz|parquet|csv|tsv|json)$/i;

/**
 * Counts the tasks of a file of JSON lines, up to `max`. Returns `undefined` for a file in another format, and for a
 * source that can be read only once, such as a pipe.
 */
export async function countTasks(path: string, max = Infinity): Promise<number | undefined> {
  if (NOT_LINES.test(path) || !(await Deno.stat(path)).isFile) return undefined;
  using file = await Deno.open(path);
  const buffer = new Uint8Array(64 * 1024);
  let lines = 0;
  let last = NEWLINE;
  for (let size = await file.read(buffer); size !== null && lines < max; size = await file.read(buffer)) {
    for (const byte of buffer.subarray(0, size)) {
      if (byte === NEWLINE) lines++;
      last = byte;
    }
  }
  return Math.min(max, last === NEWLINE ? lines : lines + 1);
}

/**
 * Loads the tokenizer in a folder. Returns `undefined` if no folder is given.
 *
 * @throws {UsageError} if the folder holds no valid tokenizer.
 */
export async function resolveTokenizer(directory: string | undefined): Promise<Tokenizer | undefined> {
  if (directory === undefined) return undefined;
  return await rethrowAsUsageError(() => loadTokenizer(directory));
}
