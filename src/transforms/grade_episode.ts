import { requireKnownOptions } from "../options.ts";
import { attributeErrors, GraderError } from "../errors.ts";
import type { Observation, Step } from "../envs/env.ts";
import type { EpisodeCheckpoint } from "../episode_checkpoint.ts";
import { type Grader, type Score, toScore } from "../rewards/grader.ts";
import type { CodeCall } from "../tools/tool_result.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode GradeEpisode}. */
export interface GradeEpisodeOptions {
  /** Scores the finished episode. */
  grader: Grader;
}

/**
 * Grades an episode at the end and adds the score to the reward of the last step.
 *
 * Append this transform after the transforms that end the episode. A step rejects with a `GraderError` when the grader
 * fails.
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
  /** Calls that the code of the episode made. */
  #codeCalls: readonly CodeCall[] = [];

  constructor(options: GradeEpisodeOptions) {
    requireKnownOptions("create GradeEpisode", options, { grader: true });
    this.#grader = options.grader;
  }

  reset(observation: Observation): Observation {
    this.#codeCalls = [];
    return observation;
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    const calls = step.toolResults.flatMap(({ calls = [] }) => calls);
    if (calls.length > 0) this.#codeCalls = [...this.#codeCalls, ...calls];
    if (!step.terminated && !step.truncated) return step;
    const grader = this.#grader;
    const score = await attributeErrors(() => this.#score(step, context), {
      error: GraderError,
      failure: `Cannot grade with '${grader.name}'`,
      signal: context.signal,
    });
    return withScore(step, score, grader.name);
  }

  /** {@inheritDoc Transform.checkpoint} */
  checkpoint(): EpisodeCheckpoint<GradeEpisode> {
    const calls = this.#codeCalls;
    return {
      copy: () => {
        const copy = new GradeEpisode({ grader: this.#grader });
        copy.#codeCalls = calls;
        return copy;
      },
    };
  }

  async #score({ history }: Step, { task, signal }: TransformContext): Promise<Score> {
    const context = { task, history: history.prompt, codeCalls: this.#codeCalls, signal };
    return toScore(await this.#grader.grade(context));
  }
}

function withScore(step: Step, { score, parts, reason }: Score, name: string): Step {
  const rewardParts = { ...step.rewardParts, [name]: score, ...parts };
  if (score !== null) return { ...step, rewardParts, reward: (step.reward ?? 0) + score };
  return { ...step, rewardParts, ...(reason !== undefined && { unscored: reason }) };
}
