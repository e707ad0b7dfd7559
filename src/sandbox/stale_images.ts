import { join } from "node:path";

const DAY_MS = 24 * 3_600_000;

/** An image that nobody started from for this long is one of a version that nobody runs any more. */
const MAX_AGE_MS = 30 * DAY_MS;

/** A build that is older than this has died: none takes more than some minutes. */
const MAX_BUILD_MS = 3_600_000;

/** Notes that an image is in use; once a day is enough. */
export async function noteUse(directory: string, now: Date = new Date()): Promise<void> {
  const { mtime } = await Deno.stat(directory);
  if (mtime && now.getTime() - mtime.getTime() <= DAY_MS) return;
  await Deno.utime(directory, now, now).catch(() => {}); // a cache that cannot be written serves all the same
}

/** Removes the images of a cache that were not used for a month, and what builds that died left; what cannot be removed stays. */
export async function removeStaleImages(cacheDir: string, now: Date = new Date()): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(cacheDir)) {
    const path = join(cacheDir, name);
    if (!isDirectory || !/^([0-9a-f]{32}|building-.*)$/.test(name)) continue;
    const { mtime } = await Deno.stat(path);
    const maxAgeMs = name.startsWith("building-") ? MAX_BUILD_MS : MAX_AGE_MS;
    if (!mtime || now.getTime() - mtime.getTime() <= maxAgeMs) continue;
    await Deno.remove(path, { recursive: true }).catch(() => {}); // another process was faster
    await Deno.remove(`${path}.lock`).catch(() => {}); // a build that ended early has none
  }
}
