import { join } from "node:path";
import { baseImageName } from "../../sandbox/image/base_image.ts";
import { pinnedImages } from "../../sandbox/image/image_pins.ts";
import { loadProfile, shippedProfiles } from "../../sandbox/profile/profile.ts";
import { profileSource, userProfileNames } from "../packages/profile_file.ts";

/** Kinds of what a cache folder holds. */
export const CACHE_KINDS = ["images", "packages", "choices", "verifier", "history"] as const;

/** Kind of what a cache folder holds. */
export type CacheKind = typeof CACHE_KINDS[number];

/** An image, a package file, or another file of a cache folder. */
export interface CacheEntry {
  readonly kind: CacheKind;
  /** Path in the cache folder. */
  readonly name: string;
  readonly bytes: number;
  /** Time of the last use of an image, to the day, and of the last change of a file. */
  readonly usedAt: string;
  /** Profiles that use an image, as they are now. An image of none is of an older version or of another profile. */
  readonly profiles: readonly string[];
  /**
   * True if a running sandbox, a build or the sessions of a state directory use the entry, which is then never removed.
   */
  readonly inUse: boolean;
}

const IMAGE = /^[0-9a-f]{32}$/;
const BUILD = /^building-/;
const FOLDERS: Readonly<Record<string, CacheKind>> = {
  packages: "packages",
  requirements: "choices",
  "math-verify": "verifier",
};
const HISTORY_FILE = "repl_history";

/**
 * Returns what a cache folder holds. Files that Paddock does not write are left out, and so are links.
 *
 * @param commandLines Command lines of the running processes, which name the images that sandboxes use.
 */
export async function listCache(cacheDir: string, commandLines: string): Promise<CacheEntry[]> {
  const profiles = await profilesOfImages();
  const pinned = await pinnedImages(cacheDir).catch(ignoreMissing);
  const entries: CacheEntry[] = [];
  for (const { name, isDirectory, isFile } of await readFolder(cacheDir)) {
    const path = join(cacheDir, name);
    if (isDirectory && (IMAGE.test(name) || BUILD.test(name))) {
      const inUse = commandLines.includes(path) || pinned.has(name) ||
        (IMAGE.test(name) ? await isLocked(path) : await isRecent(path));
      entries.push(
        await describe(cacheDir, { kind: "images", name, inUse, profiles: profiles.get(name) ?? [] }),
      );
    } else if (isDirectory && FOLDERS[name] !== undefined) {
      for (const file of await readFolder(path)) {
        const rest = { kind: FOLDERS[name], inUse: false, profiles: [] };
        if (file.isFile) entries.push(await describe(cacheDir, { ...rest, name: join(name, file.name) }));
      }
    } else if (isFile && name === HISTORY_FILE) {
      entries.push(await describe(cacheDir, { kind: "history", name, inUse: false, profiles: [] }));
    }
  }
  return entries.sort((one, other) => one.kind.localeCompare(other.kind) || other.bytes - one.bytes);
}

/**
 * Removes entries that are not in use. An image is renamed first, so that no process finds a part of an image.
 *
 * @returns the removed entries.
 */
export async function clearCache(cacheDir: string, entries: readonly CacheEntry[]): Promise<CacheEntry[]> {
  const removed: CacheEntry[] = [];
  for (const entry of entries) {
    if (entry.inUse) continue;
    const path = join(cacheDir, entry.name);
    if (await (entry.kind === "images" ? removeImage(cacheDir, entry.name) : remove(path))) {
      removed.push(entry);
    }
  }
  return removed;
}

async function removeImage(cacheDir: string, name: string): Promise<boolean> {
  const path = join(cacheDir, name);
  if (BUILD.test(name)) return await remove(path);
  using lock = await openLock(`${path}.lock`);
  if (lock !== undefined && !await tryLock(lock)) return false; // a process has begun to build the image
  const moved = join(cacheDir, `building-removed-${crypto.randomUUID()}`);
  try {
    await Deno.rename(path, moved);
  } catch {
    return false; // another process has removed the entry
  }
  await remove(`${path}.lock`);
  return await remove(moved);
}

async function remove(path: string): Promise<boolean> {
  try {
    await Deno.remove(path, { recursive: true });
    return true;
  } catch {
    return false; // another process has removed the entry, or the entry belongs to another user
  }
}

function ignoreMissing(error: unknown): ReadonlySet<string> {
  if (error instanceof Deno.errors.NotFound) return new Set();
  throw error;
}

async function readFolder(path: string): Promise<Deno.DirEntry[]> {
  try {
    return await Array.fromAsync(Deno.readDir(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function describe(
  cacheDir: string,
  entry: Omit<CacheEntry, "bytes" | "usedAt">,
): Promise<CacheEntry> {
  const path = join(cacheDir, entry.name);
  const { mtime } = await Deno.lstat(path);
  return { ...entry, bytes: await sizeOf(path), usedAt: (mtime ?? new Date(0)).toISOString() };
}

async function sizeOf(path: string): Promise<number> {
  const { size, isDirectory } = await Deno.lstat(path);
  if (!isDirectory) return size;
  let bytes = 0;
  for (const { name } of await readFolder(path)) bytes += await sizeOf(join(path, name));
  return bytes;
}

/** Returns the names of the profiles of each image that is up to date. */
async function profilesOfImages(): Promise<ReadonlyMap<string, readonly string[]>> {
  const images = new Map([[await baseImageName(), ["all"]]]);
  for (const name of new Set([...shippedProfiles, ...await userProfileNames()])) {
    try {
      const image = await baseImageName(await loadProfile(await profileSource(name)));
      images.set(image, [...images.get(image) ?? [], name]);
    } catch {
      // a profile of the user that cannot be read has no image
    }
  }
  return images;
}

/** True if a process builds the image now. */
async function isLocked(path: string): Promise<boolean> {
  using lock = await openLock(`${path}.lock`);
  return lock !== undefined && !await tryLock(lock);
}

async function openLock(path: string): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path, { write: true });
  } catch {
    return undefined; // no process builds the image
  }
}

async function tryLock(file: Deno.FsFile): Promise<boolean> {
  return await file.tryLock(true);
}

/** Folders of builds that are younger may be written now. */
const BUILD_MS = 3_600_000;

async function isRecent(path: string): Promise<boolean> {
  const { mtime } = await Deno.lstat(path);
  return mtime !== null && Date.now() - mtime.getTime() < BUILD_MS;
}

/**
 * Returns the command lines of the running processes, which name the images of running sandboxes. Returns `undefined`
 * if this host does not show them.
 */
export async function readCommandLines(): Promise<string | undefined> {
  try {
    const processes = (await Array.fromAsync(Deno.readDir("/proc"))).filter(({ name }) => /^\d+$/.test(name));
    const lines = await Promise.all(
      processes.map(({ name }) => Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "")), // the process has ended
    );
    return lines.join("\n");
  } catch {
    return await psOutput(); // not Linux
  }
}

async function psOutput(): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command("ps", { args: ["-axww", "-o", "args="] }).output();
    return success ? new TextDecoder().decode(stdout) : undefined;
  } catch {
    return undefined; // Windows
  }
}
