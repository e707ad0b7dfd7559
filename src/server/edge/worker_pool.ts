import { testProfile } from "../../rewards/registry.ts";
import { parseProfile } from "../../sandbox/profile/profile.ts";
import { WorkerSandbox, type WorkerSandboxOptions } from "../../sandbox/in_worker/worker_sandbox.ts";
import tools from "../../../sandboxes/tools.jsonc" with { type: "text" };

/** Two for each grade, and as many that are starting or ending. */
const WORKERS_PER_GRADE = 4;

/**
 * Returns interpreters in workers of this process, for `grades` at once: candidate and tests have an interpreter each.
 */
export function createWorkerPool(
  grades: number,
  options: Pick<WorkerSandboxOptions, "onBuild" | "cacheDir">,
): WorkerSandbox {
  return new WorkerSandbox({
    ...options,
    profile: testProfile(parseProfile(tools, { source: "tools" })),
    maxWorkers: WORKERS_PER_GRADE * grades,
  });
}
