import { basename } from "node:path";
import { starterFiles } from "../config/starter_files.ts";
import type { EvaluationPlan } from "../workspace_task.ts";

/**
 * The script of a plan and what lies beside it, by their paths.
 *
 * @throws {Error} when one cannot be read.
 */
export async function evaluationFiles(plan: EvaluationPlan): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const { path, hostPath } of [...plan.files, plan.script]) {
    for (const part of await starterFiles(hostPath)) {
      const place = path + part.path.slice(basename(hostPath).length);
      files[place] = await Deno.readFile(part.hostPath);
    }
  }
  return files;
}
