import { isNativeLibrary, linkLibraries } from "../../sandbox/image/native_libraries.ts";
import { readPackageFiles } from "../../sandbox/image/image_files.ts";
import { isIntact, isStored, storeFile, storePath } from "../../sandbox/image/package_store.ts";
import { type DistributionLock, readDistributionLock, readPyodide } from "../../sandbox/image/pyodide.ts";
import { normalizeName, type PackageFile } from "../../sandbox/profile/packages.ts";
import { rethrowAsUsageError, UsageError } from "../errors.ts";
import { fetchFile, neededSharedLibraries } from "./distribution.ts";
import { ProgressBar } from "./progress.ts";
import { requirementName } from "./requirement.ts";
import {
  type Failure,
  type PackageResolver,
  requireFileNames,
  requireNotYanked,
  ResolutionError,
  type ResolvedPackage,
} from "./resolution.ts";

/** Everything that is needed to resolve and download packages. */
export interface Installation {
  readonly cacheDir: string;
  /** Returns the resolver. Called only if an index is needed. */
  readonly resolver: () => Promise<PackageResolver>;
  /** Returns the lock file of the distribution. @default that of this version */
  readonly lock?: () => Promise<DistributionLock>;
  /** Address of the files of Pyodide's distribution, with a slash at its end. */
  readonly pyodideUrl?: string | undefined;
  readonly signal: AbortSignal;
}

/** The packages of a profile and the requirements that they must meet. */
export interface WantedPackages {
  /** Requirements of the user. A later one replaces an earlier one of the same package. */
  readonly requirements: readonly string[];
  /** Packages whose versions are kept if they can be. */
  readonly pinned: readonly PackageFile[];
}

/**
 * Chooses the packages for requirements, with all that they need.
 *
 * @throws {UsageError} if there is no solution, or a chosen version was yanked.
 */
export async function resolvePackages(wanted: WantedPackages, options: Installation): Promise<PackageFile[]> {
  const roots = new Map(wanted.requirements.map((text) => [requirementName(text), text]));
  if (roots.size === 0) return [];
  const { lock = readDistributionLock } = options;
  const resolved = await chooseVersions([...roots.values()], { ...options, ...wanted, lock });
  requireFileNames(resolved);
  requireNotYanked(resolved);
  return toPackageFiles(resolved, roots, await lock());
}

/** Keeps the pinned versions if they can be kept. */
async function chooseVersions(
  requirements: readonly string[],
  options: Installation & { pinned: readonly PackageFile[]; lock: () => Promise<DistributionLock> },
): Promise<readonly ResolvedPackage[]> {
  const { cacheDir, pinned, pyodideUrl, signal } = options;
  const resolver = await options.resolver();
  const constraints = pinned.map(({ name, stored }) => `${name}==${stored?.version}`);
  const stored: { file: string; path: string }[] = [];
  for (const { path: file, sha256 } of pinned) {
    const path = storePath(cacheDir, sha256);
    if (file.endsWith(".whl") && await isStored(cacheDir, sha256)) stored.push({ file, path });
  }
  const request = { requirements, constraints, stored, lock: await options.lock(), pyodideUrl, signal };
  try {
    return await resolver.resolve(request);
  } catch (error) {
    if (!(error instanceof ResolutionError) || !mayBePinned(error.failure, pinned)) throw error;
    return await resolver.resolve({ ...request, constraints: [] }); // with other versions of what is there
  }
}

/** True if another choice of the pinned versions may be a solution. */
function mayBePinned(failure: Failure, pinned: readonly PackageFile[]): boolean {
  if (failure.kind === "conflict") return pinned.length > 0;
  return failure.kind === "missing" && pinned.some(({ name }) => name === failure.package);
}

function toPackageFiles(
  resolved: readonly ResolvedPackage[],
  roots: ReadonlyMap<string, string>,
  lock: DistributionLock,
): PackageFile[] {
  const wheels = resolved.map(({ name, version, file, sha256 }): PackageFile => ({
    name,
    kind: "stored",
    path: file,
    sha256,
    stored: {
      version,
      source: lock.packages[name]?.sha256 === sha256 ? "pyodide" : "index",
      requirement: roots.get(name),
      neededBy: resolved.filter(({ requires }) => requires.includes(name)).map((user) => user.name).sort(),
    },
  }));
  const libraries = neededSharedLibraries(lock, resolved).map(({ entry, neededBy }): PackageFile => ({
    name: normalizeName(entry.name),
    kind: "stored",
    path: entry.file_name,
    sha256: entry.sha256,
    stored: { version: entry.version, source: "pyodide", neededBy },
  }));
  return [...wheels, ...libraries].sort((a, b) => a.name < b.name ? -1 : 1);
}

/**
 * Downloads the files that the package store does not have, or has with other contents.
 *
 * @returns the packages whose files were downloaded.
 * @throws {UsageError} if a file cannot be downloaded or has another hash.
 */
export async function downloadPackages(
  packages: readonly PackageFile[],
  options: Installation,
): Promise<PackageFile[]> {
  const { cacheDir, signal } = options;
  const missing: PackageFile[] = [];
  for (const file of packages) {
    if (file.kind === "stored" && !await isIntact(cacheDir, file.sha256)) missing.push(file);
  }
  await using progress = new ProgressBar();
  const indexed = missing.filter(({ stored }) => stored?.source === "index");
  if (indexed.length > 0) {
    progress.start(`Downloading ${indexed.length} packages`);
    const files = indexed.map(({ name, path, sha256, stored }) => ({
      name,
      version: stored?.version ?? "",
      file: path,
      sha256,
    }));
    const resolver = await options.resolver();
    const contents = await resolver.download(files, { onProgress: progress.update, signal });
    for (const { file, ...rest } of files) await store(cacheDir, { ...rest, contents: contents.get(file) });
  }
  for (const { name, path, sha256, stored } of missing.filter((file) => !indexed.includes(file))) {
    const url = new URL(path, requirePyodideUrl(name, options)).href;
    progress.start(`Downloading ${name} ${stored?.version}`);
    const contents = await fetchFile(url, { onProgress: progress.update, signal });
    await store(cacheDir, { name, sha256, contents });
  }
  return missing;
}

function requirePyodideUrl(name: string, { pyodideUrl }: Installation): string {
  if (pyodideUrl !== undefined) return pyodideUrl;
  throw new UsageError(
    `Cannot download '${name}' as the address of Pyodide's distribution must be known: give it with --pyodide-url ` +
      "or in PADDOCK_PYODIDE_URL",
  );
}

async function store(
  cacheDir: string,
  { contents = new Uint8Array(), ...file }: {
    name: string;
    sha256: string;
    contents: Uint8Array | undefined;
  },
): Promise<void> {
  await rethrowAsUsageError(() => storeFile(cacheDir, { ...file, contents }));
}

/**
 * Checks that the native libraries of packages can be linked with the interpreter and with each other.
 *
 * @throws {UsageError} if one needs a symbol or a library that nothing provides, or a file is no wheel for the sandbox.
 */
export async function checkPackages(packages: readonly PackageFile[], cacheDir: string): Promise<void> {
  await rethrowAsUsageError(async () => {
    const files = await readPackageFiles(packages, cacheDir);
    const libraries = files.filter(({ path }) => isNativeLibrary(path));
    if (libraries.length > 0) linkLibraries(libraries, (await readPyodide()).wasm);
  }, { kinds: [TypeError] });
}
