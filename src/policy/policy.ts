import type { History } from "../history.ts";
import type { OpenTask } from "../task.ts";

/** What a policy is told beside the conversation. */
export interface ReplyContext {
  /** The task, without its answer. */
  readonly task: OpenTask;
  readonly signal?: AbortSignal | undefined;
}

/** Who answers: a model, or something that stands in for one. */
export interface Policy {
  /** The assistant's next message. */
  reply(history: History, context: ReplyContext): Promise<string>;
}
