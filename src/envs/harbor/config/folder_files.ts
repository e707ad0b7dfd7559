import { join } from "node:path";
import type { HarborFile } from "../task.ts";

/** A file of a folder of the host. */
export interface FolderFile {
  /** Path in the folder, with `/` as separator. */
  readonly path: string;
  readonly hostPath: string;
  readonly isExecutable: boolean;
}

/** Files of a folder. */
export interface FolderFiles {
  readonly files: readonly FolderFile[];
  /** Paths of symbolic links, which are not followed. */
  readonly links: readonly string[];
}

const MAX_FILES = 20_000;

/**
 * Lists the files of a folder, sorted by their paths. A folder that does not exist has none.
 *
 * @throws {RangeError} if there are more than 20,000 files.
 */
export async function listFolder(folder: string): Promise<FolderFiles> {
  const files: FolderFile[] = [];
  const links: string[] = [];
  const pending = [""];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const entry of await readFolder(join(folder, at))) {
      const path = `${at}${entry.name}`;
      const hostPath = join(folder, path);
      if (entry.isSymlink) links.push(path);
      else if (entry.isDirectory) pending.push(`${path}/`);
      else if (entry.isFile) files.push({ path, hostPath, isExecutable: await isExecutable(hostPath) });
    }
    if (files.length > MAX_FILES) {
      throw new RangeError(`Cannot read '${folder}' as it must have at most ${MAX_FILES} files: it has more`);
    }
  }
  return { files: files.sort((one, other) => one.path < other.path ? -1 : 1), links };
}

/** Lists the entries of a folder. A folder that does not exist has none. */
export async function readFolder(path: string): Promise<Deno.DirEntry[]> {
  try {
    return await Array.fromAsync(Deno.readDir(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function isExecutable(path: string): Promise<boolean> {
  const { mode } = await Deno.stat(path);
  return ((mode ?? 0) & 0o100) !== 0;
}

/** Returns files of a folder with their places under a folder of the sandbox. */
export function placeFiles({ files }: FolderFiles, folder: string): HarborFile[] {
  return files.map(({ path, hostPath, isExecutable }) => ({
    path: `${folder}/${path}`,
    hostPath,
    isExecutable,
  }));
}

/** Reads the text of a file, or returns undefined if the file does not exist. */
export async function readOptionalText(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
