import { ReasoningGym } from "../../../envs/reasoning_gym/reasoning_gym.ts";
import type { Grader } from "../../../rewards/grader.ts";
import { rethrowAsUsageError, UsageError } from "../../cli_errors.ts";
import { announceBuild, cacheDirectory } from "../../sandbox_options.ts";
import { FAMILY_TASKS, type GeneratedTasks } from "./families.ts";

/** Name of the env. */
export const REASONING_GYM = "reasoning-gym";

/** Flags that select a data set. */
export interface ReasoningGymFlags {
  path?: string;
  tasks?: string;
  dataSet?: string;
  /** JSON object with the settings of the data set. */
  dataSetConfig?: string;
  fullScore?: boolean;
  seed?: number;
  limit?: number;
  cacheDir?: string;
}

/** Open data set of a run. */
export interface ReasoningGymRun {
  readonly tasks: GeneratedTasks;
  readonly grader: Grader;
}

/**
 * Opens the data set that the flags name. The stack disposes the data set.
 *
 * @throws {UsageError} if a flag is missing, or names a folder or data set that does not exist.
 */
export async function openReasoningGym(
  flags: ReasoningGymFlags,
  { sessions, stack, signal }: { sessions: number; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<ReasoningGymRun> {
  const { path, dataSet, dataSetConfig, fullScore, seed, limit = FAMILY_TASKS } = flags;
  if (path === undefined || dataSet === undefined) {
    throw new UsageError(
      `Cannot play env '${REASONING_GYM}' as it needs a data set of an installed package: give --path DIR --data-set NAME`,
    );
  }
  if (flags.tasks !== undefined) {
    throw new UsageError(
      `Cannot play env '${REASONING_GYM}' with --tasks as its tasks come from --path: remove --tasks`,
    );
  }
  const config = parseConfig(dataSetConfig);
  const cache = { cacheDir: cacheDirectory(flags.cacheDir), onBuild: announceBuild };
  const gym = stack.use(
    await rethrowAsUsageError(
      () => ReasoningGym.open({ path, dataSet, config, fullScore, sessions, ...cache }),
      { kinds: [RangeError, Deno.errors.NotFound] },
    ),
  );
  return {
    tasks: { count: limit, generate: () => gym.tasks({ seed, count: limit, signal }) },
    grader: gym.grader,
  };
}

function parseConfig(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined; // reported below
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new UsageError(
    `Cannot open a data set as --data-set-config must be a JSON object: current value is '${text}'`,
  );
}
