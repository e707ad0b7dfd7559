import type { BuiltinInterpreter } from "../builtins/builtin.ts";
import type { StatementNode } from "../builtins/nodes.ts";
import type { Signal } from "../builtins/signal_names.ts";
import type { ProcessEntry } from "../gnu/command.ts";
import type { ShellLimits } from "../clock.ts";
import type { ShellFiles } from "../files.ts";
import { jobState, type State } from "../script/process_state.ts";
import { isExit, joinOutputs } from "../script/script_end.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import type { CoprocPipes } from "./coproc.ts";
import { type CoprocState, ShellCoprocs } from "./shell_coprocs.ts";
import { BackgroundJob, type BackgroundJobParts } from "./background_job.ts";
import { shortLived } from "../script/short_lived.ts";

interface Statement extends StatementNode {
  readonly sourceText?: string;
}

/** The parts of the engine's interpreter that jobs need. */
interface JobInterpreter extends Pick<ScriptInterpreter, "executePipeline"> {
  executeStatement(node: Statement): Promise<CommandOutput>;
  readonly ctx: { executeStatement: JobInterpreter["executeStatement"] };
}

/** The parts of a shell's state that jobs change. */
interface JobState {
  lastBackgroundPid: number;
  lastExitCode: number;
  inCondition: boolean;
  readonly currentLine: number;
  readonly bashPid: number;
}

/** The parts of {@linkcode ShellJobs}. */
export interface ShellJobsParts {
  readonly files: ShellFiles;
  readonly createEngine: BackgroundJobParts["createEngine"];
  readonly limits: () => ShellLimits;
  readonly isMerged: () => boolean;
  /** Returns what prints a job's output at once, or `undefined` if a command or a file takes the output. */
  readonly printer: () => BackgroundJobParts["print"];
}

/** Number of jobs of which the exit codes are kept, and of those that run at the same time. */
const MAX_JOBS = 1024;
const MAX_RUNNING = 32;
const FIRST_PID = 1000;
const UNKNOWN_JOB_CODE = 127;
const DONE: CommandOutput = { stdout: "", stderr: "", exitCode: 0 };

/**
 * Jobs, which `&` starts. A job is a subshell with an engine of its own. The shell goes on when the job first waits, so
 * that a short job has ended by then.
 */
export class ShellJobs {
  readonly #parts: ShellJobsParts;
  #jobs: BackgroundJob[] = [];
  #nextPid = FIRST_PID;
  /** Jobs whose output the running substitution, pipe or redirection takes. */
  #scope: BackgroundJob[] | undefined;

  readonly #coprocs: ShellCoprocs;

  constructor(parts: ShellJobsParts) {
    this.#parts = parts;
    this.#coprocs = new ShellCoprocs({
      files: parts.files,
      nextPid: () => this.#nextPid,
      isRunning: (pid) => this.#jobs.some((job) => job.pid === pid && job.exitCode === undefined),
      start: (statement, state, pipes) => this.#start(statement, state as unknown as State & JobState, pipes),
    });
  }

  /** Runs statements with `&` as jobs, and the commands that `&&`, `||` and `!` test as conditions of `set -e`. */
  attach(interpreter: ScriptInterpreter, state: object): void {
    const own = interpreter as unknown as JobInterpreter;
    const jobState = state as JobState;
    const tested = new WeakSet<object>();
    const statement = own.executeStatement.bind(own);
    this.#coprocs.attach(interpreter as BuiltinInterpreter, state as CoprocState);
    own.executeStatement = own.ctx.executeStatement = shortLived((node) => {
      if (node.background) return this.#start(node, state as State & JobState);
      const last = node.pipelines.length - 1;
      node.pipelines.forEach((pipeline, at) => {
        if (at < last || pipeline.negated) tested.add(pipeline);
      });
      return statement(node);
    });
    const pipeline = interpreter.executePipeline.bind(interpreter);
    const test: typeof pipeline = async (node) => {
      const before = jobState.inCondition;
      jobState.inCondition = true;
      try {
        return await pipeline(node);
      } finally {
        jobState.inCondition = before;
      }
    };
    interpreter.executePipeline = shortLived((node) => tested.has(node) ? test(node) : pipeline(node));
  }

  /** Runs a command whose output something takes. It ends after its jobs, which write to the same place. */
  async runCaptured(work: () => Promise<CommandOutput>): Promise<CommandOutput> {
    const outer = this.#scope;
    const scope: BackgroundJob[] = this.#scope = [];
    try {
      const output = await work();
      return scope.length === 0 ? output : joinOutputs(output, await outputOf(scope, output.exitCode));
    } catch (error) {
      if (scope.length > 0 && isExit(error)) {
        const output = await outputOf(scope, error.exitCode);
        error.stdout += output.stdout;
        error.stderr += output.stderr;
      }
      throw error;
    } finally {
      this.#scope = outer;
    }
  }

  /** Runs a function, whose redirections take the output of its jobs. */
  async runFunction(work: () => Promise<CommandOutput>): Promise<CommandOutput> {
    return await (this.#scope ? this.runCaptured(work) : work());
  }

  /** True if there are jobs. */
  get wereStarted(): boolean {
    return this.#jobs.length > 0;
  }

  /** Waits for all jobs, as a caller that reads the output to its end does. */
  async waitForAll(): Promise<void> {
    this.#coprocs.closeAll();
    for (const job of this.#jobs) await job.ended;
  }

  /** Ends all jobs that run. */
  stopAll(): void {
    for (const job of this.#jobs) job.stop();
    this.#jobs = [];
    this.#coprocs.forgetAll();
  }

  /** `wait`, which returns the exit code of a job, or waits for all. */
  async wait(args: readonly string[], state: JobState): Promise<CommandOutput> {
    const output = await this.#waitFor(args, state);
    this.#coprocs.forgetEnded(state as unknown as CoprocState);
    return output;
  }

  async #waitFor(args: readonly string[], { bashPid, currentLine }: JobState): Promise<CommandOutput> {
    const takesNext = args[0] === "-n";
    const option = args.find((word) => /^-./.test(word) && word !== "--");
    if (option !== undefined && !(takesNext && option === "-n")) {
      return complain(`${option}: is not available in the sandbox`, 2);
    }
    const names = args.filter((word) => word !== "--" && word !== "-n");
    const own = this.#jobs.filter(({ parentPid, isAwaited }) => parentPid === bashPid && !isAwaited);
    if (takesNext) return await this.#waitForNext(own, names, bashPid);
    if (names.length === 0) {
      for (const job of own) if (!await this.#endOf(job)) return complain(BLOCKED, UNKNOWN_JOB_CODE);
      this.#forget(own);
      return DONE;
    }
    let output = DONE;
    let stderr = "";
    for (const name of names) {
      output = await this.#resultOf(name, { bashPid, currentLine });
      stderr += output.stderr;
    }
    return { ...output, stderr };
  }

  /** Number of the next process. */
  get nextPid(): number {
    return this.#nextPid;
  }

  /** Returns the jobs that run. */
  processes(): ProcessEntry[] {
    return this.#jobs.filter(({ exitCode }) => exitCode === undefined)
      .map(({ pid, parentPid, text, startedMs }) => ({ pid, parentPid, command: text, startedMs }));
  }

  /** `jobs`. It lists the end of each job once. */
  list(args: readonly string[]): CommandOutput {
    const flags = args.filter((word) => /^-./.test(word)).join("").replaceAll("-", "");
    const unknown = /[^lnprs]/.exec(flags);
    if (unknown) {
      const usage = "jobs: usage: jobs [-lnprs] [jobspec ...] or jobs -x command [args]\n";
      return { stdout: "", stderr: `bash: jobs: -${unknown[0]}: invalid option\n${usage}`, exitCode: 2 };
    }
    if (flags.includes("s")) return DONE;
    const listed = this.#jobs.filter((job) => !job.isListed && !job.isAwaited);
    const lines = listed.map((job, at) => {
      if (flags.includes("r") && job.exitCode !== undefined) return "";
      if (flags.includes("p")) return `${job.pid}\n`;
      const sign = at === listed.length - 1 ? "+" : at === listed.length - 2 ? "-" : " ";
      const pid = flags.includes("l") ? `${job.pid} ` : "";
      return `[${job.number}]${sign}  ${pid}${stateOf(job).padEnd(24)}${job.text}${
        job.exitCode === undefined ? " &" : ""
      }\n`;
    });
    if (!flags.includes("p")) { for (const job of listed) job.isListed = job.exitCode !== undefined; }
    return { stdout: lines.join(""), stderr: "", exitCode: 0 };
  }

  /** `disown`, which forgets jobs. */
  disown(args: readonly string[]): CommandOutput {
    const names = args.filter((word) => !/^-[ahr]+$/.test(word));
    if (names.length === 0 && args.some((word) => word.includes("a"))) this.#forget(this.#jobs);
    else {
      for (const name of names.length > 0 ? names : ["%+"]) {
        if (this.#find(name)) continue;
        const shown = names.length > 0 ? name : "current";
        return { stdout: "", stderr: `bash: disown: ${shown}: no such job\n`, exitCode: 1 };
      }
    }
    return DONE;
  }

  /** Sends a signal to a job, or asks only whether the job runs. Returns `false` if there is no such job. */
  signal(name: string, signal: Signal | undefined): boolean {
    const job = this.#find(name);
    if (!job || (job.exitCode !== undefined && (job.killedBy === undefined || job.isAwaited))) return false;
    if (signal) job.signal(signal);
    return true;
  }

  /** Waits until a job has ended. Returns `false` for a coprocess that waits for input, which its shell does not close. */
  async #endOf(job: BackgroundJob): Promise<boolean> {
    await Promise.race([job.ended, this.#coprocs.blocked(job.pid) ?? job.ended]);
    return job.exitCode !== undefined;
  }

  #find(name: string): BackgroundJob | undefined {
    if (/^\d+$/.test(name)) return this.#jobs.find(({ pid }) => pid === Number(name));
    if (/^%[%+]?$/.test(name)) return this.#jobs.at(-1);
    return this.#jobs.find(({ number, isAwaited }) => `%${number}` === name && !isAwaited);
  }

  #forget(jobs: readonly BackgroundJob[]): void {
    const ended = new Set(jobs.filter(({ exitCode }) => exitCode !== undefined));
    this.#jobs = this.#jobs.filter((job) => !ended.has(job));
  }

  async #waitForNext(
    own: readonly BackgroundJob[],
    names: readonly string[],
    bashPid: number,
  ): Promise<CommandOutput> {
    const wanted = names.length === 0 ? own : names.flatMap((name) => {
      const job = this.#find(name);
      return job?.parentPid === bashPid ? [job] : [];
    });
    if (wanted.length === 0) return { ...DONE, exitCode: UNKNOWN_JOB_CODE };
    await Promise.race(wanted.map((job) => job.ended));
    const next = wanted.find((job) => job.exitCode !== undefined);
    if (next) this.#forget([next]);
    return { ...DONE, exitCode: next?.exitCode ?? UNKNOWN_JOB_CODE };
  }

  async #resultOf(
    name: string,
    { bashPid, currentLine }: Pick<JobState, "bashPid" | "currentLine">,
  ): Promise<CommandOutput> {
    const isPid = /^\d+$/.test(name);
    if (!isPid && !name.startsWith("%")) return complain(`\`${name}': not a pid or valid job spec`, 1);
    const job = this.#find(name);
    if (job?.parentPid === bashPid) {
      if (!await this.#endOf(job)) return complain(BLOCKED, UNKNOWN_JOB_CODE);
      const stderr = job.isAwaited ? "" : deathOf(job, currentLine);
      job.isAwaited = true;
      return { stdout: "", stderr, exitCode: job.exitCode ?? 0 };
    }
    return complain(
      isPid ? `pid ${name} is not a child of this shell` : `${name}: no such job`,
      UNKNOWN_JOB_CODE,
    );
  }

  async #start(node: Statement, state: State & JobState, coproc?: CoprocPipes): Promise<CommandOutput> {
    const running = this.#jobs.filter(({ exitCode }) => exitCode === undefined);
    if (running.length >= MAX_RUNNING) {
      return {
        stdout: "",
        stderr: "bash: fork: Resource temporarily unavailable: the sandbox runs at most 32 jobs at once\n",
        exitCode: 254,
      };
    }
    const pid = this.#nextPid++;
    const { files, createEngine, limits, isMerged, printer } = this.#parts;
    const job = new BackgroundJob({
      pid,
      parentPid: state.bashPid,
      number: Math.max(0, ...this.#jobs.map(({ number }) => number)) + 1,
      text: (node.sourceText ?? "").replace(/\s*&\s*$/, ""),
      line: state.currentLine,
      statement: { ...node, background: false },
      state: jobState(state, pid),
      files,
      isMerged: isMerged(),
      ...(coproc && { coproc }),
      print: coproc ? printerOf(coproc, printer()) : this.#scope ? undefined : printer(),
      createEngine,
      shellLimits: limits(),
    });
    this.#jobs = [...this.#jobs, job].slice(-MAX_JOBS);
    if (!coproc) this.#scope?.push(job);
    await job.headStart();
    state.lastBackgroundPid = pid;
    state.lastExitCode = 0;
    return DONE;
  }
}

const BLOCKED = "the coprocess waits for input, which the shell does not close: both would wait for ever";

/** Returns what prints the output of a coprocess: stdout to the pipe of the shell, stderr to the shell's stderr. */
function printerOf(pipes: CoprocPipes, print: BackgroundJobParts["print"]): BackgroundJobParts["print"] {
  return (stream, text) => stream === "stdout" ? pipes.print(text) : print?.(stream, text);
}

/** Waits for jobs and returns their output. */
async function outputOf(jobs: readonly BackgroundJob[], exitCode: number): Promise<CommandOutput> {
  let output: CommandOutput = { ...DONE, exitCode };
  for (const job of jobs) {
    await job.ended;
    output = joinOutputs(output, job.takeOutput());
  }
  return output;
}

function stateOf({ exitCode, killedBy }: BackgroundJob): string {
  if (exitCode === undefined) return "Running";
  if (killedBy) return DEATHS[killedBy.name] ?? killedBy.name;
  return exitCode === 0 ? "Done" : `Exit ${exitCode}`;
}

/** How a shell describes the end of a job by a signal. */
const DEATHS: Readonly<Record<string, string>> = {
  ABRT: "Aborted",
  ALRM: "Alarm clock",
  HUP: "Hangup",
  KILL: "Killed",
  QUIT: "Quit",
  SEGV: "Segmentation fault",
  TERM: "Terminated",
  USR1: "User defined signal 1",
  USR2: "User defined signal 2",
};
/** Signals of which a script says nothing. */
const SILENT = new Set(["INT", "PIPE", "TERM"]);

/** Returns the message about a job that a signal ended. */
function deathOf(job: BackgroundJob, line: number): string {
  if (!job.killedBy || SILENT.has(job.killedBy.name)) return "";
  return `bash: line ${line}: ${String(job.pid).padStart(5)} ${stateOf(job).padEnd(24)}${job.text}\n`;
}

function complain(message: string, exitCode: number): CommandOutput {
  return { stdout: "", stderr: `bash: wait: ${message}\n`, exitCode };
}
