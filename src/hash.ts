import { createHash } from "node:crypto";
import { toWellFormedJson } from "./json.ts";
import type { Task } from "./task.ts";

/** The SHA-256 of bytes or of a text, in lower-case hex. */
export async function sha256(data: Uint8Array | string): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return new Uint8Array(digest).toHex();
}

/**
 * Returns a hash (SHA-256, base64url) of a task's query and answer. It distinguishes tasks with the same id.
 */
export function hashTask({ query, answer }: Task): string {
  const json = toWellFormedJson([typeof query === "string" ? query : [...query], answer]);
  return createHash("sha256").update(json).digest("base64url");
}
