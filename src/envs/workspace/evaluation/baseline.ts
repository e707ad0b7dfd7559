import type { EvaluateOptions, Evaluator } from "../evaluation.ts";
import type { Scores, WorkspaceTask } from "../workspace_task.ts";

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
   * Measured once, for the first who asks; `null` where the starter files score nothing. A failure is not kept: the
   * next who asks measures again.
   *
   * @throws {SandboxError} when no sandbox could be had.
   */
  async scores(options: EvaluateOptions = {}): Promise<Scores | null> {
    const { evaluation: { baseline } } = this.#task;
    if (baseline !== undefined) return baseline;
    const measured = this.#measured ??= this.#measure(options);
    try {
      return await measured;
    } catch (error) {
      if (this.#measured === measured) this.#measured = undefined;
      throw error;
    }
  }

  async #measure(options: EvaluateOptions): Promise<Scores | null> {
    const files = new Map<string, Uint8Array>();
    for (const { path, hostPath } of this.#task.starter) files.set(path, await Deno.readFile(hostPath));
    const outcome = await this.#evaluator.evaluate(files, options);
    return outcome.status === "scored" ? outcome.scores : null;
  }
}
