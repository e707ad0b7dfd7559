import { ArgumentRangeError } from "../errors.ts";
import { requireKnownOptions } from "../options.ts";
import { MAX_DIFFICULTY } from "./names.ts";
import { requireDifficulty } from "./tasks.ts";

/** Options of {@linkcode Curriculum}. */
export interface CurriculumOptions {
  /**
   * First difficulty.
   *
   * @default 1
   */
  difficulty?: number | undefined;
  /**
   * Number of episodes of a difficulty after which the pass rate decides.
   *
   * @default 32
   */
  window?: number | undefined;
  /**
   * Pass rate below which the difficulty falls.
   *
   * @default 0.3
   */
  low?: number | undefined;
  /**
   * Pass rate above which the difficulty rises.
   *
   * @default 0.7
   */
  high?: number | undefined;
}

/** State of a {@linkcode Curriculum}, as plain data. */
export interface CurriculumState {
  readonly difficulty: number;
  /** Whether each of the last episodes of the difficulty passed, the oldest first. */
  readonly passed: readonly boolean[];
}

/**
 * Chooses the difficulty by the pass rate: after `window` episodes of the current difficulty, a rate above `high` raises
 * the difficulty by 1, and a rate below `low` lowers the difficulty by 1. Episodes of another difficulty, which may end
 * after a change, do not count.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { Curriculum } from "@paddock/paddock/envs";
 *
 * const curriculum = new Curriculum({ window: 2 });
 * for (let episode = 0; episode < 2; episode++) curriculum.record({ difficulty: 1, reward: 1 });
 * assertEquals(curriculum.difficulty, 2);
 * ```
 */
export class Curriculum {
  readonly #window: number;
  readonly #low: number;
  readonly #high: number;
  #difficulty: number;
  #passed: boolean[] = [];

  /** @throws {RangeError} if an option is out of range. */
  constructor(options: CurriculumOptions = {}) {
    requireKnownOptions("create Curriculum", options, CURRICULUM_OPTIONS);
    const { difficulty = 1, window = 32, low = 0.3, high = 0.7 } = options;
    requireDifficulty(difficulty);
    if (!Number.isSafeInteger(window) || window < 1) {
      throw new ArgumentRangeError(
        `Cannot make a curriculum as 'window' must be a whole number from 1: current value is ${window}`,
      );
    }
    if (!(low >= 0 && low < high && high <= 1)) {
      throw new ArgumentRangeError(
        `Cannot make a curriculum as 0 <= low < high <= 1 must hold: current values are ${low} and ${high}`,
      );
    }
    this.#difficulty = difficulty;
    this.#window = window;
    this.#low = low;
    this.#high = high;
  }

  /** Difficulty of the next episode. */
  get difficulty(): number {
    return this.#difficulty;
  }

  /** State, from which {@linkcode Curriculum.restore} continues. */
  get state(): CurriculumState {
    return { difficulty: this.#difficulty, passed: [...this.#passed] };
  }

  /** Records an episode. An episode passed if the reward is 1; an episode without a score does not count. */
  record({ difficulty, reward }: { difficulty: number; reward: number | null }): void {
    if (reward === null || difficulty !== this.#difficulty) return;
    this.#passed.push(reward >= 1);
    if (this.#passed.length < this.#window) return;
    const rate = this.#passed.filter((passed) => passed).length / this.#window;
    if (rate > this.#high) this.#move(1);
    else if (rate < this.#low) this.#move(-1);
    else this.#passed.shift();
  }

  /**
   * Continues from a state.
   *
   * @throws {RangeError} if the difficulty is out of range.
   */
  restore({ difficulty, passed }: CurriculumState): void {
    requireDifficulty(difficulty);
    this.#difficulty = difficulty;
    this.#passed = passed.slice(Math.max(0, passed.length - this.#window + 1));
  }

  #move(by: number): void {
    this.#difficulty = Math.min(MAX_DIFFICULTY, Math.max(1, this.#difficulty + by));
    this.#passed = [];
  }
}

/** Names of the options. */
const CURRICULUM_OPTIONS: Readonly<Record<keyof CurriculumOptions, true>> = {
  difficulty: true,
  window: true,
  low: true,
  high: true,
};
