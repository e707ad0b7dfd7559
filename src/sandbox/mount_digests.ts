import { join } from "node:path";
import type { Mount } from "./mounts.ts";
import { sha256 } from "./sha256.ts";

/** What Python writes beside its sources; it says nothing that they do not. */
const WRITTEN_BY_PYTHON = "__pycache__";

/** Tells mounts with other paths or contents apart: one text for each file, in the order of their names. */
export async function mountDigests(mounts: readonly Mount[]): Promise<string[]> {
  const digests: string[] = [];
  for (const { guestPath, hostPath } of mounts) {
    for (const path of await filesBelow(hostPath, "")) {
      const digest = await sha256(await Deno.readFile(join(hostPath, path)));
      digests.push(`${guestPath}${path} ${digest}`);
    }
  }
  return digests.sort();
}

/** The files that a child reads of a mount, by their paths inside it; of a file, the empty path. */
async function filesBelow(root: string, inside: string): Promise<string[]> {
  const at = join(root, inside);
  if (!(await Deno.stat(at)).isDirectory) return [inside];
  const found: string[] = [];
  for await (const entry of Deno.readDir(at)) {
    if (entry.name === WRITTEN_BY_PYTHON) continue;
    if (entry.isFile) found.push(`${inside}/${entry.name}`);
    else if (entry.isDirectory) found.push(...await filesBelow(root, `${inside}/${entry.name}`));
  }
  return found;
}
