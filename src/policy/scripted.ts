import { PolicyError } from "../errors.ts";
import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Policy, Reply, ReplyContext } from "./policy.ts";
import { countAssistantTurns } from "./turns.ts";

/** A fixed reply: a text, or a message with tool calls. */
export type ScriptedReply = string | Message;

/** A function that returns the replies of a task, one per turn; `undefined` if there are none. */
export type RepliesOfTask = (task: ReplyContext["task"]) => readonly ScriptedReply[] | undefined;

/** A function that replies to a conversation. */
export type ScriptFunction = (
  history: History,
  context: ReplyContext,
) => Reply | string | Promise<Reply | string>;

/** Options of {@linkcode scriptedPolicy}. */
export interface ScriptedPolicyOptions {
  /**
   * Returns the replies of a task.
   *
   * @default the task's `replies`
   */
  replies?: RepliesOfTask | undefined;
  /** Computes each reply; overrides `replies`. */
  script?: ScriptFunction | undefined;
}

/**
 * Creates a policy that plays fixed replies, or the replies of a function. A turn without a reply rejects
 * with a `PolicyError`.
 *
 * @example
 * ```ts
 * import { ChatEnv, rollout, scriptedPolicy } from "@paddock/paddock";
 *
 * await using env = new ChatEnv({ maxSteps: 1 });
 * const { messages } = await rollout(env, scriptedPolicy(), { id: "1", query: "6 * 7?", replies: ["42"] });
 * if (messages.at(-1)?.content !== "42") throw new Error("unexpected reply");
 * ```
 */
export function scriptedPolicy(options: ScriptedPolicyOptions = {}): Policy {
  const { replies = ({ replies }) => replies, script = turnByTurn(replies) } = options;
  return { name: "scripted", reply: async (history, context) => await script(history, context) };
}

function turnByTurn(find: RepliesOfTask): ScriptFunction {
  return (history, { task }) => {
    const replies = find(task) ?? [];
    const turn = countAssistantTurns(history);
    const reply = replies[turn];
    if (reply === undefined) {
      throw new PolicyError(
        `Cannot play task '${task.id}' as it needs a reply for turn ${turn + 1}: it has ${replies.length}`,
      );
    }
    return typeof reply === "string" ? reply : { message: reply };
  };
}
