import { unlessAborted } from "../../../sandbox/unless_aborted.ts";
import type { Evaluator } from "../evaluation.ts";
import type { Scores, WorkspaceTask } from "../workspace_task.ts";

/** The same chance each time, so that all are compared with the same. */
const SEED = 0;

/** What the work on a task is compared with: the scores that it names, or those of its starter files. */
export class Baseline {
  readonly #task: WorkspaceTask;
  readonly #evaluator: Evaluator;
  #measured: Promise<Scores | null> | undefined;

  constructor(task: WorkspaceTask, evaluator: Evaluator) {
    this.#task = task;
    this.#evaluator = evaluator;
  }

  /**
   * Measured once, for all who ask; `null` where the starter files score nothing. A failure is not kept: the next who
   * asks has it measured again. The signal ends the waiting alone, as others may wait too.
   *
   * @throws {SandboxError} when no sandbox could be had.
   */
  async scores({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<Scores | null> {
    const { evaluation: { baseline } } = this.#task;
    if (baseline !== undefined) return baseline;
    if (this.#measured === undefined) {
      const measured = this.#measured = this.#measure();
      measured.catch(() => {
        if (this.#measured === measured) this.#measured = undefined;
      });
    }
    return await unlessAborted(this.#measured, signal);
  }

  async #measure(): Promise<Scores | null> {
    const files = new Map<string, Uint8Array>();
    for (const { path, hostPath } of this.#task.starter) files.set(path, await Deno.readFile(hostPath));
    const outcome = await this.#evaluator.evaluate(files, { seed: SEED });
    return outcome.status === "scored" ? outcome.scores : null;
  }
}
