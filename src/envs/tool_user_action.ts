import { type Message, messageText } from "../message.ts";
import type { ParsedMessage } from "../tools/tool_call_parser.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import { respondAction, type ToolUserAction } from "./tool_user_env.ts";

/** Action that a reply stands for. */
export interface ChosenAction {
  readonly action: ToolUserAction;
  /** Number of the call in the reply, from 1; left out if the reply goes to the user. */
  readonly call?: number;
}

/**
 * Chooses the action of a reply, as slime's `call_to_action_sglang` does.
 *
 * The action is the first call of a known tool. Without such a call, the whole reply goes to the user. If the
 * arguments of that call are not an object, the text beside the calls goes to the user.
 */
export function chooseAction(
  { text, calls }: ParsedMessage,
  reply: Message,
  names: ReadonlySet<string>,
): ChosenAction {
  const at = calls.findIndex(({ name }) => names.has(name));
  const call = calls[at];
  if (call === undefined) return { action: respondAction(messageText(reply)) };
  if (call.fault !== undefined) return { action: respondAction(text) };
  const { name, arguments: kwargs, argumentsText: kwargsText } = call;
  return { action: { name, kwargs, ...(kwargsText !== undefined && { kwargsText }) }, call: at + 1 };
}

/** Returns the records of the calls that were not run. */
export function recordOtherCalls(
  { calls }: ParsedMessage,
  executed: number | undefined,
  names: ReadonlySet<string>,
): ToolResult[] {
  return calls.flatMap(({ name, arguments: args, fault, callId }, at) => {
    const call = at + 1;
    if (call === executed) return [];
    const text = fault ??
      (names.has(name) ? "one call of a reply is run: the first" : "there is no such tool");
    const status = fault !== undefined ? "bad_arguments" : names.has(name) ? "refused" : "unknown_tool";
    const id = callId ?? `call_${call}`;
    return [{ tool: name, call, callId: id, status, text, durationMs: 0, truncated: false, arguments: args }];
  });
}
