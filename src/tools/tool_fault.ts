import type { ToolStatus } from "./tool_result.ts";

/** What went wrong with a call. */
export type ToolFault =
  | { readonly kind: "unknown_tool" }
  /** The arguments are no JSON object; `reason` says where. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** The arguments are not those of the tool. */
  | { readonly kind: "bad_arguments"; readonly reason: string }
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  /** The tool failed; `expected` when it meant to tell the model so. */
  | { readonly kind: "error"; readonly reason: string; readonly expected: boolean }
  /** A limit, or an earlier failure, kept the call from being made. */
  | { readonly kind: "refused"; readonly reason: string };

/** The word for a fault in a `ToolResult`. */
export function faultStatus({ kind }: ToolFault): ToolStatus {
  return kind === "unreadable" ? "bad_arguments" : kind;
}
