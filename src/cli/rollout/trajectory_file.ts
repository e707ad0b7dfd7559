import type { TaskColumns } from "../../datasets/columns.ts";
import { readTasks, type ReadTasksOptions } from "../../datasets/read_tasks.ts";
import { DatasetError } from "../../errors.ts";
import type { Policy } from "../../policy/policy.ts";
import { GRADERS } from "../../rewards/registry.ts";
import { readTrajectories } from "../../rollout/read_trajectories.ts";
import { shortenTrajectory } from "../../rollout/episode/episode_row.ts";
import { type Trajectory, TRAJECTORY_FORMAT } from "../../rollout/trajectory.ts";
import { parseTrajectory } from "../../rollout/trajectory_schema.ts";
import type { Task } from "../../task.ts";
import { toUsageError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { escapeLine } from "../../terminal_text.ts";
import { writeText } from "../output.ts";
import { EpisodeFile, type EpisodeFileOptions, openEpisodeFile } from "./episode_file.ts";
import { FinishedEpisodes } from "./finished_episodes.ts";
import { chooseGraders } from "./graders.ts";
import type { Summary } from "./report/summary.ts";

/** Options of {@linkcode TrajectoryFile.open}. */
export interface TrajectoryFileOptions extends EpisodeFileOptions<Trajectory> {
  /** Tasks of the run. Tasks of existing episodes must be equal to those with the same id. */
  tasks?: AsyncIterable<Task> | undefined;
}

const TRAJECTORIES = {
  beginning: '{"task":',
  format: TRAJECTORY_FORMAT,
  parse: parseTrajectory,
  shorten: shortenTrajectory,
  keeps: ({ error }: Trajectory) => error === undefined,
};

/** File of `--out`, with a trajectory per line. */
export class TrajectoryFile extends EpisodeFile<Trajectory> {
  readonly #finished: FinishedEpisodes;

  readonly #path: string;

  private constructor(path: string, file: Deno.FsFile, finished: FinishedEpisodes) {
    super(path, { file, kind: TRAJECTORIES });
    this.#path = path;
    this.#finished = finished;
  }

  /** @throws {UsageError} if the file cannot be written or resumed. */
  static async open(path: string, options: TrajectoryFileOptions = {}): Promise<TrajectoryFile> {
    const { tasks, onKeep } = options;
    const finished = new FinishedEpisodes();
    const file = await openEpisodeFile(path, TRAJECTORIES, {
      ...options,
      onKeep(trajectory) {
        finished.add(trajectory);
        onKeep?.(trajectory);
      },
      onRead: async () => tasks && await finished.requireSame(tasks),
    });
    return new TrajectoryFile(path, file, finished);
  }

  /** Reads the episodes of an earlier run. Call this method before the first write. */
  async *finished(): AsyncGenerator<Trajectory> {
    if (!this.#finished.isEmpty) yield* readTrajectories(this.#path);
  }

  takeFinished(task: Task, sample: number): boolean {
    return this.#finished.take(task, sample);
  }
}

/** Flags that name the columns of a task file. */
export interface ColumnFlags {
  queryField?: string;
  answerField?: string;
  idField?: string;
  systemField?: string;
  keepFields?: readonly string[];
}

/** Returns the columns that the flags name. */
export function columnsOf(
  { queryField: query, answerField: answer, idField: id, systemField: system, keepFields: keep }: ColumnFlags,
): TaskColumns {
  return { query, answer, id, system, keep };
}

/** Options of {@linkcode openTrajectoryFile}. */
export interface RolloutFileFlags extends ColumnFlags {
  tasks?: string;
  split?: string;
  grader: readonly string[];
  out?: string;
  trainOut?: string;
  resume?: boolean;
  force?: boolean;
}

/**
 * Opens the file of a run, if any, and adds earlier episodes to the summary.
 *
 * @throws {UsageError} if the file cannot be written or belongs to another run.
 */
export async function openTrajectoryFile(
  flags: RolloutFileFlags,
  { summary, policy: { name } }: { summary: Summary; policy: Policy },
): Promise<TrajectoryFile | undefined> {
  const { out, trainOut, resume, force, grader, tasks: source, split } = flags;
  if (out === undefined) return undefined;
  const graderNames = chooseGraders(grader, {}).map(({ name }) => name).join(", ") || "none";
  const onKeep = (trajectory: Trajectory) => {
    requireSameRun(trajectory, { out, policy: name, grader: graderNames });
    if (trainOut === undefined) summary.addEarlier(trajectory); // otherwise the episode may be played again
  };
  return await TrajectoryFile.open(out, {
    resume,
    force,
    mayResume: true,
    source,
    tasks: source === undefined ? undefined : soundTasks(source, { split, columns: columnsOf(flags) }),
    onKeep,
  });
}

/** Reads the rows that are tasks, as far as possible. A source that can be read only once, such as a pipe, is skipped. */
async function* soundTasks(path: string, options: ReadTasksOptions): AsyncGenerator<Task> {
  const { isFile, isDirectory } = await Deno.stat(path);
  if (!isFile && !isDirectory) return;
  const faulty = new Set<Task>();
  try {
    for await (const task of readTasks(path, { ...options, onFault: (task) => void faulty.add(task) })) {
      if (!faulty.delete(task)) yield task;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof DatasetError)) throw error; // reported when the tasks are read
  }
}

/** Policy and grader of a run that resumes a file. */
export interface RunVersions {
  /** Path of the file. */
  readonly out: string;
  /** Name of the policy. */
  readonly policy: string | undefined;
  /** Names of the graders, separated by commas, or `none`. */
  readonly grader: string;
}

/**
 * Refuses an episode of another policy or grader, since a mean over both has no meaning.
 *
 * @throws {UsageError} if policy or grader differ.
 */
export function requireSameRun(trajectory: Trajectory, { out, policy, grader }: RunVersions): void {
  const played = trajectory.versions.policy;
  if (played !== undefined && policy !== undefined && played !== policy) {
    throw new UsageError(
      `Cannot resume '${out}' as it must hold episodes of '${policy}': it has one of '${played}'`,
    );
  }
  const scored = graderOf(trajectory, grader);
  if (scored === undefined || scored === grader) return;
  throw new UsageError(
    `Cannot resume '${out}' as its episodes must be scored by '${grader}': one is scored by '${scored}'`,
  );
}

/** Returns the grader of an episode; `undefined` if unknown, for example when the env scored the episode. */
function graderOf({ reward, rewardParts, cut }: Trajectory, wanted: string): string | undefined {
  if (rewardParts === undefined) return reward === null && cut === undefined ? "none" : undefined;
  const graders = Object.keys(rewardParts).filter((name) => Object.hasOwn(GRADERS, name));
  const names = wanted.split(", ");
  // the name of a grader in a file is known when the grader runs
  const isSame =
    names.filter((name) => Object.hasOwn(GRADERS, name)).every((name) => graders.includes(name)) &&
    (names.length === 1 || graders.every((name) => names.includes(name)));
  return isSame && wanted !== "none" ? wanted : graders.join(", ") || undefined;
}

/** Maximum number of damaged rows that are described. */
const MAX_DESCRIBED = 10;

/**
 * Reads the episodes of a file. Damaged rows and a partial last line are reported on stderr and skipped.
 *
 * @throws {UsageError} if there are damaged rows and no episode.
 */
export async function* readSavedEpisodes(
  path: string,
  options: { onDamage?: (() => void) | undefined } = {},
): AsyncGenerator<Trajectory> {
  const onWarning = (warning: string) =>
    void writeText(currentIo().stderr, `warning: ${escapeLine(warning)}\n`).catch(() => {});
  const damages: SyntaxError[] = [];
  let damaged = 0;
  let episodes = 0;
  const onDamage = (error: SyntaxError) => {
    options.onDamage?.();
    if (++damaged > MAX_DESCRIBED) return;
    if (episodes === 0) damages.push(error);
    else onWarning(error.message);
  };
  for await (const trajectory of readTrajectories(path, { onWarning, onDamage })) {
    episodes++;
    for (const { message } of damages.splice(0)) onWarning(message);
    yield trajectory;
  }
  if (damages.length > 0) throw toUsageError(damages[0]);
  if (damaged > 0) onWarning(`${damaged} damaged ${damaged === 1 ? "row is" : "rows are"} left out`);
}
