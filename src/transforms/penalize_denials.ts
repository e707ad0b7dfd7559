import { requireKnownOptions } from "../options.ts";
import type { Observation, Step } from "../envs/env.ts";
import type { EpisodeCheckpoint } from "../episode_checkpoint.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import type { Transform } from "./transform.ts";

/** Options of {@linkcode PenalizeDenials}. */
export interface PenalizeDenialsOptions {
  /**
   * Reward that each refused attempt costs.
   * @default 0.1
   */
  perAttempt?: number | undefined;
  /**
   * Maximum that all refused attempts of an episode cost together.
   * @default 1
   */
  max?: number | undefined;
}

/**
 * Lowers the reward of an episode by the attempts of code that the sandbox refused: to open files of the system,
 * to use the network, to start or copy a process, to reach JavaScript. A call of a tool that a limit refused counts as
 * well. The part of the reward is named `denials`.
 *
 * The guest counts the attempts, so that a program may hide them: the count can lower a reward and never raises a
 * reward. The attempts of a step lower the first reward that is not `null`, in that step or a later step. An episode
 * without a reward stays without. Append this transform after the transform that grades.
 *
 * @example
 * ```ts
 * import { ChatEnv, EndOnAnswer, GradeEpisode, gsm8k, PythonInterpreter } from "@paddock/paddock";
 * import { type SessionPool, TransformedEnv } from "@paddock/paddock";
 * import { PenalizeDenials } from "@paddock/paddock/transforms";
 *
 * function makeEnv(pool: SessionPool) {
 *   return new TransformedEnv(new ChatEnv(), [
 *     new PythonInterpreter({ pool }),
 *     new EndOnAnswer(),
 *     new GradeEpisode({ grader: gsm8k() }),
 *     new PenalizeDenials({ perAttempt: 0.2 }),
 *   ]);
 * }
 * ```
 */
export class PenalizeDenials implements Transform {
  readonly #perAttempt: number;
  readonly #max: number;
  /** Cost of the episode so far, and the part of the cost that has lowered no reward yet. */
  #cost = 0;
  #pending = 0;

  /** @throws {RangeError} if an option is not a finite number >= 0. */
  constructor(options: PenalizeDenialsOptions = {}) {
    requireKnownOptions("create PenalizeDenials", options, { perAttempt: true, max: true });
    const { perAttempt = 0.1, max = 1 } = options;
    requirePenalty("perAttempt", perAttempt);
    requirePenalty("max", max);
    this.#perAttempt = perAttempt;
    this.#max = max;
  }

  reset(observation: Observation): Observation {
    this.#cost = this.#pending = 0;
    return observation;
  }

  step(step: Step): Step {
    const count = step.toolResults.reduce((sum, result) => sum + countRefused(result), 0);
    const cost = Math.min(this.#max, this.#cost + count * this.#perAttempt);
    this.#pending += cost - this.#cost;
    this.#cost = cost;
    if (step.reward === null || this.#pending === 0) return step;
    const denials = -this.#pending;
    this.#pending = 0;
    return { ...step, reward: step.reward + denials, rewardParts: { ...step.rewardParts, denials } };
  }

  /** {@inheritDoc Transform.checkpoint} */
  checkpoint(): EpisodeCheckpoint<PenalizeDenials> {
    const [cost, pending] = [this.#cost, this.#pending];
    return {
      copy: () => {
        const copy = new PenalizeDenials({ perAttempt: this.#perAttempt, max: this.#max });
        copy.#cost = cost;
        copy.#pending = pending;
        return copy;
      },
    };
  }
}

/**
 * Returns the number of attempts of a block that the sandbox refused, and of the block's calls of tools that a limit
 * refused.
 */
function countRefused({ exec, calls = [] }: ToolResult): number {
  const attempts = Object.values(exec?.denied ?? {}).map((count) => Math.max(0, count));
  const refusedCalls = calls.filter(({ status }) => status === "refused").length;
  return attempts.reduce((sum, count) => sum + count, refusedCalls);
}

function requirePenalty(name: string, value: number): void {
  if (Number.isFinite(value) && value >= 0) return;
  throw new RangeError(
    `Cannot penalize denials as '${name}' must be a finite number >= 0: current value is ${value}`,
  );
}
