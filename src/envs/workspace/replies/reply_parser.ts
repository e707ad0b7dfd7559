/** Command that a reply may hold. */
export interface ReplyCommand {
  readonly name: string;
  /** Signature such as `open "<path>" [<line_number>]`. */
  readonly signature?: string | undefined;
  /** Line that ends the text of a multi-line command. */
  readonly endName?: string | undefined;
}

/** Thought and action of a reply, or the reason why it has no action. */
export type ParsedReply = { readonly thought: string; readonly action: string } | { readonly fault: string };

/** Parser that finds the action in a reply. */
export interface ReplyParser {
  parse(reply: string, commands: readonly ReplyCommand[]): ParsedReply;
  /** Template of the message to a policy whose reply has no action. */
  readonly formatError: string;
}

/** Fault of a reply without an action. */
export const NO_ACTION = "No action found in model response.";
