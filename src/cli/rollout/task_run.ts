import { readTasks } from "../../datasets/read_tasks.ts";
import type { Env } from "../../envs/env.ts";
import { DatasetError } from "../../errors.ts";
import { toWellFormedJson } from "../../json.ts";
import type { Policy } from "../../policy/policy.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import { rolloutAll } from "../../rollout/rollout_all.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { Task } from "../../task.ts";
import { EXIT } from "../command.ts";
import { countLines } from "../input.ts";
import type { TextSink } from "../io.ts";
import { escapeControls, escapeLine, writeText } from "../output.ts";
import { formatTranscript } from "../transcript.ts";
import type { MakeEnv } from "./envs.ts";
import { UnwrittenError } from "../errors.ts";
import { RemainingEpisodes } from "./finished_episodes.ts";
import { Progress } from "./progress.ts";
import { EpisodeTable, type Summary } from "./summary.ts";
import type { TrainingRun } from "./training_file.ts";
import type { TrajectoryFile } from "./trajectory_file.ts";

/** A place that text goes to, which may be a terminal. */
export type TerminalSink = TextSink & { isTerminal(): boolean };

/** Options of {@linkcode playTasks}. */
export interface TaskRunOptions {
  /** The file of tasks, or a folder of such, or the tasks themselves. */
  tasks: string | readonly Task[];
  /** Which files of a folder. */
  split?: string | undefined;
  limit?: number | undefined;
  policy: Policy;
  makeEnv: MakeEnv;
  /** Told of each task, in the order of the file, before it is played. */
  onTask?: ((task: Task) => void) | undefined;
  /** Episodes of each task. */
  samples: number;
  seed?: number | undefined;
  concurrency: number;
  maxTurns: number;
  /** Counts what is played; it may know of an earlier run. */
  summary: Summary;
  /** One JSON line per trajectory on stdout; the table then goes to stderr. */
  json?: boolean | undefined;
  /** Each episode goes to this file the moment it is over, and what it holds already is not played. */
  out?: TrajectoryFile | undefined;
  /** Has tokens written, and takes each episode as a trainer reads it. */
  training?: TrainingRun | undefined;
  /** The messages of so many episodes on stdout, in the order of the tasks. */
  show?: number | undefined;
  colour?: boolean | undefined;
  stdout: TextSink;
  stderr: TerminalSink;
  columns?: (() => number) | undefined;
  signal: AbortSignal;
}

/** The tasks of a file while they are played. */
export class TaskRun {
  readonly #options: TaskRunOptions;
  /** Lines shown. */
  readonly table = new EpisodeTable();
  readonly #unfinished: RemainingEpisodes;
  /** Episodes that are over and whose turn to be shown has not come. */
  readonly #ended = new Set<Trajectory>();
  /** Errors of rows that are not tasks. */
  readonly #faults = new WeakMap<Task, DatasetError>();
  #shown = 0;

  constructor(options: TaskRunOptions) {
    this.#options = options;
    const files = [options.out, options.training?.file].filter((file) => file !== undefined);
    this.#unfinished = new RemainingEpisodes(files, options.samples);
  }

  /** Gives the exit code that says why playing stopped early; 0 when it did not. */
  async play(): Promise<number> {
    const { signal, stderr } = this.#options;
    try {
      await this.#playAll();
      return EXIT.ok;
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) throw error;
      if (signal.aborted && !(error instanceof UnwrittenError)) return EXIT.interrupted;
      if (!(error instanceof UnwrittenError || isUnreadable(error))) throw error;
      await writeText(stderr, `error: ${escapeControls(error.message)}\n`);
      return error instanceof UnwrittenError ? EXIT.unwritten : EXIT.usage;
    }
  }

  async #playAll(): Promise<void> {
    const { tasks, limit, samples, summary, stderr, columns, signal } = this.#options;
    const count = typeof tasks === "string"
      ? await countLines(tasks, limit)
      : Math.min(tasks.length, limit ?? Infinity);
    const total = count === undefined ? undefined : count * samples;
    const groups = new EpisodeGroups((id) => this.#unfinished.remainingCount(id));
    await using progress = new Progress({
      summary,
      total,
      columns,
      sink: stderr,
      isTerminal: stderr.isTerminal(),
    });
    const say = () =>
      void progress.pauseWhile(() => writeText(stderr, interruption(summary))).catch(() => {});
    signal.addEventListener("abort", say, { once: true });
    try {
      const early = new StartupFailureWarning();
      for await (const trajectory of this.#trajectories()) {
        const warning = early.add(trajectory);
        if (warning !== undefined) {
          await progress.pauseWhile(() => writeText(stderr, warning).catch(() => {})); // stderr is closed
        }
        this.#ended.delete(trajectory);
        for (const next of groups.add(trajectory)) await this.#show(next, progress);
        progress.update();
      }
    } finally {
      signal.removeEventListener("abort", say);
      for (const trajectory of this.#ended) {
        for (const next of groups.add(trajectory)) await this.#show(next, progress);
      }
      for (const next of groups.takeRest()) await this.#show(next, progress);
      await this.#options.training?.writePartial();
    }
  }

  #trajectories(): AsyncGenerator<Trajectory> {
    const { policy, samples, seed, concurrency, show, maxTurns, summary, training, signal } = this.#options;
    return rolloutAll(this.#tasks(), {
      policy,
      samples,
      seed,
      concurrency,
      maxTurns,
      signal,
      makeEnv: (task, resumed) => this.#makeEnv(task, resumed),
      tokens: training?.tokens,
      resumed: ({ task, sample }) => training?.file.takePartial(task, sample),
      onAborted: (trajectory) => {
        if (training && this.#unfinished.isMissing(training.file, trajectory)) training.add(trajectory);
      },
      skip: (task, sample) => this.#unfinished.isFinished(task, sample),
      ordered: show !== undefined,
      onStart: () => summary.start(),
      onTrajectory: async (trajectory) => {
        summary.end(trajectory);
        this.#ended.add(trajectory);
        await this.#write(trajectory);
      },
    });
  }

  /** Writes an episode where it is missing; the first of the files has all that the other is made of. */
  async #write(trajectory: Trajectory): Promise<void> {
    const { out, training } = this.#options;
    if (out && this.#unfinished.isMissing(out, trajectory)) await out.write(trajectory);
    if (training && this.#unfinished.isMissing(training.file, trajectory)) await training.write(trajectory);
  }

  /** A row that is no task fails here, each time that it is to be played. */
  #makeEnv(task: Task, resumed: InteractionResult | undefined): Env | Promise<Env> {
    const fault = this.#faults.get(task);
    if (fault !== undefined) throw fault;
    return this.#options.makeEnv(task, resumed);
  }

  async *#tasks(): AsyncGenerator<Task> {
    for await (const task of this.#source()) {
      this.#options.onTask?.(task);
      this.#unfinished.add(task);
      yield task;
    }
  }

  #source(): Iterable<Task> | AsyncIterable<Task> {
    const { tasks, limit, split } = this.#options;
    if (typeof tasks !== "string") return tasks.slice(0, limit);
    const onFault = (task: Task, error: DatasetError) => void this.#faults.set(task, error);
    return readTasks(tasks, { limit, split, onFault });
  }

  async #show(trajectory: Trajectory, progress: Progress): Promise<void> {
    const { json, show, colour, stdout } = this.#options;
    this.table.add(trajectory);
    if (!json && (show === undefined || ++this.#shown > show)) return;
    const text = json ? `${toWellFormedJson(trajectory)}\n` : formatTranscript(trajectory, { colour });
    await progress.pauseWhile(() => writeText(stdout, text));
  }
}

function interruption({ running }: Summary): string {
  return `Interrupted: ending what runs (${running}). Ctrl-C again ends at once.\n`;
}

function isUnreadable(error: unknown): error is Error {
  const { NotFound, PermissionDenied, IsADirectory, NotADirectory } = Deno.errors;
  const kinds = [SyntaxError, DatasetError, NotFound, PermissionDenied, IsADirectory, NotADirectory];
  return kinds.some((kind) => error instanceof kind);
}

/**
 * Plays the tasks of a file and prints what came of it. The episodes of one task stand together in what is
 * printed; a file holds them in the order in which they ended.
 *
 * Gives the exit code: 0, 1 when an episode failed at a boundary, 2 when the tasks cannot be read, 74 when an
 * episode cannot be written, 130 when it was interrupted.
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
    // The reader of the output closed it.
    if (error instanceof Deno.errors.BrokenPipe) return EXIT.ok;
    throw error;
  }
}

/** So many episodes in a row are no bad luck. */
const MANY = 8;

/** Sees when a run has begun with nothing but failures of one sort: no server there, or one that refuses all. */
export class StartupFailureWarning {
  #seen = 0;
  #over = false;

  /** Takes note of an episode and gives a warning, once, when it is called for. */
  add({ error }: Trajectory): string | undefined {
    if (this.#over) return undefined;
    const isVain = error?.fault === "unreachable" || error?.fault === "refused";
    this.#over = !isVain || ++this.#seen >= MANY;
    if (!isVain || !this.#over) return undefined;
    return `warning: the first ${MANY} episodes all failed: ${
      escapeLine(error.message)
    }. Ctrl-C ends the run.\n`;
  }
}

/** Brings the episodes of one task together, in whatever order they end. */
export class EpisodeGroups {
  readonly #expected: (id: string) => number;
  readonly #open = new Map<string, Trajectory[]>();

  /** `expected` says how many episodes of a task are to come in all. */
  constructor(expected: (id: string) => number) {
    this.#expected = expected;
  }

  /** Takes an episode and gives those that can go on: its whole group when it was the last of it. */
  add(trajectory: Trajectory): Trajectory[] {
    const { id } = trajectory.task;
    const group = [...this.#open.get(id) ?? [], trajectory];
    this.#open.set(id, group);
    if (group.length < this.#expected(id)) return [];
    this.#open.delete(id);
    return inOrder(group);
  }

  /** The episodes of groups that never became whole. */
  takeRest(): Trajectory[] {
    const rest = [...this.#open.values()].flatMap(inOrder);
    this.#open.clear();
    return rest;
  }
}

function inOrder(group: readonly Trajectory[]): Trajectory[] {
  return group.toSorted((one, other) => one.sample - other.sample);
}
