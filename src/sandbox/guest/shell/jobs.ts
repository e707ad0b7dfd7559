import type { CommandOutput, ScriptInterpreter } from "./terminal.ts";

interface Pipeline {
  readonly negated: boolean;
}

interface Statement {
  readonly type: string;
  readonly pipelines: readonly Pipeline[];
  readonly operators: readonly string[];
  readonly background: boolean;
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
    own.executeStatement = own.ctx.executeStatement = async (node) => {
      if (node.background) return await this.#run(node, jobState, statement);
      const last = node.pipelines.length - 1;
      node.pipelines.forEach((pipeline, at) => {
        if (at < last || pipeline.negated) tested.add(pipeline);
      });
      return await statement(node);
    };
    const pipeline = interpreter.executePipeline.bind(interpreter);
    interpreter.executePipeline = async (node) => {
      if (!tested.has(node)) return await pipeline(node);
      const before = jobState.inCondition;
      jobState.inCondition = true;
      try {
        return await pipeline(node);
      } finally {
        jobState.inCondition = before;
      }
    };
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

  #resultOf(name: string): CommandOutput {
    const isPid = /^\d+$/.test(name);
    if (!isPid && !name.startsWith("%")) return complain(`\`${name}': not a pid or valid job spec`, 1);
    const job = isPid
      ? this.#jobs.find(({ pid }) => pid === Number(name))
      : /^%[%+]?$/.test(name)
      ? this.#jobs.at(-1)
      : this.#jobs.find(({ number }) => `%${number}` === name);
    if (job) return { stdout: "", stderr: "", exitCode: job.exitCode };
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
      this.#jobs = [...this.#jobs, { number, pid, exitCode: output.exitCode }].slice(-MAX_JOBS);
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
