import { latin1 } from "./byte_text.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";

/** Joins the outputs of two commands. The exit code is the code of the command that failed or ended a script. */
export function joinOutputs(first: CommandOutput, second: CommandOutput): CommandOutput {
  const isBytes = (output: CommandOutput) =>
    output.stdoutKind === "bytes" || output.stdoutEncoding === "binary";
  const exitCode = first.exitCode || second.exitCode;
  const stderr = first.stderr + second.stderr;
  if (isBytes(first) === isBytes(second)) {
    return { ...first, stdout: first.stdout + second.stdout, stderr, exitCode };
  }
  const toBytes = (output: CommandOutput) =>
    isBytes(output) ? output.stdout : latin1(encoder.encode(output.stdout));
  return { stdout: toBytes(first) + toBytes(second), stdoutKind: "bytes", stderr, exitCode };
}

const encoder = new TextEncoder();

/** An end of a script by `exit`, which the engine throws. */
export interface ExitError {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** True if an error is the end of a script. */
export function isExit(error: unknown): error is ExitError {
  return typeof error === "object" && error !== null && "exitCode" in error && "stdout" in error &&
    typeof error.exitCode === "number" && typeof error.stdout === "string";
}

/** The end of a script. */
export interface ScriptEnd {
  readonly output: CommandOutput;
  readonly wasThrown: boolean;
  /** Ends as the script did, with the output of a command behind it. */
  finish(last?: CommandOutput, exits?: boolean): CommandOutput;
}

/** Runs a script until it returns or exits. */
export async function endOf(run: () => Promise<CommandOutput>): Promise<ScriptEnd> {
  const add = (output: CommandOutput, last?: CommandOutput, exits = false) => {
    if (!last) return output;
    const { stdout, stderr, exitCode } = output;
    return {
      ...output,
      stdout: stdout + last.stdout,
      stderr: stderr + last.stderr,
      exitCode: exits ? last.exitCode : exitCode,
    };
  };
  try {
    const output = await run();
    return { output, wasThrown: false, finish: (last, exits) => add(output, last, exits) };
  } catch (error) {
    if (!isExit(error)) throw error;
    const { stdout, stderr, exitCode } = error;
    const output = { stdout, stderr, exitCode };
    return {
      output,
      wasThrown: true,
      finish: (last, exits) => {
        throw Object.assign(error, add(output, last, exits));
      },
    };
  }
}

/** Returns the command `eval text`. */
export function evalNode(text: string): Parameters<ScriptInterpreter["executeCommand"]>[0] {
  const word = (part: object) => ({ type: "Word", parts: [part] });
  const node = {
    type: "SimpleCommand",
    assignments: [],
    name: word({ type: "Literal", value: "eval" }),
    args: [word({ type: "SingleQuoted", value: text })],
    redirections: [],
  };
  return node;
}
