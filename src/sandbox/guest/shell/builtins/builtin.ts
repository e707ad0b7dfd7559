import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import type { CoprocInput } from "../jobs/coproc.ts";
import type { CommandNode } from "./nodes.ts";

/** The parts of the engine's state that builtins use. */
export interface ShellState {
  readonly env: Map<string, string>;
  readonly functions: ReadonlyMap<string, CommandNode>;
  /** Functions that `export -f` passes to programs. */
  exportedFunctions?: Set<string>;
  readonly options: Record<string, boolean>;
  readonly shoptOptions: Readonly<Record<string, boolean>>;
  /** Options that the engine does not know. */
  otherOptions?: Map<string, boolean>;
  /** Commands of `trap` by number of the process, and by signal. */
  traps?: Map<number, Map<string, string>>;
  /** Paths of commands by name, as \`hash\` lists them. */
  hashTable?: Map<string, string>;
  /** Builtins that \`enable -n\` has disabled. */
  disabledBuiltins?: ReadonlySet<string>;
  /** The running functions, the lines and the files of their calls, the innermost first. */
  readonly funcNameStack?: readonly string[];
  readonly callLineStack?: readonly number[];
  readonly sourceStack?: readonly string[];
  /** Time at which the shell started, in milliseconds. */
  readonly startTime: number;
  readonly exportedVars?: ReadonlySet<string>;
  readonly readonlyVars?: ReadonlySet<string>;
  readonly arrays?: ReadonlyMap<string, ArrayRecord>;
  /** Rest of the stdin that a group or loop has. */
  groupStdin?: string | undefined;
  /** Set if that stdin is a file, so that a command can leave a part of it. */
  readonly groupStdinSourceFd?: number | undefined;
  loopDepth: number;
  readonly callDepth?: number;
  /** Variables that the running functions have, with the values outside. */
  readonly localScopes?: readonly ReadonlyMap<string, string | undefined>[];
  readonly sourceDepth?: number;
  /** File of the running program, or of `source`. */
  readonly currentSource?: string | undefined;
  lastExitCode: number;
  currentLine: number;
  /** True in `sh`. */
  readonly isDash?: boolean;
  readonly errexitSafe?: boolean;
  inCondition: boolean;
  /** Number of the virtual process: each subshell and substitution has a number. */
  readonly bashPid: number;
  /** Number of the shell, which its subshells have too. */
  readonly virtualPid: number;
}

/** An array as the engine keeps it. */
export interface ArrayRecord {
  readonly kind: "indexed" | "associative";
  readonly elements: ReadonlyMap<string, string>;
  /** True if the array has been assigned since its declaration. */
  readonly isAssigned?: boolean;
}

type RunCommand = (
  name: string,
  args: readonly string[],
  quoted: readonly boolean[],
  stdin: string,
  skipsFunctions?: boolean,
  ...rest: unknown[]
) => Promise<CommandOutput>;

/** The parts of the engine's interpreter that builtins use. */
export interface BuiltinInterpreter extends ScriptInterpreter {
  runCommand: RunCommand;
  buildExportedEnv(): Record<string, string>;
  readonly ctx: ScriptInterpreter["ctx"] & {
    readonly fs: { exists(path: string): Promise<boolean> };
    /** The stdin of a coprocess. */
    ownInput?: CoprocInput | undefined;
    /**
     * Waits until a coprocess has printed a line to a descriptor. Returns `false` if none can come, and `undefined` if
     * the descriptor is another file.
     */
    awaitOutput?: (
      descriptor: number,
      options?: { readonly timeMs?: number },
    ) => Promise<boolean | undefined>;
    /** Waits for the output of a coprocess that a command's redirection reads. */
    beforeInput?: (descriptor: number, isLasting: boolean) => Promise<void>;
    /** `$0` of a script that is called by its path. */
    programName?: string | undefined;
    /** Returns the text that `source` reads instead of a file. */
    sourceText?: ((path: string) => string | undefined | Promise<string | undefined>) | undefined;
  };
}

/** A call of a builtin. */
export interface BuiltinCall {
  readonly name: string;
  readonly args: readonly string[];
  /** Text in which each character is a byte. */
  readonly stdin: string;
  /** Descriptor above 2 that a redirection has made the stdin. */
  readonly stdinDescriptor?: number;
  readonly state: ShellState;
  readonly interpreter: BuiltinInterpreter;
  /** Runs a builtin of the engine with the call's stdin. */
  run(name: string, args: readonly string[]): Promise<CommandOutput>;
}

/** A builtin. It returns `undefined` where the engine's builtin of that name is right. */
export type Builtin = (call: BuiltinCall) => CommandOutput | undefined | Promise<CommandOutput | undefined>;

/** Returns a result that prints text. */
export function printed(stdout: string, exitCode = 0): CommandOutput {
  return { stdout, stderr: "", exitCode };
}

/** Returns a result that complains. */
export function complained(message: string, exitCode = 1): CommandOutput {
  return { stdout: "", stderr: `bash: ${message}\n`, exitCode };
}

/** Joins results. The exit code is the code of the last result that failed. */
export function joined(results: readonly CommandOutput[]): CommandOutput {
  return {
    stdout: results.map(({ stdout }) => stdout).join(""),
    stderr: results.map(({ stderr }) => stderr).join(""),
    exitCode: results.findLast(({ exitCode }) => exitCode !== 0)?.exitCode ?? 0,
  };
}
