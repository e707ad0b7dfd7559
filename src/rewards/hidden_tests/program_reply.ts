import type { History } from "../../history.ts";
import { type Message, messageText } from "../../message.ts";
import type { Task } from "../../task.ts";
import { pythonBlocks } from "../../tools/python_blocks.ts";
import { taggedReply } from "../tagged_reply.ts";
import { defines } from "./candidate_program.ts";

/**
 * The reply that holds the candidate's program, without its thoughts: the newest that defines the entry point, else
 * the newest that has a block of Python, else the final one. Where blocks are run, an episode ends with a reply that
 * has none. What the assistant says in the query is no reply.
 */
export function programReply(history: History, { query }: Task, entryPoint: string | undefined): string {
  const asked = typeof query === "string" ? 0 : [...query].filter(isSaid).length;
  const replies = [...history].filter(isSaid).slice(asked).map((said) =>
    taggedReply(messageText(said)).spoken
  );
  const defining = entryPoint === undefined
    ? undefined
    : replies.findLast((reply) => hasDefined(reply, entryPoint));
  return defining ?? replies.findLast((reply) => pythonBlocks(reply).length > 0) ?? replies.at(-1) ?? "";
}

function isSaid({ role }: Message): boolean {
  return role === "assistant";
}

function hasDefined(reply: string, entryPoint: string): boolean {
  return [reply, ...pythonBlocks(reply)].some((code) => defines(code, entryPoint));
}
