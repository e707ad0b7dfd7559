import { basename, dirname, join, resolve } from "node:path";
import * as z from "zod";
import type { Mount } from "../profile/mounts.ts";
import type { PackageFile } from "../profile/packages.ts";
import { sha256 } from "../../hash.ts";
import { ArchiveReader, ArchiveSizeError } from "./archive.ts";
import { isNativeLibrary, isNativeWheel, type LibraryFile, PLATFORM } from "./native_libraries.ts";
import { storePath } from "./package_store.ts";

/** Directory of Python packages, relative to the mount of the library. */
const SITE_PACKAGES = "/python3.14/site-packages";

/**
 * Returns the unpacked files of a profile's packages.
 *
 * @param cacheDir Cache folder with the package store.
 * @throws {PackageError} if a file is missing, does not match its hash, is not a wheel, or contains native code of
 * another platform, or if the packages expand to more than 512 MiB or 20,000 files.
 */
export async function readPackageFiles(
  packages: readonly PackageFile[],
  cacheDir: string,
): Promise<LibraryFile[]> {
  const wheels = await Promise.all(
    packages.map((file) => file.kind === "lock" ? lockedWheels(file) : [toWheel(file, cacheDir)]),
  );
  const archives = new ArchiveReader();
  const files: LibraryFile[] = [];
  for (const wheel of wheels.flat()) files.push(...await unpack(wheel, archives));
  return files;
}

/** A file of a package. */
interface Wheel extends Pick<PackageFile, "name" | "path" | "sha256"> {
  /** Name of the file, with the platforms that it is for. */
  readonly fileName: string;
}

function toWheel({ name, kind, path, sha256 }: PackageFile, cacheDir = ""): Wheel {
  return {
    name,
    sha256,
    path: kind === "stored" ? storePath(cacheDir, sha256) : path,
    fileName: basename(path),
  };
}

/** Wheels of other operating systems, by the platform that ends their name. */
const OTHER_PLATFORM = /-[^-]*(?:linux|macosx|win32|win_|android|ios_)[^-]*\.whl$/;

async function unpack(file: Wheel, archives: ArchiveReader): Promise<LibraryFile[]> {
  const { name, fileName } = file;
  if (OTHER_PLATFORM.test(fileName)) {
    throw new PackageError(name, `it must be for any platform or for ${PLATFORM}: its file is '${fileName}'`);
  }
  const entries = await unzip(name, await readChecked(file), archives);
  const files = Object.entries(entries).filter(([path]) => !path.endsWith("/"));
  if (fileName.endsWith(".zip")) return sharedLibraries(name, files);
  const isOfPlatform = isNativeWheel(fileName);
  return files.map(([path, contents]) => {
    if (isNativeLibrary(path) && !isOfPlatform) {
      throw new PackageError(
        name,
        `its native code must be for ${PLATFORM}: found '${path}' in '${fileName}'`,
      );
    }
    if (path.startsWith("/") || path.split("/").includes("..")) {
      throw new PackageError(name, `it contains a path outside the package: ${path}`);
    }
    return { path: `${SITE_PACKAGES}/${installedPath(path)}`, contents: REPLACED.get(path) ?? contents };
  });
}

/** Returns the path of a wheel's file in the folder of packages. A wheel may have modules in a folder `NAME.data`. */
function installedPath(path: string): string {
  return path.replace(/^[^/]{1,255}\.data\/(?:purelib|platlib)\//, "");
}

/**
 * Files of packages that need a browser. urllib3 replaces its connections by connections of a browser, which a sandbox
 * does not have; without that it uses sockets, and `requests` reports that there is no network by its own error.
 */
const REPLACED: ReadonlyMap<string, Uint8Array> = new Map([
  [
    "urllib3/contrib/emscripten/__init__.py",
    new TextEncoder().encode("def inject_into_urllib3() -> None:\n    pass\n"),
  ],
]);

/**
 * Returns the shared libraries of an archive of Pyodide's distribution, in one folder. Other libraries find them by
 * the name of their file.
 */
function sharedLibraries(name: string, files: readonly [string, Uint8Array][]): LibraryFile[] {
  return files.filter(([path]) => isNativeLibrary(path))
    .map(([path, contents]) => ({ path: `${SITE_PACKAGES}/${name}.libs/${basename(path)}`, contents }));
}

async function unzip(
  name: string,
  bytes: Uint8Array,
  archives: ArchiveReader,
): Promise<Record<string, Uint8Array>> {
  try {
    return await archives.expand(bytes);
  } catch (cause) {
    if (cause instanceof ArchiveSizeError) throw new PackageError(name, cause.message, { cause });
    throw new PackageError(name, "it is not a wheel", { cause });
  }
}

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ file_name: z.string(), sha256: z.string(), depends: z.array(z.string()).default([]) }),
  ),
});

/** Returns the wheels of a package and of all its dependencies, which are in the directory of the lock file. */
async function lockedWheels(lock: PackageFile): Promise<Wheel[]> {
  const packages = parseLock(lock.name, await readChecked(toWheel(lock)));
  const found = new Map<string, Wheel>();
  const pending = [lock.name];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    const entry = packages[name];
    if (!entry) throw new PackageError(lock.name, `'${name}' is not in its lock file`);
    const path = resolve(dirname(lock.path), entry.file_name);
    found.set(name, { name, path, sha256: entry.sha256, fileName: entry.file_name });
    pending.push(...entry.depends);
  }
  return [...found.values()];
}

function parseLock(name: string, bytes: Uint8Array): z.infer<typeof lockSchema>["packages"] {
  try {
    return lockSchema.parse(JSON.parse(new TextDecoder().decode(bytes))).packages;
  } catch (cause) {
    throw new PackageError(name, "its lock file is not one of Pyodide", { cause });
  }
}

async function readChecked(file: Wheel): Promise<Uint8Array> {
  const bytes = await readWheel(file);
  const digest = await sha256(bytes);
  if (digest === file.sha256) return bytes;
  throw new PackageError(file.name, `its sha256 must be ${file.sha256}: current value is ${digest}`);
}

async function readWheel({ name, path, sha256, fileName }: Wheel): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound) || !path.endsWith(`/${sha256}`)) throw cause;
    const reason = `its file '${fileName}' is not downloaded; run 'paddock packages lock' for the profile`;
    throw new PackageError(name, reason, { cause });
  }
}

/** Error of a package file that a profile names: it is missing, damaged, or for another platform. */
export class PackageError extends TypeError {
  override readonly name = "PackageError";

  constructor(packageName: string, reason: string, options?: ErrorOptions) {
    super(`Cannot install package '${packageName}' as ${reason}`, options);
  }
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
