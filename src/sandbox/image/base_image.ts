import { join } from "node:path";
import type { ImageExtension } from "../guest/build.ts";
import { DamagedImageError } from "../guest_link.ts";
import type { Profile } from "../profile/profile.ts";
import {
  COMMON_MODULES,
  hashShell,
  imageExtension,
  PREPARE,
  supervisorModules,
  workerModules,
} from "./guest_sources.ts";
import {
  type BaseImage,
  buildPlainImage,
  C_STACK_BYTES,
  extendPlainImage,
  type ImageBuildOptions,
  type ImageManifest,
  MANIFEST,
} from "./image_build.ts";
import { type BaseImageOptions, dropBaseImage, ensureImage, imageName } from "./image_cache.ts";
import { hashMounts, readPackageFiles } from "./image_files.ts";
import { PYODIDE_VERSION } from "./pyodide.ts";
import { OWN_LIBRARY } from "./standard_library.ts";

export { dropBaseImage, isUnchanged } from "./image_cache.ts";
export { SUPERVISOR } from "./build_child.ts";

/**
 * Version of the image's files. Increase the version when the host writes the files in another way, or with
 * other time zones.
 */
const IMAGE_FORMAT = 23;

/** A profile, what the profile adds to the plain image, and all that the profile's image depends on. */
interface ImageRecipe {
  readonly profile: Profile;
  readonly extension: ImageExtension;
  /** What the name of the image is a hash of. Nothing else may change the image. */
  readonly inputs: object;
}

/**
 * Returns the base image of a profile from the cache, or builds the image. If several processes need the same
 * image at the same time, one process builds the image and the others wait.
 *
 * @throws {SandboxError} if the image cannot be built, or if other users may write to the cache directory.
 */
export async function ensureBaseImage(profile: Profile, options: BaseImageOptions): Promise<BaseImage> {
  const recipe = await imageRecipe(profile);
  const build = (target: ImageBuildOptions) => buildFromPlainImage(recipe, { ...options, ...target });
  return await ensureImage(recipe.inputs, { ...options, build });
}

/** Reads the files of an image, by name. */
export async function readImageFiles({ directory, files }: BaseImage): Promise<Map<string, Uint8Array>> {
  const names = Object.keys(files).filter((name) => name !== MANIFEST);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await Deno.readFile(join(directory, name))] as const)),
  );
}

/**
 * Returns the base image of a profile from the cache, or writes the image from files that another host has
 * built with the same inputs. Their bytes differ from host to host, and a checkpoint can only be restored
 * with the files that the checkpoint was taken with.
 *
 * @throws {SandboxError} if the image cannot be written, or if other users may write to the cache directory.
 */
export async function installBaseImage(
  profile: Profile,
  { manifest, files, ...options }: BaseImageOptions & {
    manifest: ImageManifest;
    files: ReadonlyMap<string, Uint8Array>;
  },
): Promise<BaseImage> {
  const { inputs } = await imageRecipe(profile);
  return await ensureImage(inputs, {
    ...options,
    build: async ({ directory }) => {
      for (const [name, bytes] of files) await Deno.writeFile(join(directory, name), bytes);
      return manifest;
    },
  });
}

/** Returns the image from which the images of all profiles are made. */
export async function ensurePlainImage(options: BaseImageOptions): Promise<BaseImage> {
  return await ensureImage(plainInputs(), { ...options, build: buildPlainImage });
}

/**
 * Returns the name of the folder of a profile's image in the cache; without a profile, the folder of the
 * plain image.
 */
export async function baseImageName(profile?: Profile): Promise<string> {
  return await imageName(profile === undefined ? plainInputs() : (await imageRecipe(profile)).inputs);
}

/** Builds the image of a profile. If the plain image is damaged, builds that again first. */
async function buildFromPlainImage(
  { profile, extension }: ImageRecipe,
  { cacheDir, directory, signal }: BaseImageOptions & ImageBuildOptions,
): Promise<ImageManifest> {
  const packages = await readPackageFiles(profile.packages, cacheDir);
  const extend = async (plain: BaseImage) =>
    await extendPlainImage(plain, profile, { directory, signal, extension, packages });
  const plain = await ensurePlainImage({ cacheDir, signal });
  try {
    return await extend(plain);
  } catch (error) {
    if (!(error instanceof DamagedImageError)) throw error;
    await dropBaseImage(plain);
    return await extend(await ensurePlainImage({ cacheDir, signal }));
  }
}

async function imageRecipe(profile: Profile): Promise<ImageRecipe> {
  const extension = imageExtension(profile);
  const readsMounts = profile.preload && !profile.preload.ignoresMounts;
  const inputs = {
    plain: plainInputs(),
    extension,
    shell: profile.shell ? [await hashShell(), import.meta.resolve("just-bash/browser")] : [],
    packages: profile.packages.map(({ name, sha256 }) => [name, sha256]),
    ...(readsMounts && { mounts: await hashMounts(profile.mounts) }),
  };
  return { profile, extension, inputs };
}

/** Returns everything that the plain image depends on. Nothing else may change the image. */
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
