import type { ContentPart, Message } from "../../message.ts";
import type { ToolFault } from "../tool_result.ts";

/** Name of a call without a tool name; `fault` gives the reason. */
export const UNNAMED = "?";

/** Number of calls that parsers read from a message. Text after them is not searched. */
export const MAX_PARSED_CALLS = 1_000;

/** A tool call as parsed from a message. */
export interface ParsedCall {
  readonly name: string;
  /** Arguments by name. If they could not be read, `{}` or a value that the parser chooses. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** True if the syntax has only text as values. The schema of the tool gives their types. */
  readonly hasTextArguments?: boolean | undefined;
  /** The arguments as JSON text, if parsing loses information, such as 50.0 against 50. */
  readonly argumentsText?: string | undefined;
  /** Reason why the arguments could not be read. The model reads the reason. */
  readonly fault?: string | undefined;
  /** False if the text ends before the end of the call, which a limit may have cut off; absent otherwise. */
  readonly isClosed?: false | undefined;
  /** Tag or id that the model or the model's server gave to the call. A missing id is generated. */
  readonly callId?: string | undefined;
}

/** A message, split into text and calls. */
export interface ParsedMessage {
  /** Text of the message without the calls. */
  readonly text: string;
  /** Calls in the order of the text. */
  readonly calls: readonly ParsedCall[];
  /** Number of calls in thoughts, which do not run; absent if there are none. */
  readonly callsInThoughts?: number | undefined;
}

/** The answer to a call. */
export interface ToolResponse {
  /** Name of the tool that was found, else the name in the call. */
  readonly name: string;
  /** Position of the call in the message, from 1. */
  readonly number: number;
  readonly callId: string;
  /** Id or tag that the model gave. */
  readonly tag?: string | undefined;
  readonly ok: boolean;
  /** False if the call was skipped because an earlier call failed. */
  readonly attempted: boolean;
  /** Text of the result or of the error, in the form that the model reads. */
  readonly text: string;
  /** Content parts of a result that is not only text. */
  readonly parts?: readonly ContentPart[] | undefined;
}

/** Format of a result that is not a string: JSON, or Python's `str`. */
export type ResultStyle = "json" | "python-repr";

/** Parses the calls of a model and renders their results. `parse` never throws. */
export interface ToolCallParser {
  /** If true, a result `{ error: … }` counts as a failure of the tool. */
  readonly errorKeyFails?: boolean | undefined;
  parse(message: Message): ParsedMessage;
  /** Returns a result as text, if this parser has its own format. */
  resultText?(value: unknown): string;
  /** Returns the message about a failed call; `name` is the name of the tool. */
  faultText(fault: ToolFault, name: string): string;
  /** Returns the messages that answer the calls of a message; `role` is their role. */
  render(answers: readonly ToolResponse[], role: string): Message[];
}
