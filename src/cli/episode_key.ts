import type { InteractionResult } from "../rollout/interaction_result.ts";
import type { Task } from "../task.ts";
import { hashTask } from "../hash.ts";

/** What names an episode in a run: two tasks may have one id, and are told apart by what they say. */
export function episodeKeyOf(task: Task, sample: number): string {
  return keyOf(task.id, hashTask(task), sample);
}

/** The same of an episode as a trainer reads it. */
export function resultKeyOf({ task_id, task_hash, sample }: InteractionResult): string {
  return keyOf(task_id, task_hash, sample);
}

function keyOf(id: string, hash: string, sample: number): string {
  return `${sample} ${hash} ${id}`;
}
