import type { ExecResult } from "../sandbox/exec.ts";

/** What the exit codes of the command line mean. */
export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  unwritten: 74,
  timeout: 124,
  sandbox: 125,
  interrupted: 130,
  crashed: 134,
  memory: 137,
} as const;

/** The exit codes of one program, for a help text. */
export const EXIT_CODES = `
Exit codes: 0 ok, 1 an exception or too much output, 2 wrong usage, 124 timeout, 125 the sandbox itself failed,
130 interrupted, 134 the interpreter crashed, 137 memory; the program's own code after sys.exit(code).`;

/** The exit code that says what became of a program. */
export function exitCode(result: ExecResult): number {
  switch (result.status) {
    case "exited":
      return result.exitCode & 255;
    case "output":
      return EXIT.error;
    default:
      return EXIT[result.status];
  }
}
