import { ChatEnv } from "../envs/chat_env.ts";
import type { Env } from "../envs/env.ts";
import { calculatorPolicy } from "../policy/calculator.ts";
import type { Policy } from "../policy/policy.ts";
import { scriptedPolicy } from "../policy/scripted.ts";
import { numberMatch } from "../rewards/number_match.ts";
import { rolloutAll } from "../rollout/rollout_all.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { SessionPool } from "../sandbox/exec.ts";
import { readTasks } from "../datasets/read_tasks.ts";
import { endOnFinalReply } from "../transforms/end_on_final_reply.ts";
import { gradeEpisode } from "../transforms/grade_episode.ts";
import { PythonInterpreter } from "../transforms/python_interpreter.ts";
import { StepCounter } from "../transforms/step_counter.ts";
import { TransformedEnv } from "../transforms/transformed_env.ts";
import { countLines } from "./count_lines.ts";
import { Progress } from "./progress.ts";
import { Summary } from "./summary.ts";
import { transcript } from "./transcript.ts";
import { type TextSink, writeText } from "./write_text.ts";

/** What is played and what is shown of it. */
export interface PlayTasksOptions {
  /** The file of JSON lines. */
  tasks: string;
  limit?: number | undefined;
  concurrency: number;
  timeoutMs: number;
  maxTurns: number;
  /** One JSON line per trajectory on stdout; the table then goes to stderr. */
  json?: boolean | undefined;
  /** The JSON lines go to this file too. */
  out?: string | undefined;
  /** Each episode's messages on stdout, in the order of the tasks. */
  show?: boolean | undefined;
  stdout: TextSink;
  stderr: TextSink & { isTerminal(): boolean };
  signal: AbortSignal;
}

/**
 * Plays the tasks of a file over a pool and prints what came of it.
 *
 * Gives the exit code: 0, 1 when an episode failed at a boundary, 2 when the tasks cannot be read, 130 when it
 * was interrupted.
 */
export async function playTasks(pool: SessionPool, options: PlayTasksOptions): Promise<number> {
  const { json, stdout, stderr } = options;
  const summary = new Summary();
  try {
    const stopped = await playAll(pool, summary, options);
    if (stopped !== 2 || summary.episodes > 0) await writeText(json ? stderr : stdout, summary.table());
    return stopped || (summary.failed > 0 ? 1 : 0);
  } catch (error) {
    // Whoever read the output wants no more of it.
    if (error instanceof Deno.errors.BrokenPipe) return 0;
    throw error;
  }
}

/** Gives the exit code that says why playing stopped early; 0 when it did not. */
async function playAll(pool: SessionPool, summary: Summary, options: PlayTasksOptions): Promise<number> {
  const { json, show, out, signal, stderr } = options;
  try {
    using file = out === undefined ? undefined : await Deno.create(out);
    await using progress = await progressOf(options);
    for await (const trajectory of trajectories(pool, options)) {
      summary.add(trajectory);
      if (json || show) await progress?.clear();
      await writeTrajectory(trajectory, options, file);
      await progress?.draw(summary);
    }
    return 0;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) throw error;
    if (signal.aborted) return 130;
    if (!isUnreadable(error)) throw error;
    await writeText(stderr, `error: ${error.message}\n`);
    return 2;
  }
}

function trajectories(pool: SessionPool, options: PlayTasksOptions): AsyncGenerator<Trajectory> {
  const { tasks, limit, concurrency, show, maxTurns, signal } = options;
  return rolloutAll(readTasks(tasks, { limit }), {
    makeEnv: () => pythonEnv(pool, options),
    policy: ownPolicy(),
    concurrency,
    ordered: show,
    maxTurns,
    signal,
  });
}

function pythonEnv(pool: SessionPool, options: PlayTasksOptions): Env {
  const { timeoutMs, maxTurns } = options;
  return new TransformedEnv(new ChatEnv(), [
    new PythonInterpreter({ pool, timeoutMs }),
    endOnFinalReply(),
    new StepCounter({ maxSteps: maxTurns }),
    gradeEpisode({ grader: numberMatch() }),
  ]);
}

/** Tasks with replies are played by them, the others worked out from their reference solution. */
function ownPolicy(): Policy {
  const scripted = scriptedPolicy();
  const calculator = calculatorPolicy();
  return {
    reply: (history, context) =>
      (context.task.replies === undefined ? calculator : scripted).reply(history, context),
  };
}

async function progressOf({ tasks, limit, stderr }: PlayTasksOptions): Promise<Progress | undefined> {
  if (!stderr.isTerminal()) return undefined;
  return new Progress({ total: await countLines(tasks, limit), sink: stderr });
}

async function writeTrajectory(
  trajectory: Trajectory,
  options: PlayTasksOptions,
  file: TextSink | undefined,
): Promise<void> {
  const { json, show, stdout } = options;
  const line = `${JSON.stringify(trajectory)}\n`;
  if (file !== undefined) await writeText(file, line);
  if (json) await writeText(stdout, line);
  else if (show) await writeText(stdout, transcript(trajectory));
}

function isUnreadable(error: unknown): error is Error {
  const kinds = [SyntaxError, Deno.errors.NotFound, Deno.errors.PermissionDenied, Deno.errors.IsADirectory];
  return kinds.some((kind) => error instanceof kind);
}
