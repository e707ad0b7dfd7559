import type { ExecOptions } from "../sandbox/exec.ts";

/** A program as the server reads it. */
export interface ExecBody {
  readonly code: string;
  readonly timeoutMs?: number | undefined;
  readonly stdin?: string | undefined;
  readonly files?: Readonly<Record<string, string>> | undefined;
  readonly fetchFiles?: readonly string[] | undefined;
}

const encoder = new TextEncoder();

/** What a program is sent with. */
export function execBody(code: string, options: ExecOptions): ExecBody {
  const { timeoutMs, stdin, files, fetchFiles } = options;
  return { code, timeoutMs, stdin, files: files && inBase64(files), fetchFiles };
}

/** Files as JSON. */
export function inBase64(files: Readonly<Record<string, Uint8Array | string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, contents]) => [path, base64(contents)]));
}

function base64(contents: Uint8Array | string): string {
  return (typeof contents === "string" ? encoder.encode(contents) : contents).toBase64();
}
