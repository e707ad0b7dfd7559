import { requireKnownOptions } from "../options.ts";
import { attributeErrors, GraderError } from "../errors.ts";
import { History } from "../history.ts";
import { type Grader, toScore } from "../rewards/grader.ts";
import { type Trajectory, withFailure } from "./trajectory.ts";

/** Options of {@linkcode gradeTrajectory}. */
export interface GradeTrajectoryOptions {
  /**
   * Factor of the limits of time of the grade. The factor is recorded, in place of the factor of the episode.
   *
   * @default none
   */
  timeScale?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Grades a finished episode without an env. The score replaces the reward and the reward parts.
 *
 * A failed episode stays unscored, because the episode did not reach the end, and so does an episode without a reply,
 * whose first prompt exceeds the context of the model. If only a grader had failed, the episode is graded again, and the
 * last turn counts. A failure of the grader is recorded on the episode. Rejects only on an abort.
 */
export async function gradeTrajectory(
  trajectory: Trajectory,
  grader: Grader,
  options: GradeTrajectoryOptions = {},
): Promise<Trajectory> {
  requireKnownOptions("call gradeTrajectory", options, { timeScale: true, signal: true });
  const { timeScale, signal } = options;
  const { error, rewardParts: _parts, unscored: _reason, timeScale: playedScale, ...rest } = trajectory;
  const played = {
    ...rest,
    // the failure of a grader also kept the last turn from being counted
    turns: error === undefined ? rest.turns : rest.steps.length,
    reward: null,
    ...(timeScale !== undefined && { timeScale }),
  };
  if (error !== undefined && error.boundary !== "grader") {
    return { ...rest, reward: null, error, ...(playedScale !== undefined && { timeScale: playedScale }) };
  }
  if (trajectory.cut === "context" && trajectory.turns === 0) return trajectory;
  const history = History.fromChats(trajectory.messages);
  const codeCalls = trajectory.toolResults.flatMap(({ calls = [] }) => calls);
  try {
    const { score, parts, reason } = await attributeErrors(
      async () => toScore(await grader.grade({ task: trajectory.task, history, codeCalls, signal })),
      { error: GraderError, failure: `Cannot grade with '${grader.name}'`, signal },
    );
    const graded = { ...played, reward: score, rewardParts: { [grader.name]: score, ...parts } };
    return score === null && reason !== undefined ? { ...graded, unscored: reason } : graded;
  } catch (error) {
    if (signal?.aborted) throw error;
    return withFailure(played, error);
  }
}
