import type { History } from "../history.ts";

/** A conversation in its parts, as messages. */
export interface ChatHistory {
  readonly prompt?: History | undefined;
  /** What was answered. */
  readonly response?: History | undefined;
  /** Prompt and response in one. */
  readonly full?: History | undefined;
}

/** A conversation in its parts, as text; the prompt ends in a generation prompt. */
export interface ChatText {
  readonly prompt?: string | undefined;
  readonly response?: string | undefined;
  readonly full?: string | undefined;
}

/** A conversation in its parts, as token ids. */
export interface ChatTokens {
  readonly prompt?: readonly number[] | undefined;
  readonly response?: readonly number[] | undefined;
  readonly full?: readonly number[] | undefined;
  /** True when ids that mean nothing were added to make several the same length. */
  readonly padded?: boolean | undefined;
}
