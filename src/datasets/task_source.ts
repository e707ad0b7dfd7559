import type { Task } from "../task.ts";

/** A source of tasks for the elements of a batch, one task for each episode. */
export interface TaskSource {
  /**
   * Returns the next task for a batch element. Concurrent calls get their tasks in the order of the calls; a
   * call that rejects has used up its task.
   */
  take(slot: number): Promise<Task>;
}
