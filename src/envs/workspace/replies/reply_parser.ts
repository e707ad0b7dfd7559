/** A command that a reply may hold. */
export interface ReplyCommand {
  readonly name: string;
  /** Such as `open "<path>" [<line_number>]`. */
  readonly signature?: string | undefined;
  /** The line that ends its text, for one that takes many lines. */
  readonly endName?: string | undefined;
}

/** What a reply holds: what the policy thought, and what it does; or why it holds nothing that can be done. */
export type ParsedReply = { readonly thought: string; readonly action: string } | { readonly fault: string };

/** Finds the action in a reply. */
export interface ReplyParser {
  parse(reply: string, commands: readonly ReplyCommand[]): ParsedReply;
  /** What a policy is told whose reply holds none; a template. */
  readonly formatError: string;
}

/** The fault of a reply in which there is no action. */
export const NO_ACTION = "No action found in model response.";
