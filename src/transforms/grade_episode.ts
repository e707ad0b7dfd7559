import { crossBoundary } from "../boundary.ts";
import type { Step } from "../envs/env.ts";
import { GraderError } from "../errors.ts";
import { type Grader, type Score, wholeScore } from "../rewards/grader.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** What {@linkcode gradeEpisode} needs. */
export interface GradeEpisodeOptions {
  grader: Grader;
}

/**
 * Has an episode graded when it is over and adds the score to the last step's reward.
 *
 * Append it behind what ends the episode. A step rejects with a `GraderError` when the grader fails.
 */
export function gradeEpisode(options: GradeEpisodeOptions): Transform {
  const { grader } = options;
  return {
    async step(step, context) {
      if (!step.terminated && !step.truncated) return step;
      const score = await crossBoundary(() => scoreOf(step, grader, context), {
        error: GraderError,
        failure: `Cannot grade with '${grader.name}'`,
        signal: context.signal,
      });
      return withScore(step, score, grader.name);
    },
  };
}

async function scoreOf(step: Step, grader: Grader, context: TransformContext): Promise<Score> {
  const { task, signal } = context;
  return wholeScore(await grader.grade({ task, history: step.history.prompt, signal }));
}

function withScore(step: Step, { score, parts, reason }: Score, name: string): Step {
  const rewardParts = { ...step.rewardParts, [name]: score, ...parts };
  if (score !== null) return { ...step, rewardParts, reward: (step.reward ?? 0) + score };
  return { ...step, rewardParts, ...(reason !== undefined && { unscored: reason }) };
}
