import { createHash } from "node:crypto";
import type { Task } from "./task.ts";
import { wellFormedJson } from "./well_formed_json.ts";

/** What a task asks and what answers it, as a short text: it tells apart tasks that have one id. */
export function taskHash({ query, answer }: Task): string {
  const said = wellFormedJson([typeof query === "string" ? query : [...query], answer]);
  return createHash("sha256").update(said).digest("base64url");
}
