import type { CommandOutput, ScriptInterpreter } from "./terminal.ts";
import { shortLived } from "./script/short_lived.ts";

interface Pipeline {
  readonly negated: boolean;
}

interface Statement {
  readonly type: string;
  readonly pipelines: readonly Pipeline[];
  readonly operators: readonly string[];
  readonly background: boolean;
  readonly sourceText?: string;
}

/** The parts of the engine's interpreter that jobs need. */
interface JobInterpreter extends Pick<ScriptInterpreter, "executePipeline"> {
  executeStatement(node: Statement): Promise<CommandOutput>;
  readonly ctx: { executeStatement: JobInterpreter["executeStatement"] };
}

interface JobState {
  lastBackgroundPid: number;
  lastExitCode: number;
  inCondition: boolean;
}

interface Job {
  readonly number: number;
  readonly pid: number;
  readonly exitCode: number;
  /** The command as the script has it. */
  readonly text: string;
  /** True if `jobs` has listed the job, which it does once. */
  isListed: boolean;
}

/** Number of ended jobs whose exit codes are kept. */
const MAX_JOBS = 1024;
const FIRST_PID = 1000;
const UNKNOWN_JOB_CODE = 127;

/**
 * Jobs, which `&` starts. A job is a subshell that runs to its end before the next command starts. `wait` then returns
 * the job's exit code.
 */
export class ShellJobs {
  #jobs: Job[] = [];
  #nextPid = FIRST_PID;

  /** Runs statements with `&` as jobs, and the commands that `&&`, `||` and `!` test as conditions of `set -e`. */
  attach(interpreter: ScriptInterpreter, state: object): void {
    const own = interpreter as unknown as JobInterpreter;
    const jobState = state as JobState;
    const tested = new WeakSet<object>();
    const statement = own.executeStatement.bind(own);
    own.executeStatement = own.ctx.executeStatement = shortLived((node) => {
      if (node.background) return this.#run(node, jobState, statement);
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

  /** `wait`. Without arguments it succeeds, as all jobs have ended. */
  wait(args: readonly string[]): CommandOutput {
    const takesNext = args[0] === "-n";
    const option = args.find((word) => /^-./.test(word) && word !== "--");
    if (option !== undefined && !(takesNext && option === "-n")) {
      return complain(`${option}: is not available in the sandbox`, 2);
    }
    const names = args.filter((word) => word !== "--" && word !== "-n");
    if (names.length === 0) {
      const next = takesNext ? this.#jobs.shift() : undefined;
      if (!takesNext) this.#jobs = [];
      return { stdout: "", stderr: "", exitCode: takesNext ? next?.exitCode ?? UNKNOWN_JOB_CODE : 0 };
    }
    let result: CommandOutput = { stdout: "", stderr: "", exitCode: 0 };
    let stderr = "";
    for (const name of names) {
      result = this.#resultOf(name);
      stderr += result.stderr;
      if (takesNext) break;
    }
    return { ...result, stderr };
  }

  /** `jobs`. It lists each job once, as all of them have ended. */
  list(args: readonly string[]): CommandOutput {
    const flags = args.filter((word) => /^-./.test(word)).join("").replaceAll("-", "");
    const unknown = /[^lnprs]/.exec(flags);
    if (unknown) {
      const usage = "jobs: usage: jobs [-lnprs] [jobspec ...] or jobs -x command [args]\n";
      return { stdout: "", stderr: `bash: jobs: -${unknown[0]}: invalid option\n${usage}`, exitCode: 2 };
    }
    if (/[rs]/.test(flags)) return { stdout: "", stderr: "", exitCode: 0 };
    const listed = this.#jobs.filter(({ isListed }) => !isListed);
    const lines = listed.map((job, at) => {
      if (flags.includes("p")) return `${job.pid}\n`;
      const sign = at === listed.length - 1 ? "+" : at === listed.length - 2 ? "-" : " ";
      const state = job.exitCode === 0 ? "Done" : `Exit ${job.exitCode}`;
      const pid = flags.includes("l") ? `${job.pid} ` : "";
      return `[${job.number}]${sign}  ${pid}${state.padEnd(24)}${job.text}\n`;
    });
    if (!flags.includes("p")) { for (const job of listed) job.isListed = true; }
    return { stdout: lines.join(""), stderr: "", exitCode: 0 };
  }

  /** `disown`, which forgets jobs. */
  disown(args: readonly string[]): CommandOutput {
    const names = args.filter((word) => !/^-[ahr]+$/.test(word));
    if (names.length === 0 && args.some((word) => word.includes("a"))) this.#jobs = [];
    else {
      for (const name of names.length > 0 ? names : ["%+"]) {
        const job = this.#find(name);
        if (!job) {
          const shown = names.length > 0 ? name : "current";
          return { stdout: "", stderr: `bash: disown: ${shown}: no such job\n`, exitCode: 1 };
        }
        this.#jobs = this.#jobs.filter((other) => other !== job);
      }
    }
    return { stdout: "", stderr: "", exitCode: 0 };
  }

  #jobOf(node: Statement, job: Pick<Job, "number" | "pid" | "exitCode">): Job {
    return { ...job, text: (node.sourceText ?? "").replace(/\s*&\s*$/, ""), isListed: false };
  }

  #find(name: string): Job | undefined {
    if (/^\d+$/.test(name)) return this.#jobs.find(({ pid }) => pid === Number(name));
    if (/^%[%+]?$/.test(name)) return this.#jobs.at(-1);
    return this.#jobs.find(({ number }) => `%${number}` === name);
  }

  #resultOf(name: string): CommandOutput {
    const isPid = /^\d+$/.test(name);
    if (!isPid && !name.startsWith("%")) return complain(`\`${name}': not a pid or valid job spec`, 1);
    const job = this.#find(name);
    if (job) {
      job.isListed = true;
      return { stdout: "", stderr: "", exitCode: job.exitCode };
    }
    return complain(
      isPid ? `pid ${name} is not a child of this shell` : `${name}: no such job`,
      UNKNOWN_JOB_CODE,
    );
  }

  async #run(
    node: Statement,
    state: JobState,
    statement: JobInterpreter["executeStatement"],
  ): Promise<CommandOutput> {
    const pid = this.#nextPid++;
    const subshell = { type: "Subshell", body: [{ ...node, background: false }], redirections: [] };
    const pipelines = [{ type: "Pipeline", commands: [subshell], negated: false }];
    const before = state.inCondition;
    state.inCondition = true; // `set -e` does not end a shell whose job fails
    try {
      const output = await statement({ ...node, pipelines, operators: [], background: false });
      const number = (this.#jobs.at(-1)?.number ?? 0) + 1;
      this.#jobs = [...this.#jobs, this.#jobOf(node, { number, pid, exitCode: output.exitCode })].slice(
        -MAX_JOBS,
      );
      state.lastBackgroundPid = pid;
      state.lastExitCode = 0;
      return { ...output, exitCode: 0 };
    } finally {
      state.inCondition = before;
    }
  }
}

function complain(message: string, exitCode: number): CommandOutput {
  return { stdout: "", stderr: `bash: wait: ${message}\n`, exitCode };
}
