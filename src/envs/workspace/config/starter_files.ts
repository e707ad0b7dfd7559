import { basename, join } from "node:path";
import type { WorkspaceFile } from "../task.ts";

/** Maximum number of files that a workspace starts with. */
const MAX_FILES = 10_000;

/**
 * Lists a file, or a folder with all contents, under the name of the file or folder. Links are left out.
 *
 * @throws {RangeError} if there are more than 10,000 files.
 */
export async function listStarterFiles(hostPath: string): Promise<WorkspaceFile[]> {
  const found: WorkspaceFile[] = [];
  await collect({ path: basename(hostPath), hostPath }, found);
  return found.sort((a, b) => a.path < b.path ? -1 : 1);
}

async function collect(file: WorkspaceFile, found: WorkspaceFile[]): Promise<void> {
  if (!(await Deno.stat(file.hostPath)).isDirectory) {
    if (found.length >= MAX_FILES) {
      throw new RangeError(
        `Cannot copy files to a workspace as there must be at most ${MAX_FILES}: found more`,
      );
    }
    found.push(file);
    return;
  }
  for await (const { name, isSymlink } of Deno.readDir(file.hostPath)) {
    if (isSymlink || name === "__pycache__" || name === ".git") continue;
    await collect({ path: `${file.path}/${name}`, hostPath: join(file.hostPath, name) }, found);
  }
}
