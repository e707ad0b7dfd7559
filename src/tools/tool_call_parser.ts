import type { ContentPart, Message } from "../message.ts";
import type { ToolFault } from "./tool_fault.ts";

/** The name of a call that names no tool; its fault says why. */
export const UNNAMED = "?";

/** A call of a tool as a model wrote it. */
export interface ParsedCall {
  readonly name: string;
  /** The arguments by name; `{}`, or what the syntax makes of it, where they could not be read. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The same as JSON text, where that tells more, such as 50.0 from 50. */
  readonly argumentsText?: string | undefined;
  /** Why the arguments could not be read; the model is told. */
  readonly fault?: string | undefined;
  /** What the model or its server calls this call: a tag, or an id. One is made where there is none. */
  readonly callId?: string | undefined;
}

/** A message taken apart. */
export interface ParsedMessage {
  /** What the model said beside its calls. */
  readonly text: string;
  /** The calls in the order of the text. */
  readonly calls: readonly ParsedCall[];
}

/** What a call is answered with. */
export interface ToolAnswer {
  /** The tool as it was found, else the name that was called. */
  readonly name: string;
  /** Which of the message's calls it was, from 1. */
  readonly number: number;
  readonly callId: string;
  /** The id or tag that the model itself gave. */
  readonly tag?: string | undefined;
  readonly ok: boolean;
  /** False for a call that was never tried, as one before it failed. */
  readonly tried: boolean;
  /** The result, or what went wrong, as the model reads it. */
  readonly text: string;
  /** The result where it is more than text. */
  readonly parts?: readonly ContentPart[] | undefined;
}

/** How a result is written when it is no text: as JSON, or as Python's `str` would. */
export type ResultStyle = "json" | "python-repr";

/** One way in which models write calls and read results. Nothing that a model writes makes it throw. */
export interface ToolCallParser {
  /** True when a result `{ error: … }` counts as a failure of its tool. */
  readonly errorKeyFails?: boolean | undefined;
  parse(message: Message): ParsedMessage;
  /** A result as text, where this way has a style of its own. */
  resultText?(value: unknown): string;
  /** What the model is told of a call that went wrong; `name` is that of the tool. */
  faultText(fault: ToolFault, name: string): string;
  /** The messages that answer the calls of one message; `role` is who speaks them. */
  render(answers: readonly ToolAnswer[], role: string): Message[];
}
