import type { History } from "../../history.ts";
import { type Message, messageText } from "../../message.ts";
import type { Task } from "../../task.ts";
import { pythonBlocks } from "../../tools/python_blocks.ts";
import { parseTaggedReply } from "../tagged_reply.ts";
import { definesEntryPoint } from "./candidate_program.ts";

/**
 * Returns the reply with the candidate's program, without its thoughts: the newest that defines the entry
 * point, else the newest with a Python block, else the last one. (Where blocks are executed, an episode ends
 * with a reply that has none.) Assistant messages in the query are not replies.
 */
export function findProgramReply(history: History, { query }: Task, entryPoint: string | undefined): string {
  const promptReplies = typeof query === "string" ? 0 : [...query].filter(isAssistant).length;
  const replies = [...history].filter(isAssistant).slice(promptReplies).map((message) =>
    parseTaggedReply(messageText(message)).visibleText
  );
  const defining = entryPoint === undefined
    ? undefined
    : replies.findLast((reply) => containsEntryPoint(reply, entryPoint));
  return defining ?? replies.findLast((reply) => pythonBlocks(reply).length > 0) ?? replies.at(-1) ?? "";
}

function isAssistant({ role }: Message): boolean {
  return role === "assistant";
}

function containsEntryPoint(reply: string, entryPoint: string): boolean {
  return [reply, ...pythonBlocks(reply)].some((code) => definesEntryPoint(code, entryPoint));
}
