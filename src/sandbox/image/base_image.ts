import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { SandboxError } from "../../errors.ts";
import type { Profile } from "../profile/profile.ts";
import { sha256 } from "../../hash.ts";
import {
  pythonSources,
  SHELL_ENGINE,
  shellModules,
  supervisorModules,
  workerModules,
} from "./guest_sources.ts";
import { buildBaseImage, type ImageManifest } from "./image_build.ts";
import { mountDigests } from "./image_files.ts";
import { PYODIDE_VERSION } from "./pyodide.ts";

/** A base image in the cache, ready to start sandboxes from. */
export interface BaseImage {
  readonly directory: string;
  readonly manifest: ImageManifest;
}

/** Where base images are kept, and how an image is known to be on its way. */
export interface BaseImageOptions {
  /** The folder of the cache; it is made when missing. */
  readonly cacheDir: string;
  /** Called once before an image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  /** Cancels a build that is under way. */
  signal?: AbortSignal | undefined;
}

const MANIFEST = "manifest.json";

/** Counted up when the host makes an image's files in another way than before. */
const IMAGE_FORMAT = 3;

/**
 * Finds the base image of a profile in the cache, or builds it. Processes that want the same one at the
 * same time wait for the first.
 *
 * @throws {SandboxError} when it cannot be built.
 */
export async function baseImage(profile: Profile, options: BaseImageOptions): Promise<BaseImage> {
  const directory = join(options.cacheDir, await imageKey(profile));
  const cached = await readManifest(directory);
  if (cached) {
    await noteUse(directory);
    return { directory, manifest: cached };
  }
  using lock = await openLock(`${directory}.lock`);
  await lock.lock(true);
  const built = await readManifest(directory);
  if (built) return { directory, manifest: built };
  options.signal?.throwIfAborted();
  options.onBuild?.();
  return { directory, manifest: await build(profile, directory, options.signal) };
}

/** Forgets an image that proved damaged, so that the next request builds it again. */
export async function dropBaseImage({ directory }: BaseImage): Promise<void> {
  await Deno.remove(join(directory, MANIFEST)).catch(() => {}); // another process was faster
}

async function openLock(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await Deno.open(path, { create: true, write: true });
  } catch (cause) {
    throw new SandboxError(
      `Cannot cache base images as '${dirname(path)}' must be a folder that can be written`,
      {
        cause,
      },
    );
  }
}

async function build(profile: Profile, directory: string, signal?: AbortSignal): Promise<ImageManifest> {
  await Deno.remove(directory, { recursive: true }).catch(() => {}); // usually there is none
  const workshop = await Deno.makeTempDir({ dir: dirname(directory), prefix: "building-" });
  try {
    const manifest = await buildBaseImage(profile, { directory: workshop, signal });
    const text = JSON.stringify(manifest);
    await Deno.writeTextFile(join(workshop, MANIFEST), `${await sha256(text)}\n${text}`);
    await Deno.rename(workshop, directory);
    await removeStaleImages(dirname(directory));
    return manifest;
  } catch (error) {
    await Deno.remove(workshop, { recursive: true });
    throw error;
  }
}

/** Everything that the image depends on; what is not in here must not change it. */
async function imageKey(profile: Profile): Promise<string> {
  const inputs = {
    pyodide: PYODIDE_VERSION,
    format: IMAGE_FORMAT,
    deno: Deno.version.deno,
    supervisor: supervisorModules(),
    worker: workerModules(),
    python: pythonSources(profile),
    shell: profile.shell ? [SHELL_ENGINE, import.meta.resolve("just-bash/browser"), shellModules()] : [],
    preimports: profile.preimports,
    packages: profile.packages.map(({ name, sha256 }) => [name, sha256]),
    ...(profile.preload && { preload: profile.preload }),
    ...(profile.preload && !profile.preload.ignoresMounts && { mounts: await mountDigests(profile.mounts) }),
  };
  return (await sha256(JSON.stringify(inputs))).slice(0, 32);
}

/** The manifest when it is there and whole, and so are the supervisor's files. */
async function readManifest(directory: string): Promise<ImageManifest | undefined> {
  try {
    const [digest = "", text = ""] = (await Deno.readTextFile(join(directory, MANIFEST))).split("\n");
    if (await sha256(text) !== digest) return undefined;
    const whole = await Promise.all(
      supervisorModules().map(async ({ name, source }) =>
        await Deno.readTextFile(join(directory, name)) === source
      ),
    );
    return whole.every(Boolean) ? JSON.parse(text) as ImageManifest : undefined;
  } catch (error) {
    const missing = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
    if (missing) return undefined;
    throw error;
  }
}

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

/** Where base images are kept unless the caller says otherwise: below the user's home. */
export function defaultCacheDir(): string {
  return join(homedir(), ".cache", "paddock");
}
