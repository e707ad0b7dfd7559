// The part of openai_reply.ts that policies use. See docs/decisions/hand_written_types.md.
import type { Reply } from "./policy.ts";

export function parseOpenaiReply(response: unknown, turn: number): Reply;
export function parseCompletionReply(response: unknown, options: { endOfTurn: string }): Reply;
export function withoutEnd(text: string, end: string): string;
