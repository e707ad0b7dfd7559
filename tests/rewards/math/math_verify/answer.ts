/** Draws for one pair. */
export interface Draw {
  /** Returns an integer from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** An answer, and other ways to write it. */
export interface Answer {
  readonly truth: string;
  /** Equal answers by the name of their form. */
  readonly equal: Readonly<Record<string, string>>;
  /** Other answers by the name of their fault. */
  readonly wrong: Readonly<Record<string, string>>;
}

/** Functions that make answers, by the name of their kind. */
export type AnswerKinds = Readonly<Record<string, (draw: Draw) => Answer>>;
