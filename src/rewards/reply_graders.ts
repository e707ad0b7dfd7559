import { countdown } from "./countdown.ts";
import type { Grader } from "./grader.ts";
import { gsm8k } from "./gsm8k.ts";
import { ifeval } from "./ifeval.ts";
import { math } from "./math.ts";
import { exactMatch, numberMatch } from "./text_match.ts";

/** A grader that reads only the final reply and the task. */
export interface ReplyGraderEntry {
  /** One line for a help text. */
  readonly about: string;
  readonly needs: "nothing";
  /** True if a task without an answer has no score. */
  readonly readsAnswer?: true;
  make(): Grader;
}

/** The graders by name that read only the final reply and the task. They use Web APIs only and run in any runtime. */
export const REPLY_GRADERS: Readonly<Record<string, ReplyGraderEntry>> = {
  number_match: {
    about: "1 when the number of the final reply is that of the answer",
    needs: "nothing",
    readsAnswer: true,
    make: () => numberMatch(),
  },
  gsm8k: {
    about: "1 for the right number, 0.1 for a wrong one in <answer> tags, else 0",
    needs: "nothing",
    readsAnswer: true,
    make: () => gsm8k(),
  },
  math: {
    about: "like gsm8k, for the value of the last \\boxed{…}",
    needs: "nothing",
    readsAnswer: true,
    make: () => math(),
  },
  countdown: {
    about: "like gsm8k, for an expression that reaches the target",
    needs: "nothing",
    readsAnswer: true,
    make: () => countdown(),
  },
  ifeval: {
    about: "share of the task's IFEval instructions that the reply follows, strict and loose",
    needs: "nothing",
    make: () => ifeval(),
  },
  exact_match: {
    about: "1 when the final reply is the answer",
    needs: "nothing",
    readsAnswer: true,
    make: () => exactMatch(),
  },
};
