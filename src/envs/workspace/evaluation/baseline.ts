import { abortable } from "../../../async/abort.ts";
import type { Evaluator } from "../evaluation.ts";
import type { Scores, WorkspaceTask } from "../task.ts";

/** Fixed seed, so that every episode is compared with the same baseline. */
const SEED = 0;

/** Baseline scores of a task: the scores in its YAML, or else the scores of its starter files. */
export class Baseline {
  readonly #task: WorkspaceTask;
  readonly #evaluator: Evaluator;
  #measured: Promise<Scores | null> | undefined;

  constructor(task: WorkspaceTask, evaluator: Evaluator) {
    this.#task = task;
    this.#evaluator = evaluator;
  }

  /**
   * Returns the baseline scores; `null` if the starter files have no scores.
   *
   * The starter files are evaluated once for all callers. After a failure the next call evaluates them again. The signal
   * only stops this call's wait, because other callers may share the evaluation.
   *
   * @throws {SandboxError} if no sandbox is available.
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
    return await abortable(this.#measured, signal);
  }

  async #measure(): Promise<Scores | null> {
    const files = new Map<string, Uint8Array>();
    for (const { path, hostPath } of this.#task.starter) files.set(path, await Deno.readFile(hostPath));
    const outcome = await this.#evaluator.evaluate(files, { seed: SEED });
    return outcome.status === "scored" ? outcome.scores : null;
  }
}
