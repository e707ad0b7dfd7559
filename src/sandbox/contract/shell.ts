/**
 * The contract of a command line: options and result.
 *
 * @module
 */
import type { ExecOptions, ExecOutcome, GuestError } from "./exec.ts";

/** Options of {@linkcode PythonSession.shell}. */
export interface ShellOptions
  extends Pick<ExecOptions, "timeoutMs" | "memoryBytes" | "stdin" | "signal" | "onOutput"> {
  /**
   * Time without output after which the command is interrupted, in milliseconds.
   *
   * @default no limit
   */
  silenceMs?: number | undefined;
}

/** A time limit of a command line: on wall time, on time without output, or on CPU time. */
export type ShellDeadline = "run" | "silence" | "cpu";

/** Result of running a command line: a closed union over `status`. */
export type ShellResult =
  & Omit<ExecOutcome, "files">
  & {
    /** Working directory of the shell after the command. */
    cwd: string;
  }
  & (
    /** The exit code is 0. */
    | { status: "ok"; exitCode: 0 }
    /** The exit code is not 0. */
    | { status: "exited"; exitCode: number }
    /** The command exceeded a time limit. */
    | { status: "timeout"; deadline: ShellDeadline; error: GuestError }
    /** The process exceeded a memory limit. */
    | { status: "memory"; error: GuestError }
    /** The command wrote more than 64 times the output limit and was interrupted. */
    | { status: "output"; error: GuestError }
    /** The interpreter has ended, and so has the shell. */
    | { status: "crashed"; error: GuestError }
  );
