import { ArgumentTypeError } from "../errors.ts";
import type { History } from "../history.ts";
import type { Action } from "./env.ts";

/**
 * Returns the conversation after an action: its `full`, or else the prompt followed by its `response`.
 *
 * @throws {TypeError} if the action has neither.
 */
export function historyAfter(prompt: History, action: Action): History {
  const { full, response } = action.history ?? {};
  if (full !== undefined) return full;
  if (response !== undefined && response.length > 0) return prompt.extend(response);
  throw new ArgumentTypeError(
    "Cannot step as the action must have 'history.full' or 'history.response': it has neither",
  );
}
