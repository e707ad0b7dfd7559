import { type Message, messageText } from "../message.ts";
import type { ParsedMessage } from "../tools/tool_call_parser.ts";
import type { ToolResult } from "../tools/tool_result.ts";
import { respondAction, type ToolUserAction } from "./tool_user_env.ts";

/** What a reply comes to. */
export interface ChosenAction {
  readonly action: ToolUserAction;
  /** Which of the reply's calls it is, from 1; nothing where it is told to the user. */
  readonly call?: number;
}

/**
 * The first call of a tool that there is, else the reply's words for the user, as slime's `call_to_action_sglang`
 * chooses: the whole reply where no call is left, and what stands beside the calls where the first one's arguments
 * are no object.
 */
export function chosenAction(
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

/** What is recorded of the calls that were not run. */
export function otherCalls(
  { calls }: ParsedMessage,
  ran: number | undefined,
  names: ReadonlySet<string>,
): ToolResult[] {
  return calls.flatMap(({ name, arguments: args, fault, callId }, at) => {
    const call = at + 1;
    if (call === ran) return [];
    const text = fault ??
      (names.has(name) ? "one call of a reply is run: the first" : "there is no such tool");
    const status = fault !== undefined ? "bad_arguments" : names.has(name) ? "refused" : "unknown_tool";
    const id = callId ?? `call_${call}`;
    return [{ tool: name, call, callId: id, status, text, durationMs: 0, truncated: false, arguments: args }];
  });
}
