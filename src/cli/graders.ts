import type { Grader } from "../rewards/grader.ts";
import { numberMatch } from "../rewards/number_match.ts";
import type { SessionPool } from "../sandbox/exec.ts";

/** What graders are made of. */
export interface GraderSetup {
  /** Opens interpreters that no code of a model's has touched, once; a grader that needs none does not ask. */
  readonly pool: () => SessionPool;
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
    about: "1 when the number of the final reply is that of the answer (the default)",
    make: () => numberMatch(),
  },
};
