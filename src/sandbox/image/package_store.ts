import { join } from "node:path";
import { sha256 } from "../../hash.ts";

/**
 * Folder of the package store in a cache folder. The name of each file is the SHA-256 of the file's contents.
 */
const STORE = "packages";

/** Returns the path of the file with a SHA-256 in the package store of a cache folder. */
export function storePath(cacheDir: string, digest: string): string {
  return join(cacheDir, STORE, digest);
}

/** True if the package store has the file. The contents are checked when an image is built. */
export async function isStored(cacheDir: string, digest: string): Promise<boolean> {
  try {
    return (await Deno.stat(storePath(cacheDir, digest))).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** True if the package store has the file and its contents have the hash. */
export async function isIntact(cacheDir: string, digest: string): Promise<boolean> {
  return await isStored(cacheDir, digest) &&
    await sha256(await Deno.readFile(storePath(cacheDir, digest))) === digest;
}

/**
 * Puts a file into the package store.
 *
 * @throws {TypeError} if the contents have another hash.
 */
export async function storeFile(
  cacheDir: string,
  file: { readonly name: string; readonly sha256: string; readonly contents: Uint8Array },
): Promise<void> {
  const digest = await sha256(file.contents);
  if (digest !== file.sha256) {
    throw new TypeError(
      `Cannot store '${file.name}' as its sha256 must be ${file.sha256}: current value is ${digest}`,
    );
  }
  const target = storePath(cacheDir, digest);
  const temporary = `${target}.${crypto.randomUUID()}`; // a rename is atomic, and other processes may store the file too
  await Deno.mkdir(join(cacheDir, STORE), { recursive: true, mode: 0o700 });
  try {
    await Deno.writeFile(temporary, file.contents, { mode: 0o600 });
    await Deno.rename(temporary, target);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {}); // it may not exist
    throw error;
  }
}
