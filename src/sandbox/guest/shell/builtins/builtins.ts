import type { ShellJobs } from "../jobs/jobs.ts";
import { latin1Bytes } from "../script/byte_text.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import type { ShellTraps } from "../traps.ts";
import {
  type Builtin,
  type BuiltinCall,
  type BuiltinInterpreter,
  complained,
  type ShellState,
} from "./builtin.ts";
import {
  caller,
  changeFolder,
  exit,
  leaveLoop,
  letVariables,
  logout,
  returnFrom,
  shift,
  sourceStdin,
} from "./control_flow.ts";
import { echoBytes } from "./echo.ts";
import { enable, runFile } from "./enable.ts";
import { countCall, hash } from "./hash.ts";
import { countShells, EXEC_END, EXEC_START } from "./exec.ts";
import { exportFunctions, functionVariables } from "./functions.ts";
import { killBuiltin } from "./kill.ts";
import { times, ulimit } from "./limits.ts";
import { getopts, mapfile, read } from "./read_options.ts";
import { set, shopt } from "./shell_options.ts";
import { testExpressions } from "./test.ts";
import { alias, compgen, declareNames, describeNames, listReadOnly, local, unset } from "./variables.ts";
import { MENU, menu, MENU_END, menuEnd } from "./select.ts";
import { evalLines, LINES, runLines } from "../script/alias_lines.ts";
import { shortLived } from "../script/short_lived.ts";

const decoder = new TextDecoder();

/** Takes from the stdin of a group what a command has read of it. */
function takeStdin(
  output: CommandOutput & { readonly internalStdinConsumed?: number },
  state: ShellState,
  ownStdin: string,
): CommandOutput {
  const { groupStdin = "", groupStdinSourceFd } = state;
  const { internalStdinConsumed: taken = 0 } = output;
  if (ownStdin !== "" || taken === 0 || groupStdin === "") return output;
  state.groupStdin = groupStdinSourceFd === undefined ? "" : groupStdin.slice(taken);
  return output;
}

/** The builtins of a shell that the engine lacks or gets wrong. */
export class ShellBuiltins {
  readonly #traps: ShellTraps;
  readonly #jobs: ShellJobs;
  readonly #builtins: ReadonlyMap<string, Builtin>;

  constructor(parts: { readonly traps: ShellTraps; readonly jobs: ShellJobs }) {
    const { traps, jobs } = parts;
    this.#traps = traps;
    this.#jobs = jobs;
    const noJobControl: Builtin = ({ name }) => complained(`${name}: no job control`);
    const builtins: Record<string, Builtin> = {
      ".": sourceStdin,
      "[": testExpressions,
      alias,
      bg: noJobControl,
      break: leaveLoop,
      cd: changeFolder,
      caller,
      continue: leaveLoop,
      command: describeNames,
      compgen,
      declare: declareNames,
      disown: ({ args }) => jobs.disown(args),
      echo: echoBytes,
      enable,
      eval: evalLines,
      exec: (call) => this.#exec(call),
      exit,
      export: exportFunctions,
      fg: noJobControl,
      getopts,
      hash,
      jobs: ({ args }) => jobs.list(args),
      kill: killBuiltin({ jobs, signalSelf: (signal, call) => traps.raise(signal, call) }),
      let: letVariables,
      local,
      logout,
      mapfile,
      read,
      readarray: mapfile,
      readonly: listReadOnly,
      return: returnFrom,
      set,
      shift,
      shopt,
      source: sourceStdin,
      test: testExpressions,
      times,
      trap: ({ args, state }) => traps.run(args, state),
      type: describeNames,
      typeset: declareNames,
      ulimit,
      unset,
      wait: ({ args, state }) => jobs.wait(args, state as never),
      [LINES]: runLines,
      [MENU]: menu,
      [MENU_END]: menuEnd,
      [EXEC_END]: async ({ state, run }) => {
        traps.forgetExit(state);
        countShells(state, 1);
        return await run("exit", [String(state.lastExitCode)]);
      },
      [EXEC_START]: ({ state }) => {
        countShells(state, -1);
        return { stdout: "", stderr: "", exitCode: state.lastExitCode };
      },
    };
    this.#builtins = new Map(Object.entries(builtins));
  }

  /** Runs the builtins, and functions with their traps, in scripts of an interpreter. */
  attach(interpreter: ScriptInterpreter, state: object): void {
    const own = interpreter as BuiltinInterpreter;
    const shell = state as ShellState;
    const engine = own.runCommand.bind(own);
    own.runCommand = shortLived((name, args, quoted, stdin, skipsFunctions = false, ...rest) => {
      const run = () => {
        own.ctx.programName = name.includes("/") ? name : undefined;
        return engine(name, args, quoted, stdin, skipsFunctions, ...rest);
      };
      if (!skipsFunctions && shell.functions.has(name)) return this.#runFunction(own, shell, run);
      const builtin = shell.disabledBuiltins?.has(name) ? runFile : this.#builtins.get(name);
      if (!builtin) {
        countCall(shell, name);
        return shell.groupStdin === undefined
          ? run()
          : run().then((output) => takeStdin(output, shell, stdin));
      }
      const runOther = (other: string, words: readonly string[]) => {
        return engine(other, words, words.map(() => true), stdin, true, ...rest);
      };
      const source = rest[1];
      const stdinDescriptor = typeof source === "number" && source > 2 ? { stdinDescriptor: source } : {};
      const call = { name, args, stdin, ...stdinDescriptor, state: shell, interpreter: own, run: runOther };
      return Promise.try(() => builtin(call)).then((result) => {
        return result ? { ...result, internalProducerCommand: name } as typeof result : run();
      });
    });
    const environment = own.buildExportedEnv.bind(own);
    own.buildExportedEnv = shortLived(() => {
      return shell.exportedFunctions?.size
        ? { ...environment(), ...functionVariables(shell) }
        : environment();
    });
  }

  /** `exec` whose name or options are expanded from a variable. It runs the command, and ends the shell. */
  async #exec({ args, state, run }: BuiltinCall): Promise<CommandOutput | undefined> {
    const [name, ...words] = args;
    if (name === undefined) return undefined;
    const { stdout, stdoutKind, stderr, exitCode } = await run(name, words);
    this.#traps.forgetExit(state);
    try {
      return await run("exit", [String(exitCode)]);
    } catch (error) {
      const text = stdoutKind === "bytes" ? decoder.decode(latin1Bytes(stdout)) : stdout;
      throw Object.assign(error as Error, { stdout: text, stderr });
    }
  }

  /** Runs a function, in which the loops around its call cannot be left. */
  async #runFunction(
    interpreter: BuiltinInterpreter,
    state: ShellState,
    run: () => ReturnType<BuiltinInterpreter["runCommand"]>,
  ): ReturnType<BuiltinInterpreter["runCommand"]> {
    const depth = state.loopDepth;
    state.loopDepth = 0;
    try {
      return await this.#jobs.runFunction(() => this.#traps.runFunction(interpreter, state, run));
    } finally {
      state.loopDepth = depth;
    }
  }
}
