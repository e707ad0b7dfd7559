import type { Env } from "../../../envs/env.ts";
import { checkHarborTasks, type HarborCheck } from "../../../envs/harbor/check.ts";
import { findHarborTasks, loadHarborTask } from "../../../envs/harbor/config/load_task.ts";
import { HarborEnv, harborEnvTask } from "../../../envs/harbor/harbor_env.ts";
import { HarborTasks } from "../../../envs/harbor/harbor_tasks.ts";
import type { Task } from "../../../task.ts";
import { escapeControls } from "../../../terminal_text.ts";
import { rethrowAsUsageError, UsageError } from "../../cli_errors.ts";
import { currentIo } from "../../io.ts";
import { writeText } from "../../output.ts";
import { createInstallation } from "../../packages/sources.ts";
import { withRequirements } from "../../packages/with_deps.ts";
import { announceBuild, cacheDirectory } from "../../sandbox_options.ts";

/** Name of the env. */
export const HARBOR_ENV = "harbor";

/** Flags that select the tasks. */
export interface HarborFlags {
  tasks?: string;
  tool?: readonly string[];
  mcp?: string;
  /** Folder of a task, or of tasks. */
  harbor?: string;
  limit?: number;
  /** Timeout of a block of commands, in milliseconds. */
  commandTimeoutMs?: number;
  reset?: "rewind" | "fresh";
  cacheDir?: string;
  yes?: boolean;
}

/** Open tasks of a run. */
export interface HarborRun {
  readonly tasks: readonly Task[];
  openEnv(options: { maxTurns: number; systemPrompt: string | undefined }): Env;
}

/**
 * Reads the tasks in the folder of `--harbor`. Tasks that do not run here are left out, and stderr has the reasons.
 *
 * @throws {UsageError} if a flag is missing, or no task runs here.
 */
export async function openHarbor(
  flags: HarborFlags,
  options: { sessions: number; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<HarborRun> {
  const { harbor: folder } = flags;
  if (folder === undefined) {
    throw new UsageError(
      "Cannot play env 'harbor' as it needs tasks: give --harbor DIR, with a task.toml in it",
    );
  }
  if (flags.tasks !== undefined) {
    throw new UsageError(
      "Cannot play env 'harbor' with --tasks as its tasks are folders: give --harbor DIR and remove --tasks",
    );
  }
  if (flags.tool !== undefined || flags.mcp !== undefined) {
    throw new UsageError("Cannot play env 'harbor' with tools as it has a shell: leave --mcp and --tool out");
  }
  const tasks = options.stack.use(await openHarborTasks(folder, flags, options));
  const checks = await checkHarborTasks(tasks, { signal: options.signal });
  const running = checks.filter(({ runs }) => runs).map(({ id }) => id);
  await announceLeftOut(checks);
  if (running.length === 0) {
    throw new UsageError(`Cannot play the Harbor tasks of '${folder}' as none of them runs here`);
  }
  const played = tasks.tasks.filter(({ id }) => running.includes(id));
  return {
    tasks: await Promise.all(played.map(harborEnvTask)),
    openEnv: (options) => new HarborEnv({ tasks, timeoutMs: flags.commandTimeoutMs, ...options }),
  };
}

/**
 * Opens the tasks of a folder, whose sandboxes have the packages that the tasks install.
 *
 * @throws {UsageError} if there is no task.
 */
export async function openHarborTasks(
  folder: string,
  { cacheDir: cacheFlag, reset, yes, limit }: HarborFlags,
  { sessions, signal }: { sessions: number; signal: AbortSignal },
): Promise<HarborTasks> {
  const { NotFound, NotADirectory } = Deno.errors;
  const folders = await rethrowAsUsageError(() => findHarborTasks(folder), {
    kinds: [NotFound, NotADirectory],
  });
  const cacheDir = cacheDirectory(cacheFlag);
  const installation = createInstallation({ yes: yes ?? false }, { cacheDir, signal });
  return new HarborTasks({
    tasks: await Promise.all(folders.slice(0, limit).map((path) => loadHarborTask(path))),
    addPackages: (profile, requirements) => withRequirements(profile, requirements, installation),
    sessions,
    resetMode: reset,
    cacheDir,
    onBuild: announceBuild,
  });
}

async function announceLeftOut(checks: readonly HarborCheck[]): Promise<void> {
  const left = checks.filter(({ runs }) => !runs);
  if (left.length === 0) return;
  const lines = left.map(({ id, reasons }) => `Left out '${id}': ${reasons.join("; ")}\n`);
  await writeText(currentIo().stderr, lines.map((line) => escapeControls(line)).join("")).catch(() => {}); // stderr is closed
}
