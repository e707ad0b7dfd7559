import { NO_ACTION, type ParsedReply } from "./reply_parser.ts";

/** A fence with what is behind it on its line, or a bare one; lines end as they do in Python. */
const FENCE = /(?<![^\n])```(\S*)\s*\n|(?<![^\n])```\s*(?![^\n])/g;

/** A fence, and whether it may open a block. */
interface Fence {
  readonly start: number;
  readonly end: number;
}

/**
 * The last whole block of a reply that is in no other one; everything else is thought. A fence with a word behind it
 * opens a block, a bare one closes what is open.
 */
export function fencedReply(reply: string): ParsedReply {
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

/** Whether there is more than one pair of fences, wherever they stand. */
export function hasSeveralBlocks(reply: string): boolean {
  return reply.split("```").length > 4;
}
