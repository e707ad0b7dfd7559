import type { ExecResult } from "../sandbox/exec.ts";

/** What a tool did for one message of the model, beside the text that the model is shown. */
export interface ToolResult {
  /** The role under which the result went into the history. */
  readonly tool: string;
  /** Which of the message's calls it was, from 1. */
  readonly call: number;
  /** The program that ran. */
  readonly code: string;
  readonly exec: ExecResult;
}
