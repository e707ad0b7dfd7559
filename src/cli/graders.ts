import type { Policy } from "../policy/policy.ts";
import { countdown } from "../rewards/countdown.ts";
import { exactMatch } from "../rewards/exact_match.ts";
import type { Grader } from "../rewards/grader.ts";
import { gsm8k } from "../rewards/gsm8k.ts";
import { hiddenTests } from "../rewards/hidden_tests.ts";
import { ifeval } from "../rewards/ifeval.ts";
import { judge } from "../rewards/judge.ts";
import { math } from "../rewards/math.ts";
import { numberMatch } from "../rewards/number_match.ts";
import type { SessionPool } from "../sandbox/exec.ts";
import { UsageError } from "./usage_error.ts";

/** What graders are made of. What is opened by asking is opened once; a grader that needs none does not ask. */
export interface GraderSetup {
  /** Interpreters for programs of a model's, which no episode shares. */
  readonly pool: () => SessionPool;
  /** Interpreters for tests, which may call the host and which no model's code ever touches. */
  readonly testPool: () => SessionPool;
  /** Who judges, where one was named. */
  readonly judge?: Policy | undefined;
}

/** A grader that the command line knows. */
export interface GraderKind {
  /** One line for a help text. */
  readonly about: string;
  make(setup: GraderSetup): Grader;
}

/** The graders by the names that `--grader` takes. */
export const GRADERS: Readonly<Record<string, GraderKind>> = {
  number_match: {
    about: "1 when the number of the final reply is that of the answer",
    make: () => numberMatch(),
  },
  gsm8k: {
    about: "1 for the right number, 0.1 for a wrong one in <answer> tags, else 0",
    make: () => gsm8k(),
  },
  math: { about: "the same for the value of the last \\boxed{…}", make: () => math() },
  countdown: { about: "the same for an expression that reaches the target", make: () => countdown() },
  ifeval: {
    about: "how many of the task's instructions are kept, strictly and loosely",
    make: () => ifeval(),
  },
  exact_match: { about: "1 when the final reply is the answer", make: () => exactMatch() },
  hidden_tests: {
    about: "1 when the final program passes every test of the task, out of its reach",
    make: ({ pool, testPool }) => hiddenTests({ pool: pool(), testPool: testPool() }),
  },
  judge: {
    about: "what the policy of --judge thinks of the final reply, from 0 to 1",
    make(setup) {
      if (setup.judge !== undefined) return judge(setup.judge);
      throw new UsageError("Cannot use grader 'judge' as it needs a policy: give --judge POLICY");
    },
  },
};
