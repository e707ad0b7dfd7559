import type { ContentPart } from "../message.ts";
import type { ExecResult, ExecStatus } from "../sandbox/contract/exec.ts";
import type { MediaPlace } from "../sandbox/tool_value.ts";

/**
 * Status of a call. An `ExecStatus` for code; for other tools `ok`, `error` (the tool failed), `timeout`,
 * `unknown_tool`, `bad_arguments`, `refused` (a limit), or `interrupted` (the code that made the call had ended).
 */
export type ToolStatus = ExecStatus | "unknown_tool" | "bad_arguments" | "refused" | "interrupted";

/** Result of a tool call, beside the text that the model reads. */
export interface ToolResult {
  /** Name of the tool; `python` for a code block. */
  readonly tool: string;
  /** Position of the call in the message, from 1. */
  readonly call: number;
  /** Id of the call: the model's own id, or a generated id. */
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
  /** Calls of tools that the code of the block made. */
  readonly calls?: readonly CodeCall[];
}

/** Record of a call that Python code made. Plain data. */
export interface CodeCall {
  readonly caller: "code";
  /** Position of the call in the block, from 1. */
  readonly call: number;
  readonly callId: string;
  /** Name of the tool, which is not always the name in Python. */
  readonly tool: string;
  readonly status: ToolStatus;
  /** Time from the start of the block to the start of the call; rows of earlier versions lack this time. */
  readonly startMs?: number;
  readonly durationMs: number;
  /** Arguments that the code gave; left out beyond the limit of a block. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Result as JSON, or the text of the error, cut at 65,536 characters; left out beyond the limit of a block. */
  readonly result?: string;
  /** Places in the result of data in base64: the keys that lead to the data, and the MIME type, `null` for plain bytes. */
  readonly media?: readonly MediaPlace[];
  /** True if the result is cut or left out. */
  readonly truncated: boolean;
}

/** Reason why a call failed. */
export type ToolFault =
  | { readonly kind: "unknown_tool" }
  /** The arguments are not a JSON object; `reason` says where. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** The arguments do not match the tool's schema. */
  | { readonly kind: "bad_arguments"; readonly reason: string }
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  /** The tool failed; `expected` is true for a `ToolError`. */
  | { readonly kind: "error"; readonly reason: string; readonly expected: boolean }
  /** The call was not run because of a limit or an earlier failure. */
  | { readonly kind: "refused"; readonly reason: string };

/** Returns the status of a failed call in the `ToolResult`. */
export function statusOfFault({ kind }: ToolFault): ToolStatus {
  return kind === "unreadable" ? "bad_arguments" : kind;
}

/** Result of a tool that is more than text: content parts of a message, in order. */
export class ToolParts {
  readonly parts: readonly ContentPart[];

  constructor(parts: readonly ContentPart[]) {
    this.parts = parts;
  }

  /** The parts as a single text. Other content is described. */
  get text(): string {
    return this.parts.map(describePart).join("\n");
  }

  /** True if any part is not text. */
  get hasMedia(): boolean {
    return this.parts.some(({ type }) => type !== "text");
  }
}

/** Returns the text of a part, or a description of other content. */
function describePart(part: ContentPart): string {
  if (part.type === "text") return part.text ?? "";
  const bytes = part.size ?? (part.data === undefined ? undefined : base64Bytes(part.data));
  const details = [part.mime_type, part.name, part.url, bytes === undefined ? undefined : `${bytes} bytes`];
  return `[${[part.type, ...details.filter((it) => it !== undefined)].join(" ")}]`;
}

/** Returns the number of bytes that a base64 string encodes. */
export function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor(data.length / 4) * 3 - padding);
}
