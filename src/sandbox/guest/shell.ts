import type { BashOptions } from "just-bash";
import { clock } from "./shell_clock.ts";
import { Bash } from "./just_bash.ts";
import type { FileSystem } from "./emscripten.ts";
import { readOnlyFileSystem } from "./read_only_files.ts";
import { HOME } from "./session_files.ts";
import { ShellFiles } from "./shell_files.ts";
import { type ProgramEnd, type ProgramRequest, programs } from "./shell_programs.ts";

/** A command line, as the host sends it. */
export interface ShellRequest {
  readonly command: string;
  readonly stdin?: string;
}

/** What became of a command line. */
export interface ShellEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly cwd: string;
  /** True when it did not come to its end. */
  readonly interrupted: boolean;
}

/** What the shell stands on. */
export interface ShellParts {
  readonly fs: FileSystem;
  /** The byte that the supervisor sets to stop what runs. */
  readonly interrupt: Uint8Array;
  /** Blocks for so long, or until an interrupt. */
  readonly pause: (ms: number) => void;
  readonly python: (request: ProgramRequest) => ProgramEnd;
  readonly outputBytes: number;
}

const UNLIMITED = Number.MAX_SAFE_INTEGER;
const MIB = 1024 * 1024;
const USER = "pyodide";
const VARIABLES = { HOME, USER, LOGNAME: USER, SHELL: "/bin/bash", LANG: "C.UTF-8", TERM: "dumb", PATH: "/usr/bin:/bin" };

/** The parts of the engine's state that a command cut short leaves in a wrong place, as they are between two. */
const AT_REST = {
  localScopes: [],
  callDepth: 0,
  sourceDepth: 0,
  loopDepth: 0,
  inCondition: false,
  groupStdin: undefined,
  signal: undefined,
  extraArgs: undefined,
  fileDescriptors: undefined,
  funcNameStack: undefined,
  callLineStack: undefined,
  sourceStack: undefined,
  localArrayScopes: undefined,
  localExportedVars: undefined,
  localVarStack: undefined,
  localVarDepth: undefined,
};

type State = Record<string, unknown> & { cwd: string };

/** The engine as it is after `shell_bundle.ts` has changed it: it shows the state of a command that starts. */
interface OpenBash extends Pick<Bash, "exec"> {
  readonly state: State;
  readonly commands: ReadonlyMap<string, unknown>;
  onState: (state: State) => void;
}

/** One shell: its working directory, variables and functions last from command to command. */
export class Shell {
  readonly #parts: ShellParts;
  #bash: OpenBash;
  #failure: { error: unknown } | undefined;

  constructor(parts: ShellParts) {
    this.#parts = parts;
    this.#bash = this.#start();
    this.#mountCommands();
  }

  /** Runs a command line to its end or to an interrupt. Throws only when the interpreter itself is lost. */
  async run({ command, stdin = "" }: ShellRequest): Promise<ShellEnd> {
    const signal = clock.begin(this.#parts.interrupt);
    let state: State | undefined;
    this.#bash.onState = (started) => void (state ??= started);
    const running = this.#bash.exec(command, { rawScript: true, stdin, signal: signal as never });
    const { stdout, stderr, exitCode } = await clock.settle(running, this.#parts.pause);
    if (this.#failure) throw this.#failure.error;
    if (state) Object.assign(this.#bash.state, state, AT_REST);
    this.#bash.state.lastExitCode = exitCode;
    return { stdout, stderr, exitCode: exitCode & 0xff, cwd: this.#bash.state.cwd, interrupted: signal.aborted };
  }

  /** Forgets all that commands have set. */
  reset(): void {
    this.#bash = this.#start();
  }

  #start(): OpenBash {
    const { fs, outputBytes } = this.#parts;
    return new Bash({
      fs: new ShellFiles(fs),
      cwd: HOME,
      env: VARIABLES,
      customCommands: programs({ outputBytes, python: (request) => this.#runPython(request) }),
      executionLimits: limits(outputBytes),
      defenseInDepth: false,
    }) as unknown as OpenBash;
  }

  #runPython(request: ProgramRequest): ProgramEnd {
    try {
      return this.#parts.python(request);
    } catch (error) {
      this.#failure = { error };
      clock.abort();
      throw error;
    }
  }

  /** Shows the commands as files, for `which` and for those that look. */
  #mountCommands(): void {
    const { fs } = this.#parts;
    const names = [...this.#bash.commands.keys()];
    const files = names.map((name) => ({ path: `/${name}`, contents: new Uint8Array(0) }));
    fs.mkdirTree("/usr/bin");
    fs.mount(readOnlyFileSystem(fs, files), {}, "/usr/bin");
    fs.symlink("/usr/bin", "/bin");
  }
}

/** Bounds on memory; time is bounded from outside. */
function limits(outputBytes: number): NonNullable<BashOptions["executionLimits"]> {
  return {
    maxCommandCount: UNLIMITED,
    maxLoopIterations: UNLIMITED,
    maxAwkIterations: UNLIMITED,
    maxSedIterations: UNLIMITED,
    maxJqIterations: UNLIMITED,
    maxWorkUnits: UNLIMITED,
    maxGlobOperations: UNLIMITED,
    maxTraversalWork: UNLIMITED,
    maxExecutionTimeMs: Infinity,
    maxStringLength: 32 * MIB,
    maxLiveBytes: 128 * MIB,
    maxOutputSize: Math.max(32 * MIB, 2 * outputBytes),
  };
}
