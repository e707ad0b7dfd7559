import type { z } from "zod";
import type { ExecOptions, ExecResult } from "../../sandbox/exec.ts";
import {
  type execRequest,
  type execResult,
  fromBase64Files,
  type sessionInfo,
  toBase64Files,
} from "../../wire/v1.ts";
import type { LiveSession } from "../live_session.ts";

/** Returns the options of a program that a request states. */
export function toExecOptions(
  { files, timeoutMs, stdin, fetchFiles }: z.output<typeof execRequest>,
  signal: AbortSignal,
): ExecOptions {
  return { timeoutMs, stdin, fetchFiles, signal, files: fromBase64Files(files ?? {}) };
}

/** Returns a result as JSON. */
export function toExecBody({ files, ...result }: ExecResult): z.output<typeof execResult> {
  return files === undefined ? result : { ...result, files: toBase64Files(files) };
}

/** Returns a session as JSON. */
export function toSessionBody({ id, createdAt, usedAt, execs }: LiveSession): z.output<typeof sessionInfo> {
  return { id, execs, createdAt: createdAt.toISOString(), usedAt: usedAt.toISOString() };
}
