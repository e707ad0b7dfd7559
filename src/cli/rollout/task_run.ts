import type { TaskColumns } from "../../datasets/columns.ts";
import { readTasks } from "../../datasets/read_tasks.ts";
import type { Env } from "../../envs/env.ts";
import { DatasetError, errorMessage } from "../../errors.ts";
import type { Policy } from "../../policy/policy.ts";
import type { EpisodeLimits } from "../../rollout/episode/episode_run.ts";
import type { CutScore } from "../../rollout/episode/episode_score.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import { shortenTrajectory, toEpisodeRow } from "../../rollout/episode/episode_row.ts";
import { rolloutAll } from "../../rollout/rollout_all.ts";
import type { BranchPoint } from "../../rollout/rollout_tree.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { EXIT } from "../run_command.ts";
import { countTasks } from "../input.ts";
import type { TerminalSink, TextSink } from "../io.ts";
import { escapeControls, escapeJsonControls } from "../../terminal_text.ts";
import { writeText } from "../output.ts";
import { formatTranscript } from "../transcript.ts";
import type { MakeEnv } from "./envs.ts";
import type { GeneratedTasks } from "./envs/families.ts";
import { UnwrittenError, UsageError } from "../cli_errors.ts";
import { EpisodeGroups, StartupFailureWarning } from "./report/episode_groups.ts";
import { RemainingEpisodes } from "./finished_episodes.ts";
import { Progress } from "./report/progress.ts";
import type { ServerWatch } from "./server_watch.ts";
import type { Summary } from "./report/summary.ts";
import { SummaryTable } from "./report/summary_table.ts";
import type { TrainingRun } from "./training_file.ts";
import type { TrajectoryFile } from "./trajectory_file.ts";

/** Options of {@linkcode playTasks}. */
export interface TaskRunOptions {
  /** Path of a task file or of a folder of them, or the tasks. */
  tasks: string | readonly Task[] | GeneratedTasks;
  /** Split whose files of a folder are played. */
  split?: string | undefined;
  /** Columns of the tasks in the file. */
  taskColumns?: TaskColumns | undefined;
  limit?: number | undefined;
  policy: Policy;
  /** Model servers of the run. */
  servers?: ServerWatch | undefined;
  /** Number of failed episodes after which the run ends. @default Infinity */
  maxErrors?: number | undefined;
  /** Name of the env. */
  envName: string;
  /** Factor of the limits of time of programs. */
  timeScale?: number | undefined;
  makeEnv: MakeEnv;
  /** Called with each task, in the order of the file, before the task is played. */
  onTask?: ((task: Task) => void) | undefined;
  /** Called with each finished episode, before the next task is taken. */
  onEpisode?: ((trajectory: Trajectory) => void) | undefined;
  /** Number of episodes per task. */
  samples: number;
  seed?: number | undefined;
  concurrency: number;
  maxTurns: number;
  /** Score of an episode that a limit of tokens cut off. */
  cutScore?: CutScore | undefined;
  /** Limits of each episode. */
  limits?: EpisodeLimits | undefined;
  /** Points at which each episode branches. */
  branch?: readonly BranchPoint[] | undefined;
  /** Statistics of the run. They may include statistics of an earlier run. */
  summary: Summary;
  /** If true, prints a JSON line per trajectory to stdout and the table to stderr. */
  json?: boolean | undefined;
  /** File to which each finished episode is written at once. Episodes of the file are not played. */
  out?: TrajectoryFile | undefined;
  /** Records tokens and writes a training row per episode. */
  training?: TrainingRun | undefined;
  /** Number of episodes whose messages are printed to stdout, in the order of the tasks. */
  show?: number | undefined;
  colour?: boolean | undefined;
  stdout: TextSink;
  stderr: TerminalSink;
  columns?: (() => number) | undefined;
  signal: AbortSignal;
}

/** The error of a run that ends before the tasks, as the next episodes would fail too. */
class RunEndedError extends Error {}

/** A run over the tasks of a file. */
class TaskRun {
  readonly #options: TaskRunOptions;
  /** Rows of the finished episodes. */
  readonly table = new SummaryTable();
  readonly #unfinished: RemainingEpisodes;
  /** Finished episodes that are not printed yet. */
  readonly #ended = new Set<Trajectory>();
  /** Errors of rows that are not tasks. */
  readonly #faults = new WeakMap<Task, DatasetError>();
  #shown = 0;
  #failed = 0;
  #tasksRead = 0;

  constructor(options: TaskRunOptions) {
    this.#options = options;
    const files = [options.out, options.training?.file].filter((file) => file !== undefined);
    this.#unfinished = new RemainingEpisodes(files, options.samples);
  }

  /** Plays the tasks. Returns 0, or the exit code for the reason why the run stopped early. */
  async play(): Promise<number> {
    const { signal, stderr } = this.#options;
    try {
      await this.#playAll();
      return EXIT.ok;
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) throw error;
      if (signal.aborted && !(error instanceof UnwrittenError)) return EXIT.interrupted;
      const isExpected = [UnwrittenError, UsageError, RunEndedError].some((kind) => error instanceof kind);
      if (!isExpected && !isUnreadable(error)) throw error;
      await writeText(stderr, `error: ${escapeControls(errorMessage(error))}\n`);
      if (error instanceof RunEndedError) return EXIT.error;
      return error instanceof UnwrittenError ? EXIT.unwritten : EXIT.usage;
    }
  }

  async #playAll(): Promise<void> {
    const { tasks, limit, samples, branch, summary, stderr, columns, signal } = this.#options;
    const count = typeof tasks === "string"
      ? await countTasks(tasks, limit)
      : Math.min("generate" in tasks ? tasks.count : tasks.length, limit ?? Infinity);
    // an episode that ends before a branch has no branches, so the number of a tree's episodes is unknown
    const total = count === undefined || branch ? undefined : count * samples;
    const groups = new EpisodeGroups((id) => branch ? 1 : this.#unfinished.remainingCount(id));
    await using progress = new Progress({
      summary,
      total,
      columns,
      sink: stderr,
      isTerminal: stderr.isTerminal(),
    });
    const print = (text: string) => void progress.pauseWhile(() => writeText(stderr, text)).catch(() => {});
    const { servers } = this.#options;
    servers?.printTo(print);
    using _hint = servers?.hintAfter();
    const announceInterrupt = () => print(formatInterrupt(summary));
    signal.addEventListener("abort", announceInterrupt, { once: true });
    try {
      const startupFailures = new StartupFailureWarning();
      for await (const trajectory of this.#trajectories()) {
        const warning = startupFailures.add(trajectory);
        if (warning !== undefined) {
          await progress.pauseWhile(() => writeText(stderr, warning).catch(() => {})); // stderr is closed
        }
        this.#ended.delete(trajectory);
        for (const next of groups.add(trajectory)) await this.#show(next, progress);
        progress.update();
        this.#requireHope(trajectory);
      }
      if (typeof tasks === "string" && this.#tasksRead === 0) throw emptyTasksError(tasks);
    } finally {
      signal.removeEventListener("abort", announceInterrupt);
      for (const trajectory of this.#ended) {
        for (const next of groups.add(trajectory)) await this.#show(next, progress);
      }
      for (const next of groups.takeRest()) await this.#show(next, progress);
      await this.#options.training?.writePartial();
    }
  }

  /**
   * Ends a run whose next episodes would fail too.
   *
   * @throws {RunEndedError} if a server cannot be used, or `maxErrors` episodes have failed.
   */
  #requireHope({ error }: Trajectory): void {
    const { servers, maxErrors = Infinity, out, training } = this.#options;
    const hint = out || training ? "; --resume continues it" : "";
    const { episodes } = this.#options.summary;
    const start = `Ended the run after ${episodes} ${episodes === 1 ? "episode" : "episodes"} as`;
    if (servers?.unusable !== undefined) {
      throw new RunEndedError(`${start} all others would fail: ${servers.unusable.message}${hint}`);
    }
    if (error === undefined || ++this.#failed < maxErrors) return;
    throw new RunEndedError(
      `${start} ${this.#failed} have failed (--max-errors), the last: ${error.message}${hint}`,
    );
  }

  #trajectories(): AsyncGenerator<Trajectory> {
    const { policy, envName, samples, seed, concurrency, show, maxTurns, branch, summary, training, signal } =
      this.#options;
    const { timeScale, cutScore, limits } = this.#options;
    return rolloutAll(this.#tasks(), {
      policy,
      envName,
      timeScale,
      samples,
      seed,
      concurrency,
      maxTurns,
      cutScore,
      limits,
      branch,
      signal,
      makeEnv: (task, resumed) => this.#makeEnv(task, resumed),
      tokens: training?.tokens,
      resumed: branch ? undefined : ({ task, sample }) => training?.file.takePartial(task, sample),
      onAborted: (trajectory) => {
        if (training && !branch && this.#unfinished.isMissing(training.file, trajectory)) {
          training.add(trajectory);
        }
      },
      skip: (task, sample) => this.#unfinished.isFinished(task, sample),
      ordered: show !== undefined,
      onStart: () => summary.start(),
      onTrajectory: async (trajectory) => {
        if (trajectory.parent === undefined) summary.end(trajectory);
        else if (trajectory.parent.call === undefined) summary.add(trajectory); // a question is no episode
        this.#options.onEpisode?.(trajectory);
        this.#ended.add(trajectory);
        await this.#write(trajectory);
      },
    });
  }

  /** Writes an episode to the files that lack it, first to `out`: a training row can be made from that line. */
  async #write(trajectory: Trajectory): Promise<void> {
    const { out, training } = this.#options;
    if (out && this.#unfinished.isMissing(out, trajectory)) await out.write(trajectory);
    if (training && this.#unfinished.isMissing(training.file, trajectory)) await training.write(trajectory);
  }

  /** Throws for an invalid row, so that the row becomes a failed episode. */
  #makeEnv(task: Task, resumed: InteractionResult | undefined): Env | Promise<Env> {
    const fault = this.#faults.get(task);
    if (fault !== undefined) throw fault;
    return this.#options.makeEnv(task, resumed);
  }

  async *#tasks(): AsyncGenerator<Task> {
    for await (const task of this.#source()) {
      this.#tasksRead++;
      this.#options.onTask?.(task);
      this.#unfinished.add(task);
      yield task;
    }
  }

  #source(): Iterable<Task> | AsyncIterable<Task> {
    const { tasks, limit, split, taskColumns: columns } = this.#options;
    if (typeof tasks !== "string") return "generate" in tasks ? tasks.generate() : tasks.slice(0, limit);
    const onFault = (task: Task, error: DatasetError) => void this.#faults.set(task, error);
    return readTasks(tasks, { limit, split, columns, onFault });
  }

  async #show(trajectory: Trajectory, progress: Progress): Promise<void> {
    const { json, show, colour, stdout } = this.#options;
    this.table.add(trajectory);
    if (!json && (show === undefined || ++this.#shown > show)) return;
    const text = json
      ? `${escapeJsonControls(toEpisodeRow(trajectory, { shorten: shortenTrajectory }))}\n`
      : formatTranscript(trajectory, { colour });
    await progress.pauseWhile(() => writeText(stdout, text));
  }
}

/** Returns the error of a task file, or of a folder of them, without a task. */
export function emptyTasksError(path: string): UsageError {
  return new UsageError(`Cannot play '${path}' as it must have at least one task: it has none`);
}

function formatInterrupt({ running }: Summary): string {
  return `Interrupted: ending the running episodes (${running}). Press Ctrl-C again to exit at once.\n`;
}

/** Classes of the errors of a task file that cannot be read. */
export const UNREADABLE = [
  SyntaxError,
  DatasetError,
  Deno.errors.NotFound,
  Deno.errors.PermissionDenied,
  Deno.errors.IsADirectory,
  Deno.errors.NotADirectory,
] as const;

function isUnreadable(error: unknown): error is Error {
  return UNREADABLE.some((kind) => error instanceof kind);
}

/**
 * Plays the tasks of a file and prints the results. The printed episodes of a task are adjacent; a file has the
 * episodes in the order in which they ended.
 *
 * Returns the exit code: 0, 1 if an episode failed at a boundary, 2 if the tasks cannot be read, 74 if an episode
 * cannot be written, 130 if the run was interrupted.
 */
export async function playTasks(options: TaskRunOptions): Promise<number> {
  const { json, stdout, stderr, summary } = options;
  try {
    const run = new TaskRun(options);
    const stopped = await run.play();
    if (stopped !== EXIT.usage || summary.episodes > 0) {
      await writeText(json ? stderr : stdout, run.table.format() + summary.formatTable());
    }
    return stopped || (summary.failed > 0 ? EXIT.error : EXIT.ok);
  } catch (error) {
    // the reader has closed the output
    if (error instanceof Deno.errors.BrokenPipe) return EXIT.ok;
    throw error;
  }
}
