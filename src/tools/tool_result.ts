import type { ExecResult, ExecStatus } from "../sandbox/exec.ts";

/**
 * Status of a call. An `ExecStatus` for code; for other tools `ok`, `error` (the tool failed), `timeout`,
 * `unknown_tool`, `bad_arguments`, or `refused` (a limit).
 */
export type ToolStatus = ExecStatus | "unknown_tool" | "bad_arguments" | "refused";

/** Result of one tool call, beside the text that the model reads. */
export interface ToolResult {
  /** Name of the tool; `python` for a code block. */
  readonly tool: string;
  /** Position of the call in its message, from 1. */
  readonly call: number;
  /** Id of the call: the model's own id, or a generated one. */
  readonly callId: string;
  readonly status: ToolStatus;
  /** Text of the result before truncation. */
  readonly text: string;
  readonly durationMs: number;
  /** True if output beyond a limit was dropped. */
  readonly truncated: boolean;
  /** Arguments that the tool received. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Source of the code block. */
  readonly code?: string;
  /** Result of the code block. */
  readonly exec?: ExecResult;
  /** Value that the tool returned. */
  readonly value?: unknown;
}
