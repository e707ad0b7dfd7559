import { PathError } from "../errno.ts";
import type { ShellLimits } from "./clock.ts";
import { Bash } from "./engine.ts";
import type { ShellFiles } from "./files.ts";
import { decodeState, encodeState, type ShellImage } from "./shell_image.ts";
import { type AbortNotice, createCommands, type ProgramRequest, type ProgramResult } from "./programs.ts";
import type { BuiltinInterpreter, ShellState } from "./builtins/builtin.ts";
import { ShellBuiltins } from "./builtins/builtins.ts";
import { toAssignedArrays } from "./builtins/declared_arrays.ts";
import { EMPTY_NAME, toExecGroup } from "./builtins/exec.ts";
import { functionDefinitions, functionVariable } from "./builtins/functions.ts";
import { toMenuLoop } from "./builtins/select.ts";
import { ShellJobs } from "./jobs.ts";
import { ShellTraps } from "./traps.ts";
import type { CommandOutput, ScriptInterpreter, ShellTerminal, TerminalParts } from "./terminal.ts";

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
  readonly functions: ShellState["functions"];
  readonly exportedFunctions?: ReadonlySet<string>;
  /** Variables that precede a command. */
  readonly tempExportedVars?: ReadonlySet<string>;
  readonly bashPid: number;
  lastExitCode: number;
  readonly [name: string]: unknown;
}

/** The engine as patched by `shell_bundle.ts`, with a hook at the start of each script. */
interface PatchedBash extends Pick<Bash, "exec"> {
  /** Initial state of the next script. */
  state: State;
  execInScope: (
    script: string,
    options: ChildOptions | undefined,
    scope: unknown,
    depth: number,
    ...rest: unknown[]
  ) => Promise<unknown>;
  readonly commands: ReadonlyMap<string, unknown>;
  readonly limits: ShellLimits;
  readonly logResult: TerminalParts["toText"];
  /** Called when a script starts. Returns the interpreter that runs it. */
  onStart: (interpreter: ScriptInterpreter, state: State) => ScriptInterpreter;
}

/** Options of a script, as the engine takes them. */
export interface ScriptOptions {
  readonly stdin: string;
  /** `bytes` if each character of `stdin` is one byte. */
  readonly stdinKind?: "bytes";
  /** Arguments of the script's first command, which are not parsed. */
  readonly args?: readonly string[];
  readonly signal: unknown;
}

/** The parts of a {@linkcode ScriptEngine}. */
export interface ScriptEngineParts {
  readonly files: ShellFiles;
  readonly cwd: string;
  /** The exported variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ShellLimits;
  readonly terminal: ShellTerminal;
  readonly runPython: (request: ProgramRequest, signal?: AbortNotice) => Promise<ProgramResult>;
  /** True if programs that the engine starts get no variables beside those of `env`. */
  readonly isProgram?: boolean;
  /** Called before each command of a script. */
  readonly beforeCommand?: () => Promise<void> | undefined;
}

/** The engine of a shell, with the changes that make it a shell of the session. */
export class ScriptEngine {
  readonly #bash: PatchedBash;
  /** State of the running script, and of the last top-level script. */
  #runningState: State | undefined;
  #lastState: State | undefined;
  /** The shell that a command starts, until its script starts. */
  #startedShell: { readonly isCommandString: boolean } | undefined;
  /** Functions that a program's shell gets by its variables, until they are defined. */
  #definitions: string;

  constructor({ files, cwd, env, limits, terminal, runPython, isProgram, beforeCommand }: ScriptEngineParts) {
    const traps = new ShellTraps();
    const jobs = new ShellJobs();
    const builtins = new ShellBuiltins({ traps, jobs });
    const bash = this.#bash = new Bash({
      fs: files,
      cwd,
      env: { ...env },
      customCommands: [
        ...createCommands(files, runPython, (isCommandString) => this.#startedShell = { isCommandString }),
      ],
      executionLimits: limits,
      defenseInDepth: false,
    }) as unknown as PatchedBash;
    addVersion(bash.state as unknown as Record<string, unknown>);
    if (isProgram) bash.state = programState(bash.state, env);
    const pristine = bash.state;
    this.#definitions = isProgram ? functionDefinitions(env) : "";
    const runInScope = bash.execInScope.bind(bash);
    let scriptDepth = 0;
    bash.onStart = (interpreter, state) => {
      const unsetCode = scriptDepth === 0 || this.#startedShell?.isCommandString
        ? COMMAND_STRING_UNSET_CODE
        : 1;
      this.#startedShell = undefined;
      endAtUnset(interpreter, state, unsetCode);
      enableNameSplitting(interpreter);
      this.#runningState = state;
      reportRedirectErrors(interpreter);
      keepMask(interpreter, files);
      Object.assign(interpreter.ctx, { onProgram: (program: State) => becomeProgram(program, pristine) });
      builtins.attach(interpreter, state);
      traps.attach(interpreter, state);
      jobs.attach(interpreter, state);
      if (beforeCommand) delayCommands(interpreter, beforeCommand);
      return scriptDepth === 0 ? terminal.attach(interpreter) : interpreter;
    };
    bash.execInScope = async (script, given, scope, depth, ...rest) => {
      const outer = this.#runningState;
      let options = given;
      if (outer && depth > 0) {
        if (this.#startedShell && isChildProcess(options)) options = countShell(outer, options);
        bash.state = isChildProcess(options) ? childState(outer, pristine, options) : outer;
      }
      scriptDepth = depth;
      const run = () => runInScope(script, options, scope, depth, ...rest);
      try {
        return await (depth === 0 ? run() : terminal.runCaptured(run));
      } finally {
        if (depth === 0) this.#lastState = this.#runningState;
        else this.#runningState = outer;
      }
    };
  }

  get commandNames(): string[] {
    return [...this.#bash.commands.keys()];
  }

  /** The limits, which may be changed while a script runs. */
  get limits(): ShellLimits {
    return this.#bash.limits;
  }

  /** The engine's last conversion, which decodes bytes to text. */
  toText(printed: Parameters<TerminalParts["toText"]>[0]): ReturnType<TerminalParts["toText"]> {
    return this.#bash.logResult(printed);
  }

  /** Runs a script. The result has the output that the terminal did not print. */
  async run(script: string, options: ScriptOptions): Promise<CommandOutput> {
    if (this.#definitions !== "") await this.#defineFunctions(options);
    this.#runningState = undefined;
    return await this.#bash.exec(script, { rawScript: true, ...options } as never);
  }

  async #defineFunctions({ signal }: ScriptOptions): Promise<void> {
    const script = this.#definitions;
    this.#definitions = "";
    await this.run(script, { stdin: "", signal });
    this.keepState(0);
  }

  /** Returns the state between two scripts. Throws if a part of it is no data. */
  capture(): ShellImage {
    return encodeState(this.#bash.state);
  }

  /** Sets the state between two scripts. */
  restore(image: ShellImage): void {
    this.#bash.state = decodeState(image) as State;
  }

  /** Makes the state at the end of the last script that of the next one. Returns the working directory. */
  keepState(exitCode: number): string {
    const state = this.#lastState ?? this.#bash.state;
    this.#bash.state = { ...state, ...IDLE_STATE, lastExitCode: exitCode };
    return this.#bash.state.cwd;
  }
}

/** Returns the initial state of a program's shell, which exports only what the program gives it. */
function programState(state: State, env: ScriptEngineParts["env"]): State {
  const variables = new Map(state.env);
  if (!("HOME" in env)) variables.delete("HOME");
  return { ...state, env: variables, exportedVars: new Set(Object.keys(env)) };
}

/** Calls a function before each command, and waits for it. */
function delayCommands(interpreter: ScriptInterpreter, before: () => Promise<void> | undefined): void {
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = async (...args) => {
    await before();
    return await command(...args);
  };
}

/** Lets `umask` in a subshell or substitution hold for that only. */
function keepMask(interpreter: ScriptInterpreter, files: ShellFiles): void {
  const own = interpreter as BuiltinInterpreter & {
    executeScript: ScriptInterpreter["ctx"]["executeScript"];
  };
  const state = own.ctx.state as ShellState;
  const command = own.executeCommand.bind(own);
  const script = own.executeScript.bind(own);
  const keep = (run: () => Promise<CommandOutput>) => {
    const { umask } = files;
    return run().finally(() => files.umask = umask);
  };
  own.executeCommand = own.ctx.executeCommand = (node, ...rest) => {
    return node.type === "Subshell" ? keep(() => command(node, ...rest)) : command(node, ...rest);
  };
  let pid = state.bashPid;
  own.executeScript = own.ctx.executeScript = (...args) => {
    const outer = pid;
    if (state.bashPid === outer) return script(...args);
    pid = state.bashPid;
    return keep(() => script(...args)).finally(() => pid = outer);
  };
}

/** Exit code of a script in the arguments of a shell when a variable that must be set is not; a file's is 1. */
const COMMAND_STRING_UNSET_CODE = 127;

/** Sets what ends when a variable that must be set is not: the script, or the one that runs it by `eval`. */
function endAtUnset(interpreter: ScriptInterpreter, { bashPid: main }: State, code: number): void {
  const own = interpreter as BuiltinInterpreter & {
    executeScript: ScriptInterpreter["ctx"]["executeScript"];
    onUnset: () => number | undefined;
  };
  const state = own.ctx.state as ShellState;
  const scripts: number[] = [];
  const script = own.executeScript.bind(own);
  own.executeScript = own.ctx.executeScript = async (...args) => {
    scripts.push(state.bashPid);
    try {
      return await script(...args);
    } finally {
      scripts.pop();
    }
  };
  own.onUnset = () => {
    const [pid, outer] = scripts.toReversed();
    if (pid === outer) return undefined;
    return pid === main ? code : 1;
  };
}

const VERSION = ["5", "2", "15", "1", "release", "x86_64-pc-linux-gnu"];

/** Adds the array that has the version of bash. */
function addVersion(state: Record<string, unknown>): void {
  const elements = new Map(VERSION.map((part, at) => [String(at), part]));
  const arrays = state.arrays instanceof Map ? state.arrays : [];
  state.arrays = new Map([...arrays, ["BASH_VERSINFO", { kind: "indexed", elements }]]);
}

function enableNameSplitting(interpreter: ScriptInterpreter): void {
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = (node, ...rest) => {
    return command(splitCommandName(node), ...rest);
  };
}

/** Options of a script that a command runs. */
interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** True if `env` has all variables. */
  readonly replaceEnv?: boolean;
}

/** Names of variables. The engine also passes a script's arguments by names such as `1` and `@`. */
const NAME = /^[A-Za-z_]\w*$/;

/** True if a script is a separate process. A script that is only expanded inside another has no `cwd` option. */
function isChildProcess(options: ChildOptions | undefined): options is ChildOptions {
  return options !== undefined && "cwd" in options;
}

/** Sets of names of variables with a type, of which a program has none at its start. */
const TYPED_VARIABLES = ["associativeArrays", "integerVars", "lowercaseVars", "namerefs", "uppercaseVars"];

/** Makes a copy of a script's state that of a program that the script calls by its path. */
function becomeProgram(state: State, pristine: State): void {
  const program = childState(state, pristine, { env: Object.fromEntries(temporaryVariables(state)) });
  const special = [...state.env].filter(([name]) => !NAME.test(name));
  const { env, functions, arrays, options, shoptOptions, readonlyVars } = program;
  const kept = new Map([...special, ...env, ...temporaryVariables(state)]);
  kept.set("SHLVL", String((Number(kept.get("SHLVL")) || 0) + 1));
  const ownSets = Object.fromEntries(TYPED_VARIABLES.map((name) => [name, new Set()]));
  Object.assign(state, {
    ...ownSets,
    env: kept,
    functions,
    arrays: new Map(arrays as Map<string, unknown>),
    options: { ...options as object },
    shoptOptions: { ...shoptOptions as object },
    readonlyVars: new Set(readonlyVars as Set<string>),
    localScopes: [],
    inCondition: false,
  });
}

/** Returns the variables that precede a command, such as `x=1 ./script`. */
function temporaryVariables({ env, tempExportedVars = new Set() }: State): [name: string, value: string][] {
  return [...tempExportedVars].map((name) => [name, env.get(name) ?? ""]);
}

/** Returns options with the depth of a shell that another one starts. */
function countShell(parent: State, options: ChildOptions): ChildOptions {
  const outer = options.env?.SHLVL ??
    (parent.exportedVars.has("SHLVL") ? parent.env.get("SHLVL") : undefined);
  return { ...options, env: { ...options.env, SHLVL: String((Number(outer) || 0) + 1) } };
}

/** Returns the state that a child process inherits: of the variables only the exported ones. */
function childState(
  parent: State,
  pristine: State,
  { env: given = {}, replaceEnv }: ChildOptions,
): State {
  const initial = [...pristine.env].filter(([name]) => !pristine.exportedVars.has(name));
  const exported = [...parent.env].filter(([name]) => parent.exportedVars.has(name));
  const env = new Map([...initial, ...exported]);
  const functions = [...parent.functions].filter(([name]) => {
    return parent.exportedFunctions?.has(name) && (!replaceEnv || functionVariable(name) in given);
  });
  return {
    ...pristine,
    env,
    functions: new Map(functions),
    ...(parent.exportedFunctions && { exportedFunctions: new Set(functions.map(([name]) => name)) }),
    exportedVars: new Set([...parent.exportedVars, ...Object.keys(given).filter((name) => NAME.test(name))]),
    cwd: parent.cwd,
    previousDir: parent.previousDir,
  };
}

interface WordPart {
  readonly type: string;
  readonly parts?: readonly { readonly parameter?: string }[];
}

interface Word {
  readonly type: string;
  readonly parts: readonly WordPart[];
}

interface SimpleCommand {
  readonly type: string;
  readonly name?: Word | null;
  readonly args?: readonly Word[];
  /** Words of a loop. */
  readonly words?: readonly Word[] | null;
  readonly isSelect?: boolean;
}

const EXPANSIONS = new Set(["ParameterExpansion", "CommandSubstitution"]);

/** True if a part of a word may expand to several words. */
function isSplit({ type, parts = [] }: WordPart): boolean {
  const [inner, ...more] = parts;
  return EXPANSIONS.has(type) ||
    (type === "DoubleQuoted" && more.length === 0 && /^@$|\[@\]$/.test(inner?.parameter ?? ""));
}

/** `"$@"`: the engine splits the arguments of `for name; do` at blanks. */
const ALL_ARGUMENTS = {
  type: "Word",
  parts: [{
    type: "DoubleQuoted",
    parts: [{ type: "ParameterExpansion", parameter: "@", operation: null }],
  }],
};

/**
 * Returns a command whose name is split into words, as its arguments are, and a loop over all arguments. Example:
 * `run='python -u'; $run a.py`.
 */
function splitCommandName<Node extends SimpleCommand>(node: Node): Node {
  const { type, name, args = [] } = node;
  if (node.isSelect) return toMenuLoop(node as never);
  const group = toExecGroup(node as never) ?? toAssignedArrays(node as never);
  if (group) return group;
  if (type === "For" && node.words === null) return { ...node, words: [ALL_ARGUMENTS] };
  const [part, ...more] = name?.parts ?? [];
  if (type !== "SimpleCommand" || !name || !part || more.length > 0 || !isSplit(part)) {
    return node;
  }
  return { ...node, name: EMPTY_NAME, args: [name, ...args] };
}

/**
 * Makes a command fail if the file system refuses its redirection, such as one to a read-only file. Without this,
 * the error would end the engine and everything that runs in it.
 */
function reportRedirectErrors(interpreter: ScriptInterpreter): ScriptInterpreter {
  const command = interpreter.executeCommand.bind(interpreter);
  const guarded: ScriptInterpreter["executeCommand"] = async (...args) => {
    try {
      return await command(...args);
    } catch (error) {
      if (!(error instanceof PathError)) throw error;
      return { stdout: "", stderr: `bash: ${error.path}: ${error.shellText}\n`, exitCode: 1 };
    }
  };
  interpreter.executeCommand = interpreter.ctx.executeCommand = (node, ...rest) => {
    return node.redirections?.length ? guarded(node, ...rest) : command(node, ...rest);
  };
  return interpreter;
}
