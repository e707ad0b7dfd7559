import { dirname, join } from "node:path";
import { errorMessage, SandboxError } from "../../errors.ts";
import type { Profile } from "../profile/profile.ts";
import { sha256 } from "../../hash.ts";
import { DamagedImageError } from "../guest_link.ts";
import {
  COMMON_MODULES,
  hashShell,
  imageExtension,
  PREPARE,
  supervisorModules,
  workerModules,
} from "./guest_sources.ts";
import { openToSandboxes } from "./build_child.ts";
import { OWN_LIBRARY } from "./standard_library.ts";
import {
  type BaseImage,
  buildPlainImage,
  C_STACK_BYTES,
  extendPlainImage,
  type FileStamp,
  type ImageBuildOptions,
  type ImageManifest,
  MANIFEST,
} from "./image_build.ts";
import { hashMounts, readPackageFiles } from "./image_files.ts";
import { pinnedImages } from "./image_pins.ts";
import type { LibraryFile } from "./native_libraries.ts";
import { PYODIDE_VERSION } from "./pyodide.ts";

/** Options of {@linkcode ensureBaseImage}. */
export interface BaseImageOptions {
  /** Cache directory. It is created if it does not exist. */
  readonly cacheDir: string;
  /** Called before an image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  /** Cancels a running build. */
  signal?: AbortSignal | undefined;
}

/** Version of the image's files. Increase it when the host writes them in another way, or with other time zones. */
const IMAGE_FORMAT = 18;

/**
 * Returns the base image of a profile from the cache, or builds it. If several processes need the same image at the
 * same time, one builds it and the others wait.
 *
 * @throws {SandboxError} if it cannot be built, or if other users may write to the cache directory.
 */
export async function ensureBaseImage(profile: Profile, options: BaseImageOptions): Promise<BaseImage> {
  return await ensureImage(await profileInputs(profile), {
    ...options,
    build: async (target) => {
      const packages = await readPackageFiles(profile.packages, options.cacheDir);
      return await buildFromPlainImage(profile, { ...options, ...target, packages });
    },
  });
}

/** Reads the files of an image, by name. */
export async function readImageFiles({ directory, files }: BaseImage): Promise<Map<string, Uint8Array>> {
  const names = Object.keys(files).filter((name) => name !== MANIFEST);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await Deno.readFile(join(directory, name))] as const)),
  );
}

/**
 * Returns the base image of a profile from the cache, or writes it from files that another host has built with the same
 * inputs. Their bytes differ from host to host, and a checkpoint can only be restored with those that it was taken with.
 *
 * @throws {SandboxError} if it cannot be written, or if other users may write to the cache directory.
 */
export async function installBaseImage(
  profile: Profile,
  { manifest, files, ...options }: BaseImageOptions & {
    manifest: ImageManifest;
    files: ReadonlyMap<string, Uint8Array>;
  },
): Promise<BaseImage> {
  return await ensureImage(await profileInputs(profile), {
    ...options,
    build: async ({ directory }) => {
      for (const [name, bytes] of files) await Deno.writeFile(join(directory, name), bytes);
      return manifest;
    },
  });
}

/** Returns the image that those of all profiles are made from. */
export async function ensurePlainImage(options: BaseImageOptions): Promise<BaseImage> {
  return await ensureImage(plainInputs(), { ...options, build: buildPlainImage });
}

/** Builds the image of a profile. If the plain image is damaged, builds that again first. */
async function buildFromPlainImage(
  profile: Profile,
  options: Omit<BaseImageOptions, "onBuild"> & ImageBuildOptions & { packages: readonly LibraryFile[] },
): Promise<ImageManifest> {
  const { cacheDir, signal } = options;
  const plain = await ensurePlainImage({ cacheDir, signal });
  try {
    return await extendPlainImage(plain, profile, options);
  } catch (error) {
    if (!(error instanceof DamagedImageError)) throw error;
    await dropBaseImage(plain);
    return await extendPlainImage(await ensurePlainImage({ cacheDir, signal }), profile, options);
  }
}

/** Returns the name of the folder of a profile's image in the cache; that of the plain image without a profile. */
export async function baseImageName(profile?: Profile): Promise<string> {
  return await imageName(profile === undefined ? plainInputs() : await profileInputs(profile));
}

async function imageName(inputs: object): Promise<string> {
  return (await sha256(JSON.stringify(inputs))).slice(0, 32);
}

type Build = (options: ImageBuildOptions) => Promise<ImageManifest>;

/** Returns an image from the cache, where its name is a hash of `inputs`, or builds it. */
async function ensureImage(
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
 * Returns true if no file of an image has changed since its manifest was written. Their hashes, which detect damage,
 * need not be computed then. They are no protection from a user who may write to the folder, as the manifest is in it.
 */
export function isUnchanged({ directory, files }: BaseImage): boolean {
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

/** Removes the manifest of a damaged image, so that the next request builds it again. */
export async function dropBaseImage({ directory }: BaseImage): Promise<void> {
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

/** Returns everything that the plain image depends on. Nothing else may change it. */
function plainInputs(): object {
  return {
    pyodide: PYODIDE_VERSION,
    format: IMAGE_FORMAT,
    deno: Deno.version.deno,
    supervisor: supervisorModules(),
    worker: workerModules(),
    prepare: PREPARE,
    library: OWN_LIBRARY,
    preimports: COMMON_MODULES,
    cStackBytes: C_STACK_BYTES,
  };
}

/** Returns everything that the image of a profile depends on. Nothing else may change it. */
async function profileInputs(profile: Profile): Promise<object> {
  return {
    plain: plainInputs(),
    extension: imageExtension(profile),
    shell: profile.shell ? [await hashShell(), import.meta.resolve("just-bash/browser")] : [],
    packages: profile.packages.map(({ name, sha256 }) => [name, sha256]),
    ...(profile.preload && !profile.preload.ignoresMounts && { mounts: await hashMounts(profile.mounts) }),
  };
}

/** Returns the image of a folder, unless its manifest is missing or damaged or the supervisor's files are. */
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
 * Removes images that were not used for a month and are not pinned, and the directories of failed builds. Ignores
 * directories that it cannot remove.
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
