import type { ExecResult, ExecStatus } from "../sandbox/exec.ts";

/**
 * What became of a call: an `ExecStatus` where code ran, else `ok`, `error` for a tool that failed, `timeout`,
 * `unknown_tool`, `bad_arguments`, or `refused` by a limit.
 */
export type ToolStatus = ExecStatus | "unknown_tool" | "bad_arguments" | "refused";

/** What a tool did for one message of the model, beside the text that the model is shown. */
export interface ToolResult {
  /** The tool that was called; `python` for a block of code. */
  readonly tool: string;
  /** Which of the message's calls it was, from 1. */
  readonly call: number;
  /** Names the call: the model's own id, or one that was made for it. */
  readonly callId: string;
  readonly status: ToolStatus;
  /** What the model is told, before any cut. */
  readonly text: string;
  readonly durationMs: number;
  /** True when output was dropped beyond a limit. */
  readonly truncated: boolean;
  /** The arguments, as the tool got them. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** The program that ran. */
  readonly code?: string;
  /** What became of the program that ran. */
  readonly exec?: ExecResult;
  /** What the tool gave, as data. */
  readonly value?: unknown;
}
