import type { StatementNode } from "../builtins/nodes.ts";
import type { Signal } from "../builtins/signal_names.ts";
import { clock, createJobLimits, type ShellLimits, ShellSignal, STOP_MESSAGE } from "../clock.ts";
import type { ShellFiles } from "../files.ts";
import type { State } from "../script/process_state.ts";
import { evalNode } from "../script/script_end.ts";
import type { CoprocPipes } from "./coproc.ts";
import { type CommandOutput, type ScriptInterpreter, ShellTerminal } from "../terminal.ts";

/** Number of commands that a job runs before its shell goes on, unless the job waits earlier. */
const HEAD_START_COMMANDS = 500;
const SIGNAL_CODES = 128;

/** The engine of a job, which has a copy of its shell's state. */
export interface JobEngine {
  readonly limits: ShellLimits;
  runStatement(statement: StatementNode, signal: ShellSignal): Promise<CommandOutput>;
  run(
    script: string,
    options: { readonly stdin: string; readonly signal: ShellSignal },
  ): Promise<CommandOutput>;
  toText(printed: CommandOutput): Pick<CommandOutput, "stdout" | "stderr">;
}

/** What is different in the engine of a job. */
export interface JobEngineParts {
  readonly state: State;
  readonly files: ShellFiles;
  readonly terminal: ShellTerminal;
  readonly isMerged: boolean;
  readonly beforeCommand: (interpreter: ScriptInterpreter) => Promise<void> | undefined;
}

/** The parts of a {@linkcode BackgroundJob}. */
export interface BackgroundJobParts {
  readonly pid: number;
  readonly parentPid: number;
  readonly number: number;
  /** The command as the script has it. */
  readonly text: string;
  readonly line: number;
  readonly statement: StatementNode;
  readonly state: State;
  readonly files: ShellFiles;
  readonly isMerged: boolean;
  /** The pipes of a coprocess. */
  readonly coproc?: CoprocPipes;
  /** Prints at once. Without it, the output is kept for {@linkcode BackgroundJob.takeOutput}. */
  readonly print: ((stream: "stdout" | "stderr", text: string) => void) | undefined;
  readonly createEngine: (parts: JobEngineParts) => JobEngine;
  /** Limits of the shell, which stop its jobs too. */
  readonly shellLimits: ShellLimits;
}

/** A command behind which a script has `&`. It runs while its shell goes on. */
export class BackgroundJob {
  /** Resolves when the job has ended. */
  readonly ended: Promise<void>;
  /** Time of the start, in milliseconds. */
  readonly startedMs = Date.now();
  /** True if `jobs` has listed the job's end, which it does once. */
  isListed = false;
  /** True if `wait` has returned the job's exit code. */
  isAwaited = false;
  readonly #parts: BackgroundJobParts;
  readonly #end = Promise.withResolvers<void>();
  readonly #signal = new ShellSignal();
  readonly #headStart = Promise.withResolvers<void>();
  #engine: JobEngine;
  #files: ShellFiles;
  #interpreter: ScriptInterpreter | undefined;
  #exitCode: number | undefined;
  #killedBy: Signal | undefined;
  #commands = 0;
  #isStopped = () => this.#signal.isAborted;
  #pending: Signal[] = [];
  #output: { readonly stream: "stdout" | "stderr"; readonly text: string }[] = [];

  constructor(parts: BackgroundJobParts) {
    this.#parts = parts;
    this.ended = this.#end.promise;
    this.#files = parts.files.fork();
    this.#files.input = parts.coproc?.input;
    this.#engine = this.#createEngine(parts.state);
    void this.#run();
  }

  get pid(): number {
    return this.#parts.pid;
  }

  get parentPid(): number {
    return this.#parts.parentPid;
  }

  get number(): number {
    return this.#parts.number;
  }

  get text(): string {
    return this.#parts.text;
  }

  get line(): number {
    return this.#parts.line;
  }

  /** Exit code, or `undefined` while the job runs. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Signal that ended the job. */
  get killedBy(): Signal | undefined {
    return this.#killedBy;
  }

  /** Waits until the job has ended, waits for something itself, or has run for a while. */
  async headStart(): Promise<void> {
    await clock.waitUntilBlocked(Promise.race([this.ended, this.#headStart.promise]));
  }

  /** Sends a signal to the job, which ends by it unless it has a trap. */
  signal(signal: Signal): void {
    if (this.#exitCode !== undefined || signal.effect === "ignore") return;
    const traps = this.#traps();
    const action = signal.canBeTrapped ? traps?.get(`SIG${signal.name}`) : undefined;
    if (action === "") return;
    if (action !== undefined) this.#pending.push(signal);
    else void this.#kill(signal, signal.canBeTrapped ? traps?.get("EXIT") : undefined);
  }

  /** Ends the job without a trace. */
  stop(): void {
    if (this.#exitCode !== undefined) return;
    this.#abort();
    this.#finish(SIGNAL_CODES);
  }

  /** Returns the output that nobody has printed. */
  takeOutput(): CommandOutput {
    const textOf = (wanted: string) =>
      this.#output.filter(({ stream }) => stream === wanted).map(({ text }) => text).join("");
    const output = { stdout: textOf("stdout"), stderr: textOf("stderr"), exitCode: 0 };
    this.#output = [];
    return output;
  }

  async #run(): Promise<void> {
    const statement = toJobStatement(this.#parts.statement);
    try {
      const output = await this.#engine.runStatement(statement, this.#signal);
      if (this.#signal.isAborted) return;
      this.#printRest(this.#engine, output);
      this.#finish(output.exitCode);
    } catch {
      this.#finish(1); // the engine was aborted
    }
  }

  #createEngine(state: State): JobEngine {
    const terminal: ShellTerminal = new ShellTerminal({
      print: (stream, text) => {
        if (!this.#aborted.has(terminal)) this.#print(stream, text);
      },
      toText: (printed) => engine.toText({ exitCode: 0, ...printed }),
    });
    const engine = this.#parts.createEngine({
      state,
      files: this.#files,
      terminal,
      isMerged: this.#parts.isMerged,
      beforeCommand: (interpreter) => this.#beforeCommand(interpreter),
    });
    this.#terminals.set(engine, terminal);
    const { coproc } = this.#parts;
    if (coproc) {
      coproc.input.flush = () => terminal.flush();
      coproc.input.printer = () => terminal.printer && ((text) => terminal.printer?.("stdout", text));
    }
    const { shellLimits } = this.#parts;
    const isStopped = () => this.#isStopped() || this.#isShellStopped;
    Object.assign(engine.limits, shellLimits, createJobLimits(isStopped));
    return engine;
  }

  readonly #terminals = new WeakMap<JobEngine, ShellTerminal>();
  /** Terminals of engines that were aborted. */
  readonly #aborted = new WeakSet<ShellTerminal>();

  #beforeCommand(interpreter: ScriptInterpreter): Promise<void> | undefined {
    this.#interpreter = interpreter;
    if (++this.#commands === HEAD_START_COMMANDS) this.#headStart.resolve();
    const drained = this.#parts.coproc?.drained;
    if (drained) return drained;
    return this.#pending.length > 0 ? this.#runTraps(interpreter) : undefined;
  }

  async #runTraps(interpreter: ScriptInterpreter): Promise<void> {
    for (const { name } of this.#pending.splice(0)) {
      const action = this.#traps()?.get(`SIG${name}`);
      if (action) this.#printRest(this.#engine, await interpreter.executeCommand(evalNode(action)));
    }
  }

  async #kill(signal: Signal, exitAction: string | undefined): Promise<void> {
    const state = this.#interpreter?.ctx.state as State | undefined;
    this.#killedBy = signal;
    this.#abort();
    if (exitAction && state) await this.#runAtExit(exitAction, state);
    this.#finish(SIGNAL_CODES + signal.number);
  }

  /** Runs the command of `EXIT`, in an engine of its own, as the engine of the job was aborted. */
  async #runAtExit(action: string, state: State): Promise<void> {
    this.#files = this.#parts.files.fork();
    const signal = new ShellSignal();
    this.#isStopped = () => false;
    const engine = this.#engine = this.#createEngine({ ...state, traps: new Map() });
    this.#printRest(engine, await engine.run(action, { stdin: "", signal }));
  }

  #abort(): void {
    const terminal = this.#terminals.get(this.#engine);
    terminal?.flush();
    if (terminal) this.#aborted.add(terminal);
    this.#files.close();
    this.#signal.abort(new Error("the job was ended"));
  }

  #finish(exitCode: number): void {
    if (this.#exitCode !== undefined) return;
    this.#exitCode = exitCode & 0xff;
    this.#parts.coproc?.end();
    this.#end.resolve();
  }

  #printRest(engine: JobEngine, output: CommandOutput): void {
    this.#terminals.get(engine)?.flush();
    const { stdout, stderr } = engine.toText(output);
    this.#print("stdout", stdout);
    this.#print("stderr", this.#isShellStopped ? stderr.replace(STOP_MESSAGE, "") : stderr);
  }

  /** True if the shell was interrupted. */
  get #isShellStopped(): boolean {
    return Number(this.#parts.shellLimits.maxCommandCount) === 0;
  }

  #print(stream: "stdout" | "stderr", text: string): void {
    if (text === "") return;
    if (this.#parts.print) this.#parts.print(stream, text);
    else this.#output.push({ stream, text });
  }

  #traps(): ReadonlyMap<string, string> | undefined {
    const state = (this.#interpreter?.ctx.state ?? this.#parts.state) as State;
    return (state.traps as ReadonlyMap<number, ReadonlyMap<string, string>> | undefined)?.get(this.pid);
  }
}

/** Returns a statement of a single subshell as a group, as the job is the subshell. */
function toJobStatement(statement: StatementNode): StatementNode {
  const [pipeline, ...more] = statement.pipelines;
  const [command, ...others] = pipeline?.commands ?? [];
  if (!pipeline || !command || more.length + others.length > 0 || command.type !== "Subshell") {
    return statement;
  }
  return { ...statement, pipelines: [{ ...pipeline, commands: [{ ...command, type: "Group" }] }] };
}
