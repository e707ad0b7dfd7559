import { NO_ACTION, type ParsedReply } from "./reply_parser.ts";

/** A fence with a word after it on its line, or a bare fence; lines end as in Python. */
const FENCE = /(?<![^\n])```(\S*)\s*\n|(?<![^\n])```\s*(?![^\n])/g;

/** Position of a fence. */
interface Fence {
  readonly start: number;
  readonly end: number;
}

/**
 * Parses the last complete top-level block of a reply as the action, and the rest as the thought. A fence with a word
 * after it opens a block; a bare fence closes an open block.
 */
export function parseFencedReply(reply: string): ParsedReply {
  const open: Fence[] = [];
  let block: { start: Fence; end: Fence } | undefined;
  for (const match of reply.matchAll(FENCE)) {
    const fence = { start: match.index, end: match.index + match[0].length };
    const word = match[1];
    const start = word ? undefined : open.pop();
    if (start !== undefined) {
      if (open.length === 0) block = { start, end: fence };
    } else if (word !== undefined) open.push(fence);
  }
  if (block === undefined) return { fault: NO_ACTION };
  const { start, end } = block;
  return {
    thought: reply.slice(0, start.start) + reply.slice(end.end),
    action: reply.slice(start.end, end.start),
  };
}

/** True if the reply has more than one pair of fences. */
export function hasSeveralBlocks(reply: string): boolean {
  return reply.split("```").length > 4;
}
