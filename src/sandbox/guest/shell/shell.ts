import type { FileSystem } from "../emscripten.ts";
import { mountCommands } from "../files/read_only_files.ts";
import {
  clock,
  INTERRUPTIBLE_LIMITS,
  type ShellLimits,
  shellLimits,
  STOP_LIMITS,
  STOP_MESSAGE,
} from "./clock.ts";
import { ShellFiles } from "./files.ts";
import { ShellCommands } from "./commands.ts";
import { loadModules, type ProgramRequest, type ProgramResult } from "./programs.ts";
import { USER } from "./programs/system.ts";
import { ScriptEngine } from "./script_engine.ts";
import type { ShellImage } from "./shell_image.ts";
import { type Route, ShellTerminal, type TerminalParts } from "./terminal.ts";

export type { ShellImage };

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
  /** Called at each step of a command, if the session has a virtual clock. */
  readonly onStep?: (() => void) | undefined;
  /** Runs a Python program. Without a route, its output is in the result. */
  readonly runProgram: (request: ProgramRequest, route: Route | undefined) => Promise<ProgramResult>;
  readonly print: TerminalParts["print"];
  readonly outputBytes: number;
  /** Additional environment variables. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Folder that Emscripten makes for a user that the sandbox does not have. */
const EMSCRIPTEN_HOME = "/home/web_user";
/** Device number of `/dev/zero`, which Emscripten does not have. */
const ZERO_DEVICE = 1 << 8 | 5;
const VARIABLES = {
  USER,
  LOGNAME: USER,
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
  PATH: "/usr/bin:/bin",
  SHLVL: "1",
};

/** Names of commands that are part of the engine, but files on Linux. */
const BUILTIN_FILES = ["[", "test"];

/** A shell that keeps its working directory, variables and functions from command to command. */
export class Shell {
  /** Commands that Python runs. */
  readonly commands: ShellCommands;
  readonly #parts: ShellParts;
  #engine: ScriptEngine;
  /** Resolves when the last program that was started has ended. */
  #program: Promise<void> = Promise.resolve();
  #failure: { error: unknown } | undefined;
  readonly #limits: ShellLimits;
  readonly #terminal: ShellTerminal;

  constructor(parts: ShellParts) {
    this.#parts = parts;
    this.#limits = shellLimits(parts.outputBytes);
    this.#terminal = new ShellTerminal({
      print: parts.print,
      toText: (printed) => this.#engine.toText(printed),
    });
    this.#engine = this.#createEngine();
    this.#addFiles();
    this.commands = new ShellCommands({ ...parts, limits: this.#limits });
  }

  /**
   * Loads all commands now, which otherwise load at their first use: the order in which jobs continue then does not depend on
   * what ran in this process before.
   */
  async loadCommands(): Promise<void> {
    await loadModules();
  }

  /** Runs a command line until it ends or is interrupted. Throws only if the Python interpreter is lost. */
  async run({ command, stdin = "" }: ShellRequest): Promise<CommandEnd> {
    const engine = this.#engine;
    Object.assign(engine.limits, this.#limits, INTERRUPTIBLE_LIMITS);
    if (!this.commands.wereUsed) clock.clearTimers();
    const signal = clock.startCommand(() => Object.assign(engine.limits, STOP_LIMITS));
    const running = engine.run(command, { stdin, signal });
    const { stdout, stderr, exitCode } = await clock.waitFor(running, this.#parts.pause);
    engine.stopJobs();
    if (this.#failure) throw this.#failure.error;
    const cwd = engine.keepState(exitCode);
    this.#terminal.flush();
    this.#parts.print("stdout", stdout);
    this.#parts.print("stderr", clock.interrupted ? stderr.replace(STOP_MESSAGE, "") : stderr);
    return { exitCode: exitCode & 0xff, cwd };
  }

  /** Discards all state of earlier commands. */
  reset(): void {
    this.#engine = this.#createEngine();
  }

  /** Returns the variables, functions and other state of earlier commands. Throws if a part is no data. */
  capture(): ShellImage {
    return this.#engine.capture();
  }

  /** Replaces all state of earlier commands by a captured state. */
  restore(image: ShellImage): void {
    this.reset();
    this.#engine.restore(image);
  }

  #createEngine(): ScriptEngine {
    const { fs, home, environment } = this.#parts;
    return new ScriptEngine({
      files: new ShellFiles(fs),
      cwd: home,
      env: { ...VARIABLES, ...environment, HOME: home },
      limits: this.#limits,
      terminal: this.#terminal,
      runPython: (request, _signal, { isJob } = { isJob: false }) => this.#runPython(request, isJob),
    });
  }

  /** Runs a program. A single program runs at a time, as all of them use the session's interpreter. */
  async #runPython(request: ProgramRequest, isJob: boolean): Promise<ProgramResult> {
    const route = isJob ? undefined : this.#terminal.route;
    const before = this.#program;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#program = promise;
    try {
      await before;
      this.#terminal.flush();
      return await this.#parts.runProgram(request, route);
    } catch (error) {
      this.#failure = { error };
      clock.abort();
      throw error;
    } finally {
      resolve();
    }
  }

  /** Adds the commands as files, so that `which` and `ls` find them, and `/dev/zero`. */
  #addFiles(): void {
    const { fs } = this.#parts;
    if (fs.readdir("/home").includes("web_user")) fs.rmdir(EMSCRIPTEN_HOME);
    mountCommands(fs, [...this.#engine.commandNames, ...BUILTIN_FILES]);
    fs.registerDevice(ZERO_DEVICE, {
      read: (_stream, buffer, offset, length) => (buffer.fill(0, offset, offset + length), length),
      write: (_stream, _buffer, _offset, length) => length,
    });
    fs.mkdev("/dev/zero", 0o666, ZERO_DEVICE);
  }
}
