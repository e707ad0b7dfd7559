import { ArgumentTypeError } from "../errors.ts";
import { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { TaskInput } from "../task.ts";

/** Options of {@linkcode messagesOfQuery}. */
export interface QueryMessagesOptions {
  /** Key of the query: `query`, or a key of the task's `fields`. */
  dataKey: string;
  /** Role of a query that is text. */
  userRole: string;
}

/**
 * Returns the first messages of an episode: a text query becomes one message, a conversation is used as it is.
 *
 * @throws {TypeError} if the query is missing, empty, or neither text nor messages.
 */
export function messagesOfQuery(task: TaskInput, options: QueryMessagesOptions): History {
  const { dataKey, userRole } = options;
  const query = queryOf(task, dataKey);
  const prefix = `Cannot reset env as '${dataKey}' of task '${task.id}'`;
  if (query === null || query === undefined) {
    throw new ArgumentTypeError(
      `${prefix} must be text or messages: it is ${query === null ? "null" : "missing"}`,
    );
  }
  if (typeof query === "string") {
    if (query === "") throw new ArgumentTypeError(`${prefix} is empty`);
    return History.fromChats([{ role: userRole, content: query }]);
  }
  if (typeof query !== "object" || !(Symbol.iterator in query)) {
    throw new ArgumentTypeError(`${prefix} must be text or messages: it is ${typeof query}`);
  }
  const messages = History.fromChats(query as Iterable<Message>);
  if (messages.length === 0) throw new ArgumentTypeError(`${prefix} is empty`);
  return messages;
}

function queryOf(task: TaskInput, dataKey: string): unknown {
  if (task === null || typeof task !== "object") {
    throw new ArgumentTypeError(`Cannot reset env as it must be given a task: it is given ${task}`);
  }
  if (dataKey === "query" && task.query !== undefined) return task.query;
  const { fields = {} } = task;
  if (Object.hasOwn(fields, dataKey)) return fields[dataKey];
  const keys = [...Object.keys(task), ...Object.keys(fields)];
  throw new ArgumentTypeError(
    `Cannot reset env as the task must have a '${dataKey}' key: it has ${keys.join(", ")}`,
  );
}
