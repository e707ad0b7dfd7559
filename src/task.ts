import type { Message } from "./message.ts";

/** One problem to be solved in one episode. */
export interface Task {
  readonly id: string;
  /** What the user asks, or a conversation that the episode goes on from. */
  readonly query: string | Iterable<Message>;
  /** What a grader compares with; a policy is never shown it. */
  readonly answer?: string;
  /** What a scripted policy says, turn by turn. */
  readonly replies?: readonly string[];
  /** A worked solution that leads to the answer without stating it apart. */
  readonly reference?: string;
  /** The other fields of its row, for graders and envs; a policy is never shown them. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A task as a policy may see it. */
export type OpenTask = Omit<Task, "answer" | "fields">;

/** The task without what would give its answer away. */
export function withoutAnswer(task: Task): OpenTask {
  const { answer: _answer, fields: _fields, ...open } = task;
  return open;
}
