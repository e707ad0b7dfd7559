import { createHash } from "node:crypto";
import type { Task } from "./task.ts";
import { toWellFormedJson } from "./well_formed_json.ts";

/**
 * Returns a hash (SHA-256, base64url) of a task's query and answer. It distinguishes tasks with the same id.
 */
export function hashTask({ query, answer }: Task): string {
  const json = toWellFormedJson([typeof query === "string" ? query : [...query], answer]);
  return createHash("sha256").update(json).digest("base64url");
}
