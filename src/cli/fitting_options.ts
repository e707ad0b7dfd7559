import type { Command } from "commander";
import { TAU_BENCH } from "./tau_bench_run.ts";
import { UsageError } from "./usage_error.ts";
import { WORKSPACE_ENV } from "./workspace_run.ts";

/** Options that one env alone understands. */
const OF_ONE: Readonly<Record<string, string>> = {
  path: TAU_BENCH,
  domain: TAU_BENCH,
  user: TAU_BENCH,
  userModel: TAU_BENCH,
  userStrategy: TAU_BENCH,
  task: WORKSPACE_ENV,
  agent: WORKSPACE_ENV,
  rewardAt: WORKSPACE_ENV,
  wrongFormatReward: WORKSPACE_ENV,
};
/** Options that say what a workspace's task and agent say themselves. */
const NOT_OF_WORKSPACES = ["grader", "judge", "judgeModel", "system", "split", "profile", "calls"];

/**
 * Lets a command pass whose options its env understands, so that none is passed over in silence.
 *
 * @throws {UsageError} with the first that it does not.
 */
export function checkEnvOptions(command: Command, { env }: { env: string }): void {
  for (const option of command.options) {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) !== "cli") continue;
    const owner = OF_ONE[name];
    if (owner !== undefined && owner !== env) {
      throw new UsageError(
        `Cannot play env '${env}' with ${option.long} as it is for env '${owner}': add --env ${owner}`,
      );
    }
    if (env === WORKSPACE_ENV && NOT_OF_WORKSPACES.includes(name)) {
      throw new UsageError(
        `Cannot play env '${env}' with ${option.long} as its task and its agent say that: leave ${option.long} out`,
      );
    }
  }
}
