import { MAX_CODE_CHARACTERS } from "../sandbox/exec_check.ts";
import { readText, STDIN } from "./read_text.ts";
import { UsageError } from "./usage_error.ts";

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
