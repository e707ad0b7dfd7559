import { readTrajectories } from "../rollout/read_trajectories.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { UsageError } from "./usage_error.ts";
import { writeText } from "./write_text.ts";
import { currentIo } from "./io.ts";

/**
 * The episodes of a file; what was cut off of it is told on stderr.
 *
 * @throws {UsageError} at a line that is no episode.
 */
export async function* readSavedEpisodes(path: string): AsyncGenerator<Trajectory> {
  const onWarning = (warning: string) =>
    void writeText(currentIo().stderr, `warning: ${warning}\n`).catch(() => {});
  try {
    yield* readTrajectories(path, { onWarning });
  } catch (cause) {
    if (cause instanceof SyntaxError) throw new UsageError(cause.message, { cause });
    throw cause;
  }
}
