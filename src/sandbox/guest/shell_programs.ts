import { defineCommand } from "./just_bash.ts";
import type { Command } from "just-bash";
import { latin1 } from "./shell_files.ts";

/** A Python program that the shell starts. */
export interface ProgramRequest {
  /** The words after `python`. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The exported variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes, one in each character. */
  readonly stdin: string;
}

/** What became of it. */
export interface ProgramEnd {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

const decoder = new TextDecoder();
/** The exit code of a program that wrote to a pipe which nobody reads any more. */
const SIGPIPE_CODE = 141;

/** The commands that the engine does not have: Python, and `yes`, which ends where its reader would. */
export function programs(options: {
  python: (request: ProgramRequest) => ProgramEnd;
  outputBytes: number;
}): Command[] {
  const python = ["python", "python3"].map((name) =>
    defineCommand(name, (argv, { cwd, exportedEnv = {}, stdin }) => {
      const request = { argv, cwd, env: exportedEnv, stdin: String(stdin ?? "") };
      const { stdout, stderr, exitCode } = options.python(request);
      return Promise.resolve({
        stdout: latin1(stdout),
        stderr: decoder.decode(stderr),
        stdoutKind: "bytes",
        exitCode,
      });
    })
  );
  const yes = defineCommand("yes", (args) => {
    const line = `${args.join(" ") || "y"}\n`;
    const stdout = line.repeat(Math.ceil((options.outputBytes + 1) / line.length));
    return Promise.resolve({ stdout, stderr: "", exitCode: SIGPIPE_CODE });
  });
  return [...python, yes];
}
