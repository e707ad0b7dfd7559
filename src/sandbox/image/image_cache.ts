/**
 * The cache of base images: one folder for each image, whose name is a hash of all that the image depends on.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { errorMessage, SandboxError } from "../../errors.ts";
import { sha256 } from "../../hash.ts";
import { openToSandboxes } from "./build_child.ts";
import { supervisorModules } from "./guest_sources.ts";
import {
  type BaseImage,
  type FileStamp,
  type ImageBuildOptions,
  type ImageManifest,
  MANIFEST,
} from "./image_build.ts";
import { pinnedImages } from "./image_pins.ts";

/** Options of {@linkcode ensureImage}. */
export interface BaseImageOptions {
  /** Cache directory, which is created if missing. */
  readonly cacheDir: string;
  /** Called before an image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  /** Cancels a running build. */
  signal?: AbortSignal | undefined;
}

/** Returns the name of the folder of an image. */
export async function imageName(inputs: object): Promise<string> {
  return (await sha256(JSON.stringify(inputs))).slice(0, 32);
}

type Build = (options: ImageBuildOptions) => Promise<ImageManifest>;

/**
 * Returns an image from the cache, where its name is a hash of `inputs`, or builds the image. If several
 * processes need the same image at the same time, one process builds the image and the others wait.
 *
 * @throws {SandboxError} if the image cannot be built, or if other users may write to the cache directory.
 */
export async function ensureImage(
  inputs: object,
  options: BaseImageOptions & { build: Build },
): Promise<BaseImage> {
  await requirePrivate(options.cacheDir);
  const directory = join(options.cacheDir, await imageName(inputs));
  const cached = await readImage(directory);
  if (cached) {
    await recordUse(directory);
    return cached;
  }
  using lock = await openLock(`${directory}.lock`);
  await lock.lock(true);
  const built = await readImage(directory);
  if (built) return built;
  options.signal?.throwIfAborted();
  options.onBuild?.();
  return await buildInto(directory, options);
}

/**
 * Returns true if no file of an image has changed since the manifest was written. The hashes of the files,
 * which detect damage, need not be computed then. The hashes are no protection from a user who may write to
 * the folder, as the manifest is in the folder.
 */
export function isUnchanged({ directory, files }: Pick<BaseImage, "directory" | "files">): boolean {
  try {
    return Object.entries(files).every(([name, [bytes, changedMs]]) => {
      const [size, time] = stampOf(Deno.lstatSync(join(directory, name)));
      return size === bytes && time === changedMs;
    });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function stampOf({ size, mtime }: Deno.FileInfo): FileStamp {
  return [size, mtime?.getTime() ?? 0];
}

/** Permission bit of a directory that every user may write to. */
const WRITABLE_BY_OTHERS = 0o002;

/** Refuses a directory to which other users may write: they could replace the code of all sandboxes. */
async function requirePrivate(cacheDir: string): Promise<void> {
  const info = await Deno.stat(cacheDir).catch(() => undefined); // it is created later, or cannot be used at all
  const mode = info?.mode ?? 0;
  if ((mode & WRITABLE_BY_OTHERS) === 0) return;
  throw new SandboxError(
    `Cannot use cache of base images as only its owner may write to '${cacheDir}': its mode is ${
      (mode & 0o7777).toString(8)
    }; run chmod go-w '${cacheDir}', or give another folder with --cache-dir`,
  );
}

/** Removes the manifest of a damaged image, so that the next request builds the image again. */
export async function dropBaseImage({ directory }: Pick<BaseImage, "directory">): Promise<void> {
  await Deno.remove(join(directory, MANIFEST)).catch(() => {}); // another process has removed it
}

async function openLock(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await Deno.open(path, { create: true, write: true });
  } catch (cause) {
    throw new SandboxError(
      `Cannot cache base images as '${dirname(path)}' must be a writable directory: ${errorMessage(cause)}`,
      { cause },
    );
  }
}

async function buildInto(
  directory: string,
  { build, signal }: { build: Build; signal?: AbortSignal | undefined },
): Promise<BaseImage> {
  await Deno.remove(directory, { recursive: true }).catch(() => {}); // usually there is none
  const buildDir = await Deno.makeTempDir({ dir: dirname(directory), prefix: "building-" });
  try {
    const manifest = await build({ directory: buildDir, signal });
    const files: Record<string, FileStamp> = {};
    for await (const { name } of Deno.readDir(buildDir)) {
      files[name] = stampOf(await Deno.lstat(join(buildDir, name)));
    }
    const text = JSON.stringify({ manifest, files });
    await Deno.writeTextFile(join(buildDir, MANIFEST), `${await sha256(text)}\n${text}`);
    await openToSandboxes(buildDir);
    await Deno.rename(buildDir, directory);
    await removeStaleImages(dirname(directory));
    return { directory, manifest, files };
  } catch (error) {
    await Deno.remove(buildDir, { recursive: true });
    throw error;
  }
}

/** Returns the image of a folder, unless the manifest is missing or damaged or the supervisor's files are. */
async function readImage(directory: string): Promise<BaseImage | undefined> {
  try {
    const [digest = "", text = ""] = (await Deno.readTextFile(join(directory, MANIFEST))).split("\n");
    if (await sha256(text) !== digest) return undefined;
    const unchanged = await Promise.all(
      supervisorModules().map(async ({ name, source }) =>
        await Deno.readTextFile(join(directory, name)) === source
      ),
    );
    return unchanged.every(Boolean) ? { directory, ...JSON.parse(text) } : undefined;
  } catch (error) {
    const missing = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
    if (missing) return undefined;
    throw error;
  }
}

const DAY_MS = 24 * 3_600_000;

/** Images that no sandbox has used for this long are removed: they belong to an old version. */
const MAX_AGE_MS = 30 * DAY_MS;

/** Directories of builds that are older than this are removed: no build takes more than some minutes. */
const MAX_BUILD_MS = 3_600_000;

/** Records that an image is in use, at most once a day. */
export async function recordUse(directory: string, now: Date = new Date()): Promise<void> {
  const { mtime } = await Deno.stat(directory);
  if (mtime && now.getTime() - mtime.getTime() <= DAY_MS) return;
  await Deno.utime(directory, now, now).catch(() => {}); // a read-only cache can be used too
}

/**
 * Removes images that were not used for a month and are not pinned, and the directories of failed builds.
 * Ignores directories that cannot be removed.
 */
export async function removeStaleImages(cacheDir: string, now: Date = new Date()): Promise<void> {
  const pinned = await pinnedImages(cacheDir);
  for await (const { name, isDirectory } of Deno.readDir(cacheDir)) {
    const path = join(cacheDir, name);
    if (!isDirectory || pinned.has(name) || !/^([0-9a-f]{32}|building-.*)$/.test(name)) continue;
    const { mtime } = await Deno.stat(path);
    const maxAgeMs = name.startsWith("building-") ? MAX_BUILD_MS : MAX_AGE_MS;
    if (!mtime || now.getTime() - mtime.getTime() <= maxAgeMs) continue;
    await Deno.remove(path, { recursive: true }).catch(() => {}); // another process has removed it
    await Deno.remove(`${path}.lock`).catch(() => {}); // a failed build has none
  }
}
