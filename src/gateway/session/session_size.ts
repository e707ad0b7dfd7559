import type { Message } from "../../message.ts";
import type { SampledTurn } from "./session_row.ts";

/** Bytes of a token in the record and in the turn: its id, mask and log-probability. */
const TOKEN_BYTES = 32;
/** Copies of a message: in the record, as a key, and as the template's text. */
export const MESSAGE_COPIES = 4;

/** Estimates the memory that a turn and the new messages before it take. */
export function sizeOf(
  messages: readonly Message[],
  { turn, base }: { turn: SampledTurn; base: SampledTurn | undefined },
): number {
  const { promptTokens, replyTokens } = turn.answer.usage;
  const tokens = promptTokens - (base?.answer.usage.promptTokens ?? 0) + replyTokens;
  return JSON.stringify(messages).length * MESSAGE_COPIES + tokens * TOKEN_BYTES + 1024;
}
