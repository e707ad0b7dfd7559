import { crossBoundary } from "../boundary.ts";
import { GraderError } from "../errors.ts";
import { History } from "../history.ts";
import { type Grader, wholeScore } from "../rewards/grader.ts";
import { type Trajectory, withFailure } from "./trajectory.ts";

/** How {@linkcode gradeTrajectory} grades. */
export interface GradeTrajectoryOptions {
  signal?: AbortSignal | undefined;
}

/**
 * Scores an episode that is over, without an env: the score takes the place of its reward and of the parts.
 *
 * An episode that failed stays unscored, as it was never played to its end; one at which only a grader failed is
 * graded anew. A grader that fails is written on the episode. Rejects when it was aborted.
 */
export async function gradeTrajectory(
  trajectory: Trajectory,
  grader: Grader,
  options: GradeTrajectoryOptions = {},
): Promise<Trajectory> {
  const { error, rewardParts: _parts, unscored: _reason, ...played } = { ...trajectory, reward: null };
  if (error !== undefined && error.boundary !== "grader") return { ...played, error };
  const { signal } = options;
  const history = History.fromChats(trajectory.messages);
  try {
    const { score, parts, reason } = await crossBoundary(
      async () => wholeScore(await grader.grade({ task: trajectory.task, history, signal })),
      { error: GraderError, failure: `Cannot grade with '${grader.name}'`, signal },
    );
    const graded = { ...played, reward: score, rewardParts: { [grader.name]: score, ...parts } };
    return score === null && reason !== undefined ? { ...graded, unscored: reason } : graded;
  } catch (error) {
    if (signal?.aborted) throw error;
    return withFailure(played, error);
  }
}
