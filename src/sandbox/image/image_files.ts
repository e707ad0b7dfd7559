import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { Mount } from "../profile/mounts.ts";
import type { PackageFile } from "../profile/packages.ts";
import { sha256 } from "../../hash.ts";
import { isNativeLibrary, isNativeWheel, type LibraryFile, PLATFORM } from "./native_libraries.ts";

/** Directory of Python packages, relative to the mount of the library. */
const SITE_PACKAGES = "/python3.14/site-packages";

/**
 * Returns the unpacked files of a profile's packages.
 *
 * @throws {TypeError} if a file does not match its hash, is not a wheel, or contains native code of another platform.
 */
export async function readPackageFiles(packages: readonly PackageFile[]): Promise<LibraryFile[]> {
  const wheels = await Promise.all(
    packages.map((file) => file.kind === "wheel" ? [file] : lockedWheels(file)),
  );
  const files = await Promise.all(wheels.flat().map(unpack));
  return files.flat();
}

async function unpack(file: Pick<PackageFile, "name" | "path" | "sha256">): Promise<LibraryFile[]> {
  const entries = await unzip(file.name, await readChecked(file));
  const isOfPlatform = isNativeWheel(file.path);
  return Object.entries(entries).filter(([path]) => !path.endsWith("/")).map(([path, contents]) => {
    if (isNativeLibrary(path) && !isOfPlatform) {
      const found = basename(file.path);
      throw new TypeError(
        packageError(file.name, `its native code must be for ${PLATFORM}: found '${path}' in '${found}'`),
      );
    }
    if (path.startsWith("/") || path.split("/").includes("..")) {
      throw new TypeError(packageError(file.name, `it contains a path outside the package: ${path}`));
    }
    return { path: `${SITE_PACKAGES}/${path}`, contents };
  });
}

async function unzip(name: string, bytes: Uint8Array): Promise<Record<string, Uint8Array>> {
  const { unzipSync } = await import("fflate"); // only profiles with packages need it
  try {
    return unzipSync(bytes);
  } catch (cause) {
    throw new TypeError(packageError(name, "it is not a wheel"), { cause });
  }
}

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ file_name: z.string(), sha256: z.string(), depends: z.array(z.string()).default([]) }),
  ),
});

/** Returns the wheels of a package and of all its dependencies, which are in the directory of the lock file. */
async function lockedWheels(lock: PackageFile): Promise<Pick<PackageFile, "name" | "path" | "sha256">[]> {
  const { packages } = lockSchema.parse(JSON.parse(new TextDecoder().decode(await readChecked(lock))));
  const found = new Map<string, Pick<PackageFile, "name" | "path" | "sha256">>();
  const pending = [lock.name];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    const entry = packages[name];
    if (!entry) throw new TypeError(packageError(lock.name, `'${name}' is not in its lock file`));
    const path = resolve(dirname(lock.path), entry.file_name);
    found.set(name, { name, path, sha256: entry.sha256 });
    pending.push(...entry.depends);
  }
  return [...found.values()];
}

async function readChecked(file: Pick<PackageFile, "name" | "path" | "sha256">): Promise<Uint8Array> {
  const bytes = await Deno.readFile(file.path);
  const digest = await sha256(bytes);
  if (digest === file.sha256) return bytes;
  throw new TypeError(
    packageError(file.name, `its sha256 must be ${file.sha256}: current value is ${digest}`),
  );
}

function packageError(name: string, reason: string): string {
  return `Cannot install package '${name}' as ${reason}`;
}

/** Directory of compiled files that Python writes. They depend only on the sources. */
const BYTECODE_CACHE = "__pycache__";

/** Returns one string with path and hash for each mounted file, sorted. It changes if a path or a file changes. */
export async function hashMounts(mounts: readonly Mount[]): Promise<string[]> {
  const digests: string[] = [];
  for (const { guestPath, hostPath } of mounts) {
    for (const path of await filesBelow(hostPath, "")) {
      const digest = await sha256(await Deno.readFile(join(hostPath, path)));
      digests.push(`${guestPath}${path} ${digest}`);
    }
  }
  return digests.sort();
}

/** Returns the paths of a mount's files, relative to the mount. For a mounted file that is the empty path. */
async function filesBelow(root: string, inside: string): Promise<string[]> {
  const at = join(root, inside);
  if (!(await Deno.stat(at)).isDirectory) return [inside];
  const found: string[] = [];
  for await (const entry of Deno.readDir(at)) {
    if (entry.name === BYTECODE_CACHE) continue;
    if (entry.isFile) found.push(`${inside}/${entry.name}`);
    else if (entry.isDirectory) found.push(...await filesBelow(root, `${inside}/${entry.name}`));
  }
  return found;
}
