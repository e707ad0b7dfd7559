import type { FileSystem } from "../emscripten.ts";
import { PathError } from "../errno.ts";
import { createReadOnlyFileSystem } from "../read_only_files.ts";
import {
  clock,
  INTERRUPTIBLE_LIMITS,
  type ShellLimits,
  shellLimits,
  STOP_LIMITS,
  STOP_MESSAGE,
} from "./clock.ts";
import { Bash } from "./engine.ts";
import { ShellFiles } from "./files.ts";
import { createCommands, type ProgramRequest, type ProgramResult, USER } from "./programs.ts";
import { type Interpreter, type Route, ShellTerminal, type TerminalParts } from "./terminal.ts";

/** A command line, as the host sends it. */
export interface ShellRequest {
  readonly command: string;
  readonly stdin?: string;
}

/** End of a command line. Its output was printed before. */
export interface CommandEnd {
  readonly exitCode: number;
  readonly cwd: string;
}

/** The parts of the session that a shell uses. */
export interface ShellParts {
  readonly fs: FileSystem;
  /** Initial working directory. */
  readonly home: string;
  /** Byte that the supervisor sets to interrupt the running command. */
  readonly interrupt: Uint8Array;
  /** Blocks for `ms` or until an interrupt. */
  readonly pause: (ms: number) => void;
  /** Runs a Python program. Without a route, its output is in the result. */
  readonly runProgram: (request: ProgramRequest, route: Route | undefined) => Promise<ProgramResult>;
  readonly print: TerminalParts["print"];
  readonly outputBytes: number;
}

/** Device number of `/dev/zero`, which Emscripten does not have. */
const ZERO_DEVICE = 1 << 8 | 5;
const VARIABLES = {
  USER,
  LOGNAME: USER,
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
  PATH: "/usr/bin:/bin",
};

/** Values, between two commands, of those parts of the engine's state that an aborted command leaves wrong. */
const IDLE_STATE = {
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
  processSubstitutions: undefined,
  processSubstitutionFsMounted: undefined,
};

interface State {
  readonly env: ReadonlyMap<string, string>;
  readonly exportedVars: ReadonlySet<string>;
  readonly cwd: string;
  readonly [name: string]: unknown;
}

/** The engine as patched by `shell_bundle.ts`, with a hook at the start of each script. */
interface PatchedBash extends Pick<Bash, "exec"> {
  /** Initial state of the next script. */
  state: State;
  execInScope: (
    script: string,
    options: object | undefined,
    scope: unknown,
    depth: number,
    ...rest: unknown[]
  ) => Promise<unknown>;
  readonly commands: ReadonlyMap<string, unknown>;
  readonly limits: ShellLimits;
  readonly logResult: TerminalParts["toText"];
  /** Called when a script starts. Returns the interpreter that runs it. */
  onStart: (interpreter: Interpreter, state: State) => Interpreter;
}

/** A shell that keeps its working directory, variables and functions from command to command. */
export class Shell {
  readonly #parts: ShellParts;
  #bash: PatchedBash;
  #failure: { error: unknown } | undefined;
  readonly #limits: ShellLimits;
  readonly #terminal: ShellTerminal;
  /** State of the running script, and of the last top-level script. */
  #runningState: State | undefined;
  #lastState: State | undefined;

  constructor(parts: ShellParts) {
    this.#parts = parts;
    this.#limits = shellLimits(parts.outputBytes);
    this.#terminal = new ShellTerminal({
      print: parts.print,
      toText: (printed) => this.#bash.logResult(printed),
    });
    this.#bash = this.#createEngine();
    this.#addFiles();
  }

  /** Runs a command line until it ends or is interrupted. Throws only if the Python interpreter is lost. */
  async run({ command, stdin = "" }: ShellRequest): Promise<CommandEnd> {
    Object.assign(this.#bash.limits, this.#limits, INTERRUPTIBLE_LIMITS);
    const signal = clock.startCommand(
      this.#parts.interrupt,
      () => Object.assign(this.#bash.limits, STOP_LIMITS),
    );
    this.#runningState = undefined;
    const running = this.#bash.exec(command, { rawScript: true, stdin, signal: signal as never });
    const { stdout, stderr, exitCode } = await clock.waitFor(running, this.#parts.pause);
    if (this.#failure) throw this.#failure.error;
    const state = this.#lastState ?? this.#bash.state;
    this.#bash.state = { ...state, ...IDLE_STATE, lastExitCode: exitCode };
    this.#terminal.flush();
    this.#parts.print("stdout", stdout);
    this.#parts.print("stderr", clock.interrupted ? stderr.replace(STOP_MESSAGE, "") : stderr);
    return { exitCode: exitCode & 0xff, cwd: this.#bash.state.cwd };
  }

  /** Discards all state of earlier commands. */
  reset(): void {
    this.#bash = this.#createEngine();
  }

  #createEngine(): PatchedBash {
    const bash = this.#createBash();
    const pristine = bash.state;
    const runInScope = bash.execInScope.bind(bash);
    let scriptDepth = 0;
    bash.onStart = (interpreter, state) => {
      enableNameSplitting(interpreter);
      this.#runningState = state;
      reportRedirectErrors(interpreter);
      return scriptDepth === 0 ? this.#terminal.attach(interpreter) : interpreter;
    };
    bash.execInScope = async (script, options, scope, depth, ...rest) => {
      const outer = this.#runningState;
      if (outer && depth > 0) bash.state = isChildProcess(options) ? childState(outer, pristine) : outer;
      scriptDepth = depth;
      const run = () => runInScope(script, options, scope, depth, ...rest);
      try {
        return await (depth === 0 ? run() : this.#terminal.runCaptured(run));
      } finally {
        if (depth === 0) this.#lastState = this.#runningState;
        else this.#runningState = outer;
      }
    };
    return bash;
  }

  #createBash(): PatchedBash {
    const { fs, home } = this.#parts;
    return new Bash({
      fs: new ShellFiles(fs),
      cwd: home,
      env: { ...VARIABLES, HOME: home },
      customCommands: createCommands((request) => this.#runPython(request)),
      executionLimits: this.#limits,
      defenseInDepth: false,
    }) as unknown as PatchedBash;
  }

  async #runPython(request: ProgramRequest): Promise<ProgramResult> {
    try {
      this.#terminal.flush();
      return await this.#parts.runProgram(request, this.#terminal.route);
    } catch (error) {
      this.#failure = { error };
      clock.abort();
      throw error;
    }
  }

  /** Adds the commands as files, so that `which` and `ls` find them, and `/dev/zero`. */
  #addFiles(): void {
    const { fs } = this.#parts;
    const names = [...this.#bash.commands.keys()];
    const files = names.map((name) => ({ path: `/${name}`, contents: new Uint8Array(0) }));
    fs.mkdirTree("/usr/bin");
    fs.mount(createReadOnlyFileSystem(fs, files), {}, "/usr/bin");
    fs.symlink("/usr/bin", "/bin");
    fs.registerDevice(ZERO_DEVICE, {
      read: (_stream, buffer, offset, length) => (buffer.fill(0, offset, offset + length), length),
      write: (_stream, _buffer, _offset, length) => length,
    });
    fs.mkdev("/dev/zero", 0o666, ZERO_DEVICE);
  }
}

function enableNameSplitting(interpreter: Interpreter): void {
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = (node, ...rest) => {
    return command(splitCommandName(node), ...rest);
  };
}

/** True if a script is a separate process. A script that is only expanded inside another has no `cwd` option. */
function isChildProcess(options: object | undefined): boolean {
  return options !== undefined && "cwd" in options;
}

/** Returns the state that a child process inherits: of the variables only the exported ones. */
function childState(parent: State, pristine: State): State {
  const initial = [...pristine.env].filter(([name]) => !pristine.exportedVars.has(name));
  const exported = [...parent.env].filter(([name]) => parent.exportedVars.has(name));
  const env = new Map([...initial, ...exported]);
  return {
    ...pristine,
    env,
    exportedVars: parent.exportedVars,
    cwd: parent.cwd,
    previousDir: parent.previousDir,
  };
}

interface Word {
  readonly type: string;
  readonly parts: readonly { readonly type: string }[];
}

interface SimpleCommand {
  readonly type: string;
  readonly name?: Word | null;
  readonly args?: readonly Word[];
}

const EXPANSIONS = new Set(["ParameterExpansion", "CommandSubstitution"]);
/** `${paddock_nothing-}`: if a command's name is empty, the engine uses the first argument as the name. */
const EMPTY_NAME = {
  type: "Word",
  parts: [{
    type: "ParameterExpansion",
    parameter: "paddock_nothing",
    operation: { type: "DefaultValue", word: { type: "Word", parts: [] }, checkEmpty: false },
  }],
};

/** Returns a command whose name is split into words, as its arguments are. Example: `run='python -u'; $run a.py`. */
export function splitCommandName<Node extends SimpleCommand>(node: Node): Node {
  const { type, name, args = [] } = node;
  const [part, ...more] = name?.parts ?? [];
  if (type !== "SimpleCommand" || !name || !part || more.length > 0 || !EXPANSIONS.has(part.type)) {
    return node;
  }
  return { ...node, name: EMPTY_NAME, args: [name, ...args] };
}

/**
 * Makes a command fail if the file system refuses its redirection, such as one to a read-only file. Without this,
 * the error would end the engine and everything that runs in it.
 */
export function reportRedirectErrors(interpreter: Interpreter): Interpreter {
  const command = interpreter.executeCommand.bind(interpreter);
  const guarded: Interpreter["executeCommand"] = async (...args) => {
    try {
      return await command(...args);
    } catch (error) {
      if (!(error instanceof PathError)) throw error;
      return { stdout: "", stderr: `bash: ${error.path}: ${error.shellText}\n`, exitCode: 1 };
    }
  };
  interpreter.executeCommand = interpreter.ctx.executeCommand = guarded;
  return interpreter;
}
