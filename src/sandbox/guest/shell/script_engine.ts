import { PathError } from "../errno.ts";
import type { ShellLimits, ShellSignal } from "./clock.ts";
import { ShellBuiltins } from "./builtins/builtins.ts";
import type { ShellState } from "./builtins/builtin.ts";
import { functionDefinitions } from "./builtins/functions.ts";
import { rewriteCommand, toReadingGroup } from "./builtins/rewritten_commands.ts";
import { Bash } from "./engine.ts";
import type { ShellFiles } from "./files.ts";
import type { StatementNode } from "./builtins/nodes.ts";
import type { JobEngine } from "./jobs/background_job.ts";
import { ShellJobs } from "./jobs/jobs.ts";
import {
  addVersion,
  becomeProgram,
  type ChildOptions,
  childState,
  countShell,
  IDLE_STATE,
  isChildProcess,
  programState,
  shellProcess,
  type State,
} from "./script/process_state.ts";
import { type AbortNotice, createCommands, type ProgramRequest, type ProgramResult } from "./programs.ts";
import { addTrace } from "./script/command_trace.ts";
import { orderKeys } from "./script/hash_order.ts";
import { sourceAliasLines, withAliasLines } from "./script/alias_lines.ts";
import { addMessageLines } from "./script/message_lines.ts";
import { MergedStreams } from "./script/merged_streams.ts";
import { OuterDescriptors } from "./script/outer_descriptors.ts";
import { COMMAND_STRING_UNSET_CODE, endAtUnset, keepScope } from "./script/script_scope.ts";
import { signalOf } from "./builtins/signal_names.ts";
import { decodeState, encodeState, type ShellImage } from "./shell_image.ts";
import type { CommandOutput, ScriptInterpreter, ShellTerminal, TerminalParts } from "./terminal.ts";
import type { StartedShell } from "./programs/shells.ts";
import { ShellTraps } from "./traps.ts";
import { shortLived } from "./script/short_lived.ts";

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
  /** `bytes` if each character of `stdin` is a byte. */
  readonly stdinKind?: "bytes";
  /** Arguments of the script's first command, which are not parsed. */
  readonly args?: readonly string[];
  readonly signal: ShellSignal;
}

/** The parts of a {@linkcode ScriptEngine}. */
export interface ScriptEngineParts {
  readonly files: ShellFiles;
  readonly cwd: string;
  /** The exported variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ShellLimits;
  readonly terminal: ShellTerminal;
  readonly runPython: (
    request: ProgramRequest,
    signal?: AbortNotice,
    options?: { readonly isJob: boolean },
  ) => Promise<ProgramResult>;
  /** True if programs that the engine starts get no variables beside `env`. */
  readonly isProgram?: boolean;
  /** Called before each command of a script. */
  readonly beforeCommand?: (interpreter: ScriptInterpreter) => Promise<void> | undefined;
  /** State of a job. */
  readonly state?: State;
  /** True if a job's stderr goes where its stdout goes. */
  readonly isMerged?: boolean;
}

/** The engine of a shell, with the changes that make it a shell of the session. */
export class ScriptEngine implements JobEngine {
  readonly #bash: PatchedBash;
  /** State of the running script, and of the last top-level script. */
  #runningState: State | undefined;
  #lastState: State | undefined;
  /** The shell that a command starts, until its script starts. */
  #startedShell: StartedShell | undefined;
  /** Functions that a program's shell gets by its variables, until they are defined. */
  #definitions: string;

  readonly #jobs: ShellJobs;
  /** Statement that runs in place of the next script's. */
  #statement: StatementNode | undefined;

  constructor(parts: ScriptEngineParts) {
    const { files, cwd, env, limits, terminal, runPython, isProgram, beforeCommand, isMerged = false } =
      parts;
    const traps = new ShellTraps();
    const jobs: ShellJobs = this.#jobs = new ShellJobs({
      files,
      createEngine: (own) =>
        new ScriptEngine({
          ...parts,
          ...own,
          isProgram: false,
          beforeCommand: (interpreter) => own.beforeCommand(interpreter) ?? beforeCommand?.(interpreter),
          runPython: (request, signal) => runPython(request, signal, { isJob: true }),
        }),
      limits: () => this.limits,
      isMerged: () => streams.isMerged,
      printer: () => terminal.printer,
    });
    const builtins = new ShellBuiltins({ traps, jobs });
    const descriptors = new OuterDescriptors({ print: (output) => terminal.show(output) });
    const streams: MergedStreams = new MergedStreams({
      isMerged,
      runCaptured: (work) => descriptors.enter(() => jobs.runCaptured(work)),
    });
    const bash = this.#bash = new Bash({
      fs: files,
      cwd,
      env: { ...env },
      customCommands: [
        ...createCommands(files, {
          runPython,
          onShell: (shell) => this.#startedShell = shell,
          streams,
          processes: {
            list: () => [...shellProcess(this.#runningState), ...jobs.processes()],
            get nextPid() {
              return jobs.nextPid;
            },
            signal: (pid, name) => jobs.signal(String(pid), signalOf(name)),
          },
        }),
      ],
      executionLimits: limits,
      defenseInDepth: false,
    }) as unknown as PatchedBash;
    addVersion(bash.state as unknown as Record<string, unknown>);
    if (isProgram) bash.state = programState(bash.state, env);
    const pristine = bash.state;
    if (parts.state) bash.state = parts.state;
    this.#definitions = isProgram ? functionDefinitions(env) : "";
    const runInScope = bash.execInScope.bind(bash);
    let scriptDepth = 0;
    bash.onStart = (interpreter, state) => {
      const unsetCode = scriptDepth === 0 || this.#startedShell?.isCommandString
        ? COMMAND_STRING_UNSET_CODE
        : 1;
      this.#startedShell = undefined;
      endAtUnset(interpreter, state, unsetCode);
      rewriteCommands(interpreter);
      this.#runningState = state;
      reportRedirectErrors(interpreter);
      addMessageLines(interpreter);
      keepScope(interpreter, files);
      sourceAliasLines(interpreter);
      this.#replaceScript(interpreter);
      Object.assign(interpreter.ctx, {
        onProgram: (program: State) => becomeProgram(program, pristine),
        orderKeys,
      });
      builtins.attach(interpreter, state);
      traps.attach(interpreter, state);
      jobs.attach(interpreter, state);
      descriptors.attach(interpreter);
      streams.attach(interpreter, { isProgram: scriptDepth > 0 });
      addTrace(interpreter, (text) => terminal.printError(text));
      if (beforeCommand) delayCommands(interpreter, beforeCommand);
      return scriptDepth === 0 ? terminal.attach(interpreter) : interpreter;
    };
    bash.execInScope = async (script, given, scope, depth, ...rest) => {
      const outer = this.#runningState;
      let options = given;
      if (outer && depth > 0) {
        if (this.#startedShell && isChildProcess(options)) options = countShell(outer, options);
        bash.state = isChildProcess(options)
          ? { ...childState(outer, pristine, options), isDash: this.#startedShell?.isDash === true }
          : outer;
      }
      scriptDepth = depth;
      const lines = withAliasLines(script, bash.state as unknown as ShellState);
      const run = () => runInScope(lines, options, scope, depth, ...rest);
      try {
        if (depth === 0) return await run();
        const program = () => streams.runProgram(run) as Promise<CommandOutput>;
        return await terminal.runCaptured(() => descriptors.enter(() => jobs.runCaptured(program)));
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
    options.signal.addEventListener("abort", () => this.#jobs.stopAll());
    const running: Promise<CommandOutput> = this.#bash.exec(script, { rawScript: true, ...options } as never);
    const output = await running.catch(toFailure);
    if (this.#jobs.wereStarted) await this.#jobs.waitForAll();
    return output;
  }

  /** Runs a statement of another script. */
  async runStatement(statement: StatementNode, signal: ScriptOptions["signal"]): Promise<CommandOutput> {
    this.#statement = statement;
    return await this.run(":", { stdin: "", signal });
  }

  /** Ends all jobs. */
  stopJobs(): void {
    this.#jobs.stopAll();
  }

  /** Lets the next script be the statement of a job. */
  #replaceScript(interpreter: ScriptInterpreter): void {
    const statement = this.#statement;
    if (!statement) return;
    this.#statement = undefined;
    const own = interpreter as ScriptInterpreter & {
      executeScript: (script: object) => Promise<CommandOutput>;
    };
    const script = own.executeScript.bind(own);
    let isFirst = true;
    own.executeScript = shortLived((given) => {
      const replaced = isFirst ? { ...given, statements: [statement] } : given;
      isFirst = false;
      return script(replaced);
    });
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

  /** Makes the state at the end of the last script the state of the next script. Returns the working directory. */
  keepState(exitCode: number): string {
    const state = this.#lastState ?? this.#bash.state;
    this.#bash.state = { ...state, ...IDLE_STATE, lastExitCode: exitCode };
    return this.#bash.state.cwd;
  }
}

/** Returns the result of a script that the engine could not run: the message of the error. */
function toFailure(error: unknown): CommandOutput {
  if (!(error instanceof Error)) throw error;
  return { stdout: "", stderr: `bash: ${error.message}\n`, exitCode: 2 };
}

/** Calls a function before each command, and waits for it. */
function delayCommands(
  interpreter: ScriptInterpreter,
  before: (interpreter: ScriptInterpreter) => Promise<void> | undefined,
): void {
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = shortLived(async (...args) => {
    await before(interpreter);
    return await command(...args);
  });
}

/** Runs commands in forms that the engine understands. */
function rewriteCommands(interpreter: ScriptInterpreter): void {
  const command = interpreter.executeCommand.bind(interpreter);
  interpreter.executeCommand = interpreter.ctx.executeCommand = shortLived((node, stdin, ...rest) => {
    return command(rewriteCommand(stdin ? toReadingGroup(node) : node), stdin, ...rest);
  });
}

/**
 * Makes a command fail if the file system refuses its redirection, such as a redirection to a read-only file. Without
 * this, the error would end the engine and everything that runs in it.
 */
function reportRedirectErrors(interpreter: ScriptInterpreter): ScriptInterpreter {
  const command = interpreter.executeCommand.bind(interpreter);
  const guarded: ScriptInterpreter["executeCommand"] = async (...args) => {
    try {
      return await command(...args);
    } catch (error) {
      if (!(error instanceof PathError)) throw error;
      const { cwd } = interpreter.ctx.state as unknown as State;
      const path = error.path.startsWith(`${cwd}/`) ? error.path.slice(cwd.length + 1) : error.path;
      return { stdout: "", stderr: `bash: ${path}: ${error.shellText}\n`, exitCode: 1 };
    }
  };
  interpreter.executeCommand = interpreter.ctx.executeCommand = shortLived((node, ...rest) => {
    return node.redirections?.length ? guarded(node, ...rest) : command(node, ...rest);
  });
  return interpreter;
}
