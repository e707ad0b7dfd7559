import { join } from "node:path";
import { SandboxError } from "../../errors.ts";

/** File of the key, in the directory of base images. */
export const KEY_FILE = "checkpoint.key";
const KEY_BYTES = 32;
/** Permission bits of the group and of others. */
const SHARED_BITS = 0o077;

/** Returns a key from bytes, of which there must be at least 32. */
export async function importKey(bytes: Uint8Array): Promise<CryptoKey> {
  if (bytes.length < KEY_BYTES) {
    throw new RangeError(
      `Cannot use key as it must have at least ${KEY_BYTES} bytes: it has ${bytes.length}`,
    );
  }
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return await crypto.subtle.importKey("raw", bytes.slice(), algorithm, false, ["sign", "verify"]);
}

/** Returns a key that no other process has. */
export async function createKey(): Promise<CryptoKey> {
  return await importKey(crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
}

/**
 * Returns the key of checkpoints of a cache directory, which is created once.
 *
 * @throws {SandboxError} if another user may read it.
 */
export async function readHostKey(cacheDir: string): Promise<CryptoKey> {
  return await importKey(await ensureKeyFile(cacheDir, KEY_FILE));
}

/**
 * Returns the bytes of a key in a cache directory. The first process creates the key. Processes that need the key at
 * the same time get the same key.
 *
 * @throws {SandboxError} if another user may read it.
 */
export async function ensureKeyFile(cacheDir: string, name: string): Promise<Uint8Array> {
  const path = join(cacheDir, name);
  const existing = await readKey(path);
  if (existing) return existing;
  await Deno.mkdir(cacheDir, { recursive: true });
  const draft = await Deno.makeTempFile({ dir: cacheDir, prefix: `${name}-` }); // its mode is 0600
  try {
    await Deno.writeFile(draft, crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
    await Deno.link(draft, path); // fails if another process was faster
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  } finally {
    await Deno.remove(draft);
  }
  const created = await readKey(path);
  if (!created) throw new SandboxError(`Cannot read key as '${path}' was removed`);
  return created;
}

async function readKey(path: string): Promise<Uint8Array | undefined> {
  try {
    const { mode } = await Deno.lstat(path);
    if (mode !== null && (mode & SHARED_BITS) !== 0) {
      throw new SandboxError(
        `Cannot read key as only its owner may read '${path}': its mode is ${(mode & 0o777).toString(8)}`,
      );
    }
    const bytes = await Deno.readFile(path);
    if (bytes.length >= KEY_BYTES) return bytes;
    throw new SandboxError(
      `Cannot read key as '${path}' must have at least ${KEY_BYTES} bytes: it has ${bytes.length}`,
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
