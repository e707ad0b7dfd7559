import { basename } from "node:path";
import { listStarterFiles } from "../config/starter_files.ts";
import type { EvaluationPlan } from "../workspace_task.ts";

/**
 * Reads the script of a plan and the files beside it, by path.
 *
 * @throws {Error} if a file cannot be read.
 */
export async function readEvaluationFiles(plan: EvaluationPlan): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const { path, hostPath } of [...plan.files, plan.script]) {
    for (const part of await listStarterFiles(hostPath)) {
      const place = path + part.path.slice(basename(hostPath).length);
      files[place] = await Deno.readFile(part.hostPath);
    }
  }
  return files;
}
