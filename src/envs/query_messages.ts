import { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";

/** Where {@linkcode queryMessages} looks, and what it makes of text. */
export interface QueryMessagesOptions {
  /** The key of the query: `query`, or one of the task's fields. */
  dataKey: string;
  /** The role of a query that is text. */
  userRole: string;
}

/**
 * What an episode starts from: the query as the user's message, or the conversation that it is.
 *
 * @throws {TypeError} when the task has none, or one that is empty or no conversation.
 */
export function queryMessages(task: Task, options: QueryMessagesOptions): History {
  const { dataKey, userRole } = options;
  const query = queryOf(task, dataKey);
  const refusal = `Cannot reset env as '${dataKey}' of task '${task.id}'`;
  if (query === null || query === undefined) {
    throw new TypeError(`${refusal} must be text or messages: it is ${query === null ? "null" : "missing"}`);
  }
  if (typeof query === "string") {
    if (query === "") throw new TypeError(`${refusal} is empty`);
    return History.fromChats([{ role: userRole, content: query }]);
  }
  if (typeof query !== "object" || !(Symbol.iterator in query)) {
    throw new TypeError(`${refusal} must be text or messages: it is ${typeof query}`);
  }
  const messages = History.fromChats(query as Iterable<Message>);
  if (messages.length === 0) throw new TypeError(`${refusal} is empty`);
  return messages;
}

function queryOf(task: Task, dataKey: string): unknown {
  if (task === null || typeof task !== "object") {
    throw new TypeError(`Cannot reset env as it must be given a task: it is given ${task}`);
  }
  if (dataKey === "query" && task.query !== undefined) return task.query;
  const { fields = {} } = task;
  if (Object.hasOwn(fields, dataKey)) return fields[dataKey];
  const keys = [...Object.keys(task), ...Object.keys(fields)];
  throw new TypeError(`Cannot reset env as the task must have a '${dataKey}' key: it has ${keys.join(", ")}`);
}
