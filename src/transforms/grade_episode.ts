import { attributeErrors, GraderError } from "../errors.ts";
import type { Step } from "../envs/env.ts";
import { type Grader, type Score, toScore } from "../rewards/grader.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode GradeEpisode}. */
export interface GradeEpisodeOptions {
  /** Scores the finished episode. */
  grader: Grader;
}

/**
 * Grades an episode when it ends and adds the score to the reward of its last step.
 *
 * Append it after the transforms that end the episode. A step rejects with a `GraderError` when the grader fails.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnAnswer, GradeEpisode, gsm8k, replyAction, TransformedEnv } from "@paddock/paddock";
 *
 * const transforms = [new EndOnAnswer(), new GradeEpisode({ grader: gsm8k() })];
 * await using env = new TransformedEnv(new ChatEnv(), transforms);
 * await env.reset({ id: "1", query: "What is 1 + 1?", answer: "2" });
 * const { reward } = await env.step(replyAction("<answer>2</answer>"));
 * assertEquals(reward, 1);
 * ```
 */
export class GradeEpisode implements Transform {
  readonly #grader: Grader;

  constructor(options: GradeEpisodeOptions) {
    this.#grader = options.grader;
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    if (!step.terminated && !step.truncated) return step;
    const grader = this.#grader;
    const score = await attributeErrors(() => scoreOf(step, grader, context), {
      error: GraderError,
      failure: `Cannot grade with '${grader.name}'`,
      signal: context.signal,
    });
    return withScore(step, score, grader.name);
  }
}

async function scoreOf(step: Step, grader: Grader, context: TransformContext): Promise<Score> {
  const { task, signal } = context;
  return toScore(await grader.grade({ task, history: step.history.prompt, signal }));
}

function withScore(step: Step, { score, parts, reason }: Score, name: string): Step {
  const rewardParts = { ...step.rewardParts, [name]: score, ...parts };
  if (score !== null) return { ...step, rewardParts, reward: (step.reward ?? 0) + score };
  return { ...step, rewardParts, ...(reason !== undefined && { unscored: reason }) };
}
