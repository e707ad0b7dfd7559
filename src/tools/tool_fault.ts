import type { ToolStatus } from "./tool_result.ts";

/** Reason why a call failed. */
export type ToolFault =
  | { readonly kind: "unknown_tool" }
  /** The arguments are not a JSON object; `reason` says where. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** The arguments do not match the tool's schema. */
  | { readonly kind: "bad_arguments"; readonly reason: string }
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  /** The tool failed; `expected` is true if it threw a `ToolError`. */
  | { readonly kind: "error"; readonly reason: string; readonly expected: boolean }
  /** The call was not run because of a limit or an earlier failure. */
  | { readonly kind: "refused"; readonly reason: string };

/** Returns the status of a failed call in its `ToolResult`. */
export function statusOfFault({ kind }: ToolFault): ToolStatus {
  return kind === "unreadable" ? "bad_arguments" : kind;
}
