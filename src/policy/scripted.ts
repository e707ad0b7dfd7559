import { PolicyError } from "../errors.ts";
import type { History } from "../history.ts";
import type { Message } from "../message.ts";
import type { Policy, Reply, ReplyContext } from "./policy.ts";
import { assistantTurns } from "./turns.ts";

/** What is said, whatever came before: a text, or a message with calls of tools. */
export type ScriptedReply = string | Message;

/** Where a script finds a task's replies, turn by turn; `undefined` where there are none. */
export type FindReplies = (task: ReplyContext["task"]) => readonly ScriptedReply[] | undefined;

/** A script that looks at the conversation. */
export type Script = (history: History, context: ReplyContext) => Reply | string | Promise<Reply | string>;

/** What {@linkcode scriptedPolicy} plays. */
export interface ScriptedPolicyOptions {
  /** The replies of each task; its own unless given. */
  replies?: FindReplies | undefined;
  /** Answers in place of replies. */
  script?: Script | undefined;
}

/** A policy that plays each task's replies, whatever comes back, or what a function makes of what came. */
export function scriptedPolicy(options: ScriptedPolicyOptions = {}): Policy {
  const { replies = ({ replies }) => replies, script = turnByTurn(replies) } = options;
  return { name: "scripted", reply: async (history, context) => await script(history, context) };
}

function turnByTurn(find: FindReplies): Script {
  return (history, { task }) => {
    const replies = find(task) ?? [];
    const turn = assistantTurns(history);
    const reply = replies[turn];
    if (reply === undefined) {
      throw new PolicyError(
        `Cannot play task '${task.id}' as it needs a reply for turn ${turn + 1}: it has ${replies.length}`,
      );
    }
    return typeof reply === "string" ? reply : { message: reply };
  };
}
