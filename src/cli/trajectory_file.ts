import type { Trajectory } from "../rollout/trajectory.ts";
import { readTrajectories } from "../rollout/read_trajectories.ts";
import { parseTrajectory } from "../rollout/trajectory_schema.ts";
import type { Task } from "../task.ts";
import { EpisodeFile, type EpisodeFileOptions, openEpisodeFile } from "./episode_file.ts";
import { FinishedEpisodes } from "./finished_episodes.ts";

/** What becomes of the episodes that a file holds already, and what they must be. */
export interface TrajectoryFileOptions extends EpisodeFileOptions<Trajectory> {
  /** The tasks that are to be played: those of episodes that stay must be among them, where they have their ids. */
  tasks?: AsyncIterable<Task> | undefined;
}

const TRAJECTORIES = {
  beginning: '{"task":',
  parse: parseTrajectory,
  keeps: ({ error }: Trajectory) => error === undefined,
};

/** The file of `--out`: each episode as it was played. */
export class TrajectoryFile extends EpisodeFile<Trajectory> {
  readonly #finished: FinishedEpisodes;

  readonly #path: string;

  private constructor(path: string, file: Deno.FsFile, finished: FinishedEpisodes) {
    super(path, file);
    this.#path = path;
    this.#finished = finished;
  }

  /** @throws {UsageError} when it cannot be written, or cannot be gone on with. */
  static async open(path: string, options: TrajectoryFileOptions = {}): Promise<TrajectoryFile> {
    const { tasks, onKeep: onKept } = options;
    const finished = new FinishedEpisodes();
    const file = await openEpisodeFile(path, TRAJECTORIES, {
      ...options,
      onKeep(trajectory) {
        finished.add(trajectory);
        onKept?.(trajectory);
      },
      onRead: async () => tasks && await finished.requireSame(tasks),
    });
    return new TrajectoryFile(path, file, finished);
  }

  /** Reads the episodes that an earlier run has played; to be asked for before one is written. */
  async *finished(): AsyncGenerator<Trajectory> {
    if (!this.#finished.isEmpty) yield* readTrajectories(this.#path);
  }

  takeFinished(task: Task, sample: number): boolean {
    return this.#finished.take(task, sample);
  }
}
