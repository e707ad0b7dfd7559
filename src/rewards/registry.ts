import type { Policy } from "../policy/policy.ts";
import type { SessionPool } from "../sandbox/contract/pool.ts";
import type { Preload, Profile } from "../sandbox/profile/profile.ts";
import type { Grader } from "./grader.ts";
import { judge } from "./judge.ts";
import { REPLY_GRADERS, type ReplyGraderEntry } from "./reply_graders.ts";

/** Resources that graders of the registry use. A function opens the pool at the first call. */
export interface GraderResources {
  /** Returns interpreters for the programs that are graded. No episode shares them. Their image may have `preload`. */
  readonly pool: (preload?: Preload) => SessionPool;
  /**
   * Returns interpreters for tests. They may call the host, and no model's code ever runs in them. Their image may have
   * `preload`.
   */
  readonly testPool: (preload?: Preload) => SessionPool;
  /** The policy that judges; `judge` needs such a policy. */
  readonly judge?: Policy | undefined;
  /** Milliseconds that a program under test may take. */
  readonly timeoutMs?: number | undefined;
  /** Makes `math` with the verifier `math-verify`, whose sandboxes the caller ends. */
  readonly mathVerify?: (() => Grader) | undefined;
}

/** A grader of the registry. `needs` says which resources the grader uses. */
export type GraderEntry =
  & {
    /** A line for a help text. */
    readonly about: string;
    /** True if a task without an answer has no score. */
    readonly readsAnswer?: true;
  }
  & (
    /** The grader reads only the final reply and the task. */
    | Pick<ReplyGraderEntry, "needs" | "make">
    /** The grader runs Python. The code is loaded with the first grader of this name. */
    | { readonly needs: "pools"; make(resources: GraderResources): Promise<Grader> }
    /** The grader asks a policy. */
    | { readonly needs: "policy"; make(policy: Policy): Grader }
    /** The grader runs math-verify, whose wheels are downloaded separately. */
    | { readonly needs: "math-verify" }
  );

/**
 * The graders by name, for the command line, the server and the server at the edge. A new grader is another
 * entry here, or in {@linkcode REPLY_GRADERS} if the grader reads only the final reply and the task.
 *
 * The server at the edge imports this file, and has no permission but to listen: a grader that needs more than
 * the input must import the grader's file inside `make`.
 */
export const GRADERS: Readonly<Record<string, GraderEntry>> = {
  ...REPLY_GRADERS,
  math_verify: {
    about:
      "like math, as the library math-verify finds and compares answers; 'deno task fetch-math-verify' first",
    needs: "math-verify",
    readsAnswer: true,
  },
  hidden_tests: {
    about: "1 when the program passes all hidden tests of the task",
    needs: "pools",
    async make({ pool, testPool, timeoutMs }) {
      const { CANDIDATE_PRELOAD, HIDDEN_TESTS_PRELOAD, hiddenTests } = await import("./hidden_tests.ts");
      return hiddenTests({
        pool: pool(CANDIDATE_PRELOAD),
        testPool: testPool(HIDDEN_TESTS_PRELOAD),
        ...(timeoutMs !== undefined && { timeoutMs }),
      });
    },
  },
  family: {
    about: "1 when the answer to a task of a family, such as paddock/graph-paths, is right",
    needs: "pools",
    async make({ pool }) {
      const { family } = await import("./family.ts");
      return family({ pool: pool() });
    },
  },
  judge: {
    about: "score of the final reply by the policy of --judge, from 0 to 1",
    needs: "policy",
    make: (policy) => judge(policy),
  },
};

/** Maximum number of calls of the candidate that a test can make. */
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
