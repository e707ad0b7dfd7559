import type { Policy } from "../policy/policy.ts";
import type { SessionPool } from "../sandbox/exec.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { countdown } from "./countdown.ts";
import { exactMatch, numberMatch } from "./text_match.ts";
import type { Grader } from "./grader.ts";
import { gsm8k } from "./gsm8k.ts";
import { ifeval } from "./ifeval.ts";
import { judge } from "./judge.ts";
import { math } from "./math.ts";

/** Resources that graders of the registry use. A function opens its pool at the first call. */
export interface GraderResources {
  /** Returns interpreters for the programs that are graded. No episode shares them. */
  readonly pool: () => SessionPool;
  /** Returns interpreters for tests. They may call the host, and no model's code ever runs in them. */
  readonly testPool: () => SessionPool;
  /** The policy that judges; `judge` needs one. */
  readonly judge?: Policy | undefined;
  /** Milliseconds that a program under test may take. */
  readonly timeoutMs?: number | undefined;
  /** Makes `math` with the verifier `math-verify`, whose sandboxes the caller ends. */
  readonly mathVerify?: (() => Grader) | undefined;
}

/** A grader of the registry. Its `needs` says which resources it uses. */
export type GraderEntry =
  & {
    /** One line for a help text. */
    readonly about: string;
  }
  & (
    /** It scores text, and runs at the edge without any permission. */
    | { readonly needs: "nothing"; make(): Grader }
    /** It runs Python. Its code is loaded when it is made. */
    | { readonly needs: "pools"; make(resources: GraderResources): Promise<Grader> }
    /** It asks a policy. */
    | { readonly needs: "policy"; make(policy: Policy): Grader }
    /** It runs math-verify, whose wheels are downloaded separately. */
    | { readonly needs: "math-verify" }
  );

/**
 * The graders by name, for the command line, the server and the server at the edge. A new grader is one more entry
 * here.
 *
 * The server at the edge imports this file, and has no permission but to listen: a grader that needs more than
 * its input must import its file inside `make`.
 */
export const GRADERS: Readonly<Record<string, GraderEntry>> = {
  number_match: {
    about: "1 when the number of the final reply is that of the answer",
    needs: "nothing",
    make: () => numberMatch(),
  },
  gsm8k: {
    about: "1 for the right number, 0.1 for a wrong one in <answer> tags, else 0",
    needs: "nothing",
    make: () => gsm8k(),
  },
  math: {
    about: "like gsm8k, for the value of the last \\boxed{…}",
    needs: "nothing",
    make: () => math(),
  },
  math_verify: {
    about:
      "like math, as the library math-verify finds and compares answers; 'deno task fetch-math-verify' first",
    needs: "math-verify",
  },
  countdown: {
    about: "like gsm8k, for an expression that reaches the target",
    needs: "nothing",
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
    make: () => exactMatch(),
  },
  hidden_tests: {
    about: "1 when the program passes all hidden tests of the task",
    needs: "pools",
    async make({ pool, testPool, timeoutMs }) {
      const { hiddenTests } = await import("./hidden_tests.ts");
      return hiddenTests({
        pool: pool(),
        testPool: testPool(),
        ...(timeoutMs !== undefined && { timeoutMs }),
      });
    },
  },
  judge: {
    about: "score of the final reply by the policy of --judge, from 0 to 1",
    needs: "policy",
    make: (policy) => judge(policy),
  },
};

/** Maximum number of calls of its candidate that a test can make. */
const TEST_CALLS = 100_000;

/** Returns the profile of a `testPool`: a profile with `hostTools`, with enough calls for a test. */
export function testProfile(profile: Profile): Profile {
  return { ...profile, limits: { ...profile.limits, hostToolCalls: TEST_CALLS } };
}

/**
 * Makes a grader of the registry.
 *
 * @throws {TypeError} when the grader needs a policy or math-verify, and `resources` has none.
 */
export async function makeGrader(entry: GraderEntry, resources: GraderResources): Promise<Grader> {
  switch (entry.needs) {
    case "nothing":
      return entry.make();
    case "pools":
      return await entry.make(resources);
    case "policy":
      if (resources.judge !== undefined) return entry.make(resources.judge);
      throw new TypeError("Cannot make grader as it needs a policy: found none");
    case "math-verify":
      if (resources.mathVerify !== undefined) return resources.mathVerify();
      throw new TypeError("Cannot make grader as it needs math-verify: found no way to run it");
  }
}
