import { errorMessage } from "../../errors.ts";
import { requireKnownOptions } from "../../options.ts";
import type { PythonSession, SessionPool } from "../../sandbox/contract/pool.ts";
import { quoteWord } from "./quote.ts";
import type { HarborTasks } from "./harbor_tasks.ts";
import { prepareSession } from "./session/prepare.ts";
import type { HarborTask } from "./task.ts";

/** Whether a task runs here. */
export interface HarborCheck {
  readonly id: string;
  readonly runs: boolean;
  /** Reasons why the task does not run, one phrase each. */
  readonly reasons: readonly string[];
  /** What differs here without a reason. */
  readonly notes: readonly string[];
}

/** Options of {@linkcode checkHarborTasks}. */
export interface HarborCheckOptions {
  signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 60_000;

/**
 * Checks each task: its settings, its Dockerfile, its packages, and whether the sandbox has the commands of its scripts.
 * Then the image is made, as an episode makes it.
 */
export async function checkHarborTasks(
  tasks: HarborTasks,
  options: HarborCheckOptions = {},
): Promise<HarborCheck[]> {
  requireKnownOptions("call checkHarborTasks", options, OPTIONS);
  const { signal } = options;
  const checks: HarborCheck[] = [];
  for (const task of tasks.tasks) {
    const { id, notes } = task;
    const reasons = task.faults.length > 0 ? task.faults : await faultsOfRun(tasks, task, signal);
    checks.push({ id, runs: reasons.length === 0, reasons, notes });
  }
  return checks;
}

/** Returns the reasons why the images of a task cannot be made. */
async function faultsOfRun(
  tasks: HarborTasks,
  task: HarborTask,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const { image, verifier } = task;
  try {
    const { agents } = await tasks.sandboxes(task);
    const missing = await withSession(agents, signal, (session) => missingCommands(session, task, signal));
    if (missing.length > 0) return missing.map((name) => `the sandbox has no command '${name}'`);
    for (const each of verifier.isSeparate ? [image, verifier.image] : [image]) {
      await withSession(
        agents,
        signal,
        (session) => prepareSession(session, each, { timeoutMs: TIMEOUT_MS, signal }),
      );
    }
    return [];
  } catch (error) {
    signal?.throwIfAborted();
    return [errorMessage(error)];
  }
}

async function withSession<T>(
  pool: SessionPool,
  signal: AbortSignal | undefined,
  work: (session: PythonSession) => Promise<T>,
): Promise<T> {
  await using lease = await pool.acquire({ signal });
  return await work(lease.session);
}

/** Returns the commands of the task's scripts that the sandbox lacks. */
async function missingCommands(
  session: PythonSession,
  { image, commands }: HarborTask,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  await prepareSession(session, { ...image, steps: [] }, { timeoutMs: TIMEOUT_MS, signal });
  const words = commands.map(quoteWord).join(" ");
  const command = `for name in ${words}; do type -t "$name" >/dev/null || echo "$name"; done`;
  const { stdout } = await session.shell(command, { timeoutMs: TIMEOUT_MS, signal });
  return stdout.split("\n").filter((name) => name !== "");
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof HarborCheckOptions, true>> = { signal: true };
