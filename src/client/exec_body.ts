import type { z } from "zod";
import type { ExecOptions } from "../sandbox/exec.ts";
import { type execRequest, toBase64Files } from "../wire/v1.ts";

/** Returns the request body that runs a program. */
export function toExecRequest(code: string, options: ExecOptions): z.input<typeof execRequest> {
  const { timeoutMs, stdin, files, fetchFiles } = options;
  return {
    code,
    timeoutMs,
    stdin,
    files: files && toBase64Files(files),
    fetchFiles: fetchFiles && [...fetchFiles],
  };
}
