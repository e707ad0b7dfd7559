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

/** What became of a command line; what it printed has been passed on. */
export interface CommandEnd {
  readonly exitCode: number;
  readonly cwd: string;
}

/** What the shell stands on. */
export interface ShellParts {
  readonly fs: FileSystem;
  /** Where it starts. */
  readonly home: string;
  /** The byte that the supervisor sets to stop what runs. */
  readonly interrupt: Uint8Array;
  /** Blocks for so long, or until an interrupt. */
  readonly pause: (ms: number) => void;
  /** Runs a program; what it prints goes where the route leads, and without one into its end. */
  readonly runProgram: (request: ProgramRequest, route: Route | undefined) => ProgramResult;
  readonly print: TerminalParts["print"];
  readonly outputBytes: number;
}

/** The number of `/dev/zero`, which Emscripten does not have. */
const ZERO = 1 << 8 | 5;
const VARIABLES = {
  USER,
  LOGNAME: USER,
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
  PATH: "/usr/bin:/bin",
};

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
  processSubstitutions: undefined,
  processSubstitutionFsMounted: undefined,
};

interface State {
  readonly env: ReadonlyMap<string, string>;
  readonly exportedVars: ReadonlySet<string>;
  readonly cwd: string;
  readonly [name: string]: unknown;
}

/** The engine as it is after `shell_bundle.ts` has changed it: it shows each script that starts. */
interface OpenBash extends Pick<Bash, "exec"> {
  /** What the next script starts from. */
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
  /** Gives what the script will be run by. */
  onStart: (interpreter: Interpreter, state: State) => Interpreter;
}

/** One shell: its working directory, variables and functions last from command to command. */
export class Shell {
  readonly #parts: ShellParts;
  #bash: OpenBash;
  #failure: { error: unknown } | undefined;
  readonly #limits: ShellLimits;
  readonly #terminal: ShellTerminal;
  /** The state of the script that runs now, and of the last one that was no part of another. */
  #live: State | undefined;
  #started: State | undefined;

  constructor(parts: ShellParts) {
    this.#parts = parts;
    this.#limits = shellLimits(parts.outputBytes);
    this.#terminal = new ShellTerminal({
      print: parts.print,
      toText: (printed) => this.#bash.logResult(printed),
    });
    this.#bash = this.#start();
    this.#addFiles();
  }

  /** Runs a command line to its end or to an interrupt. Throws only when the interpreter itself is lost. */
  async run({ command, stdin = "" }: ShellRequest): Promise<CommandEnd> {
    Object.assign(this.#bash.limits, this.#limits, INTERRUPTIBLE_LIMITS);
    const signal = clock.begin(this.#parts.interrupt, () => Object.assign(this.#bash.limits, STOP_LIMITS));
    this.#live = undefined;
    const running = this.#bash.exec(command, { rawScript: true, stdin, signal: signal as never });
    const { stdout, stderr, exitCode } = await clock.settle(running, this.#parts.pause);
    if (this.#failure) throw this.#failure.error;
    const state = this.#started ?? this.#bash.state;
    this.#bash.state = { ...state, ...AT_REST, lastExitCode: exitCode };
    this.#terminal.flush();
    this.#parts.print("stdout", stdout);
    this.#parts.print("stderr", clock.interrupted ? stderr.replace(STOP_MESSAGE, "") : stderr);
    return { exitCode: exitCode & 0xff, cwd: this.#bash.state.cwd };
  }

  /** Forgets all that commands have set. */
  reset(): void {
    this.#bash = this.#start();
  }

  #start(): OpenBash {
    const bash = this.#newBash();
    const pristine = bash.state;
    const inScope = bash.execInScope.bind(bash);
    let ownDepth = 0;
    bash.onStart = (interpreter, state) => {
      splitNames(interpreter);
      this.#live = state;
      reportRedirectErrors(interpreter);
      return ownDepth === 0 ? this.#terminal.attach(interpreter) : interpreter;
    };
    bash.execInScope = async (script, options, scope, depth, ...rest) => {
      const outer = this.#live;
      if (outer && depth > 0) bash.state = isChild(options) ? childState(outer, pristine) : outer;
      ownDepth = depth;
      const run = () => inScope(script, options, scope, depth, ...rest);
      try {
        return await (depth === 0 ? run() : this.#terminal.runCaptured(run));
      } finally {
        if (depth === 0) this.#started = this.#live;
        else this.#live = outer;
      }
    };
    return bash;
  }

  #newBash(): OpenBash {
    const { fs, home } = this.#parts;
    return new Bash({
      fs: new ShellFiles(fs),
      cwd: home,
      env: { ...VARIABLES, HOME: home },
      customCommands: createCommands((request) => this.#runPython(request)),
      executionLimits: this.#limits,
      defenseInDepth: false,
    }) as unknown as OpenBash;
  }

  #runPython(request: ProgramRequest): ProgramResult {
    try {
      this.#terminal.flush();
      return this.#parts.runProgram(request, this.#terminal.route);
    } catch (error) {
      this.#failure = { error };
      clock.abort();
      throw error;
    }
  }

  /** Shows the commands as files, for `which` and for those that look, and adds a device that shells expect. */
  #addFiles(): void {
    const { fs } = this.#parts;
    const names = [...this.#bash.commands.keys()];
    const files = names.map((name) => ({ path: `/${name}`, contents: new Uint8Array(0) }));
    fs.mkdirTree("/usr/bin");
    fs.mount(createReadOnlyFileSystem(fs, files), {}, "/usr/bin");
    fs.symlink("/usr/bin", "/bin");
    fs.registerDevice(ZERO, {
      read: (_stream, buffer, offset, length) => (buffer.fill(0, offset, offset + length), length),
      write: (_stream, _buffer, _offset, length) => length,
    });
    fs.mkdev("/dev/zero", 0o666, ZERO);
  }
}

function splitNames(interpreter: Interpreter): void {
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = (node, ...rest) => {
    return command(splitCommandName(node), ...rest);
  };
}

/** Whether a script is a process of its own; what is expanded inside of another has no directory to name. */
function isChild(options: object | undefined): boolean {
  return options !== undefined && "cwd" in options;
}

/** What a process inherits: the exported variables, and none of the rest. */
function childState(parent: State, pristine: State): State {
  const own = [...pristine.env].filter(([name]) => !pristine.exportedVars.has(name));
  const exported = [...parent.env].filter(([name]) => parent.exportedVars.has(name));
  const env = new Map([...own, ...exported]);
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
/** `${paddock_nothing-}`: behind a name that comes to nothing, the engine takes the first argument for the name. */
const NOTHING = {
  type: "Word",
  parts: [{
    type: "ParameterExpansion",
    parameter: "paddock_nothing",
    operation: { type: "DefaultValue", word: { type: "Word", parts: [] }, checkEmpty: false },
  }],
};

/** A command whose name is split into words as its arguments are, as in `run='python -u'; $run a.py`. */
export function splitCommandName<Node extends SimpleCommand>(node: Node): Node {
  const { type, name, args = [] } = node;
  const [part, ...more] = name?.parts ?? [];
  if (type !== "SimpleCommand" || !name || !part || more.length > 0 || !EXPANSIONS.has(part.type)) {
    return node;
  }
  return { ...node, name: NOTHING, args: [name, ...args] };
}

/**
 * Has a command fail whose redirection the file system refuses, such as one to a file that nobody may write: the
 * engine would end itself over it, and everything that runs in it.
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
