import type { Trajectory } from "../rollout/trajectory.ts";
import { parseTrajectory } from "../rollout/trajectory_schema.ts";
import {
  EpisodeFile,
  type EpisodeFileOptions,
  episodeKey,
  type Finished,
  openEpisodeFile,
} from "./episode_file.ts";

const TRAJECTORIES = {
  beginning: '{"task":',
  parse: parseTrajectory,
  keeps: ({ error }: Trajectory) => error === undefined,
};

/** The file of `--out`: each episode as it was played. */
export class TrajectoryFile extends EpisodeFile<Trajectory> {
  /** @throws {UsageError} when it cannot be written, or cannot be gone on with. */
  static async open(path: string, options: EpisodeFileOptions<Trajectory> = {}): Promise<TrajectoryFile> {
    const finished: Finished = new Map();
    const onKept = (trajectory: Trajectory) => {
      const key = episodeKey(trajectory.task.id, trajectory.sample);
      finished.set(key, (finished.get(key) ?? 0) + 1);
      options.onKept?.(trajectory);
    };
    return new TrajectoryFile(await openEpisodeFile(path, TRAJECTORIES, { ...options, onKept }), finished);
  }
}
