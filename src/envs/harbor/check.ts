import { errorMessage } from "../../errors.ts";
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

const TIMEOUT_MS = 60_000;

/**
 * Checks each task: its settings, its Dockerfile, its packages, and whether the sandbox has the commands of its scripts.
 * Then the image is made, as an episode makes it.
 */
export async function checkHarborTasks(
  tasks: HarborTasks,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<HarborCheck[]> {
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
  try {
    const { agents } = await tasks.sandboxes(task);
    await using lease = await agents.acquire({ signal });
    const { image, verifier } = task;
    await prepareSession(lease.session, { ...image, steps: [] }, { timeoutMs: TIMEOUT_MS, signal });
    const words = task.commands.map(quoteWord).join(" ");
    const command = `for name in ${words || "true"}; do type -t "$name" >/dev/null || echo "$name"; done`;
    const { stdout } = await lease.session.shell(command, { timeoutMs: TIMEOUT_MS, signal });
    const missing = stdout.split("\n").filter((name) => name !== "");
    if (missing.length > 0) return missing.map((name) => `the sandbox has no command '${name}'`);
    await prepareSession(lease.session, image, { timeoutMs: TIMEOUT_MS, signal });
    if (!verifier.isSeparate) return [];
    await using other = await agents.acquire({ signal });
    await prepareSession(other.session, verifier.image, { timeoutMs: TIMEOUT_MS, signal });
    return [];
  } catch (error) {
    signal?.throwIfAborted();
    return [errorMessage(error)];
  }
}
