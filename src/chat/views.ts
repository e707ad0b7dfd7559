import type { History } from "../history.ts";

/** The parts of a conversation, as messages. */
export interface ChatHistory {
  readonly prompt?: History | undefined;
  /** The messages after the prompt. */
  readonly response?: History | undefined;
  /** Prompt and response together. */
  readonly full?: History | undefined;
}

/** The parts of a conversation, as text. The prompt ends in a generation prompt. */
export interface ChatText {
  readonly prompt?: string | undefined;
  readonly response?: string | undefined;
  readonly full?: string | undefined;
}

/** The parts of a conversation, as token ids. */
export interface ChatTokens {
  readonly prompt?: readonly number[] | undefined;
  readonly response?: readonly number[] | undefined;
  readonly full?: readonly number[] | undefined;
  /** True if padding ids were added to make sequences the same length. */
  readonly padded?: boolean | undefined;
}
