import type { Grader } from "../../rewards/grader.ts";
import { hiddenTests } from "../../rewards/hidden_tests.ts";
import { parseProfile } from "../../sandbox/profile.ts";
import { WorkerSandbox } from "../../sandbox/worker_sandbox.ts";
import tools from "../../../sandboxes/tools.jsonc" with { type: "text" };

/** More calls than any honest test makes of its candidate. */
const TEST_CALLS = 100_000;
/** Two for each grade, and as many that are being replaced or are ending. */
const WORKERS_PER_GRADE = 4;

/** Hidden tests in workers of this process, `grades` at once: candidate and tests have an interpreter each. */
export function pythonTests({ timeoutMs, grades }: { timeoutMs: number; grades: number }): Grader {
  const { limits, ...profile } = parseProfile(tools, { source: "tools" });
  const sandbox = new WorkerSandbox({
    profile: { ...profile, limits: { ...limits, hostToolCalls: TEST_CALLS } },
    maxWorkers: WORKERS_PER_GRADE * grades,
  });
  return hiddenTests({ pool: sandbox, testPool: sandbox, timeoutMs });
}
