import type { Task } from "../task.ts";

/** Where the elements of a batch get their tasks from, one for each episode. */
export interface TaskSource {
  /**
   * The next task for the element of that number. Asked for several, it gives them in the order of the asking; one
   * that rejects has had its turn.
   */
  take(slot: number): Promise<Task>;
}
