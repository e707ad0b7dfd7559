import { isNativeLibrary, linkLibraries } from "../../sandbox/image/native_libraries.ts";
import { readPackageFiles } from "../../sandbox/image/image_files.ts";
import { isIntact, isStored, storeFile, storePath } from "../../sandbox/image/package_store.ts";
import { type DistributionLock, readDistributionLock, readPyodide } from "../../sandbox/image/pyodide.ts";
import { normalizeName, type PackageFile } from "../../sandbox/profile/packages.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { fetchFile, neededSharedLibraries } from "./distribution.ts";
import { ProgressBar } from "./progress.ts";
import { requirementName } from "./requirement.ts";
import {
  type FailedRequirement,
  type Failure,
  isDistributed,
  MAX_SOURCE_BYTES,
  type PackageResolver,
  requireFileNames,
  requireNotYanked,
  ResolutionError,
  type ResolvedPackage,
  type ResolveOptions,
} from "./resolution.ts";
import { BuildError, buildWheel, type BuiltWheel } from "./source_build.ts";

/** Everything that is needed to resolve and download packages. */
export interface Installation {
  readonly cacheDir: string;
  /** Returns the resolver. Called only if an index is needed. */
  readonly resolver: () => Promise<PackageResolver>;
  /** Returns the lock file of the distribution. @default the lock file of this version */
  readonly lock?: () => Promise<DistributionLock>;
  /** Address of the files of Pyodide's distribution, with a slash at the end. */
  readonly pyodideUrl?: string | undefined;
  /** Asks the user, and returns the default address for files of the distribution if the user agrees. */
  readonly offerDistribution?: OfferDistribution | undefined;
  readonly signal: AbortSignal;
}

/** Returns the address of the distribution if the user agrees to download packages from there, or has agreed. */
export type OfferDistribution = (
  names: readonly string[],
  options?: { readonly isAgreed?: boolean },
) => Promise<string | undefined>;

/** The packages of a profile and the requirements that they must meet. */
export interface WantedPackages {
  /** Requirements of the user. A later requirement replaces an earlier requirement of the same package. */
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
  const built = new Set(
    wanted.pinned.flatMap(({ sha256, stored }) => stored?.source === "built" ? [sha256] : []),
  );
  const choose = (pyodideUrl: string | undefined) =>
    chooseVersions([...roots.values()], { ...options, ...wanted, lock, built, pyodideUrl });
  const resolved = await choose(options.pyodideUrl).catch(async (error) => {
    const pyodideUrl = await offerAfter(error, { ...options, lock });
    if (pyodideUrl === undefined) throw error;
    return await choose(pyodideUrl);
  });
  requireFileNames(resolved);
  requireNotYanked(resolved);
  return toPackageFiles(resolved, { roots, built, lock: await lock() });
}

/** Returns the default address of the distribution if the distribution has all missing packages, and the user agrees. */
async function offerAfter(
  error: unknown,
  { pyodideUrl, offerDistribution, lock }: Installation & { lock: () => Promise<DistributionLock> },
): Promise<string | undefined> {
  if (!(error instanceof ResolutionError) || error.failure.kind !== "missing") return undefined;
  const names = error.failure.causes.map((cause) => cause.package);
  const distribution = await lock();
  if (
    pyodideUrl !== undefined || !error.failure.causes.every((cause) => isDistributed(cause, distribution))
  ) {
    return undefined;
  }
  return await offerDistribution?.(names);
}

/** An {@linkcode Installation} that records the SHA-256 of built wheels. */
interface BuildingInstallation extends Installation {
  readonly built: Set<string>;
}

/** Keeps the pinned versions if they can be kept. */
async function chooseVersions(
  requirements: readonly string[],
  options: BuildingInstallation & { pinned: readonly PackageFile[]; lock: () => Promise<DistributionLock> },
): Promise<readonly ResolvedPackage[]> {
  const { cacheDir, pinned, pyodideUrl, signal } = options;
  const constraints = pinned.map(({ name, stored }) => `${name}==${stored?.version}`);
  const stored: { file: string; path: string }[] = [];
  for (const { path: file, sha256 } of pinned) {
    const path = storePath(cacheDir, sha256);
    if (file.endsWith(".whl") && await isStored(cacheDir, sha256)) stored.push({ file, path });
  }
  const request = { requirements, constraints, stored, lock: await options.lock(), pyodideUrl, signal };
  try {
    return await resolveWithSources(request, options);
  } catch (error) {
    if (!(error instanceof ResolutionError) || !mayBePinned(error.failure, pinned)) throw error;
    return await resolveWithSources({ ...request, constraints: [] }, options); // with other versions of what is there
  }
}

/** Maximum number of times that sources are built for a choice: each build may bring further packages. */
const MAX_BUILDS = 8;

/** Resolves, and builds packages that have no usable wheel from their sources, in a sandbox. */
async function resolveWithSources(
  request: ResolveOptions,
  { cacheDir, resolver, built }: BuildingInstallation,
): Promise<readonly ResolvedPackage[]> {
  const wheels = new Map<string, string>();
  const chooser = await resolver();
  for (let round = 0;; round++) {
    const stored = [...request.stored, ...[...wheels].map(([file, path]) => ({ file, path }))];
    try {
      return await chooser.resolve({ ...request, stored });
    } catch (error) {
      if (!(error instanceof ResolutionError) || error.failure.kind !== "missing") throw error;
      if (round === MAX_BUILDS) throw error;
      const causes = toBuildOrder(error.failure.causes, request.lock);
      for (const [index, cause] of causes.entries()) {
        const wheel = await buildOrFail(cause, { ...request, cacheDir, chooser, unmet: causes.slice(index) });
        if (wheels.has(wheel.file)) throw error;
        await store(cacheDir, { ...wheel, name: cause.package });
        built.add(wheel.sha256);
        wheels.set(wheel.file, storePath(cacheDir, wheel.sha256));
      }
    }
  }
}

/**
 * Orders requirements for builds. The first build that fails is the error, so a requirement that nothing can meet comes
 * early: Pyodide's distribution lacks the package, and there may be no source.
 */
function toBuildOrder(causes: readonly FailedRequirement[], lock: DistributionLock): FailedRequirement[] {
  const rank = (cause: FailedRequirement) => (isDistributed(cause, lock) ? 2 : 0) + (cause.source ? 1 : 0);
  return causes.toSorted((a, b) => rank(a) - rank(b));
}

/** Builds the package of a requirement. An error has the requirements that are still unmet. */
async function buildOrFail(
  { package: name, source }: FailedRequirement,
  options: ResolveOptions & {
    cacheDir: string;
    chooser: PackageResolver;
    unmet: readonly FailedRequirement[];
  },
): Promise<BuiltWheel> {
  const { chooser, cacheDir, lock, signal, unmet } = options;
  const failure = { kind: "missing", causes: unmet } as const;
  if (!source) throw new ResolutionError(failure, lock);
  const fetchWheels = async (requirements: readonly string[]) => {
    if (requirements.length === 0) return new Map<string, Uint8Array>();
    const needed = await chooser.resolve({ requirements, constraints: [], stored: [], lock, signal });
    requireFileNames(needed);
    return await chooser.download(needed, { onProgress: () => {}, signal });
  };
  try {
    const contents = await chooser.fetchSource(source, { signal });
    if (contents === undefined) {
      throw new BuildError(
        `the index must serve the file with the stated sha256 and at most ${MAX_SOURCE_BYTES} bytes`,
      );
    }
    const { file } = source;
    return await buildWheel({ name, source: { file, contents }, cacheDir, fetchWheels, signal });
  } catch (cause) {
    if (!(cause instanceof BuildError || cause instanceof ResolutionError)) throw cause;
    throw new ResolutionError(failure, lock, `; '${source.file}' cannot be built as ${cause.message}`);
  }
}

/** True if another choice of the pinned versions may be a solution. */
function mayBePinned(failure: Failure, pinned: readonly PackageFile[]): boolean {
  if (failure.kind === "conflict") return pinned.length > 0;
  return failure.kind === "missing" &&
    pinned.some(({ name }) => failure.causes.some((cause) => cause.package === name));
}

function toPackageFiles(
  resolved: readonly ResolvedPackage[],
  { roots, built, lock }: {
    roots: ReadonlyMap<string, string>;
    built: ReadonlySet<string>;
    lock: DistributionLock;
  },
): PackageFile[] {
  const wheels = resolved.map(({ name, version, file, sha256 }): PackageFile => ({
    name,
    kind: "stored",
    path: file,
    sha256,
    stored: {
      version,
      source: built.has(sha256) ? "built" : lock.packages[name]?.sha256 === sha256 ? "pyodide" : "index",
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
  for (const file of missing.filter(({ stored }) => stored?.source === "built")) {
    progress.start(`Building ${file.name} ${file.stored?.version}`);
    await buildAgain(file, options);
  }
  for (const { name, path, sha256, stored } of missing.filter(({ stored }) => stored?.source === "pyodide")) {
    const url = new URL(path, await requirePyodideUrl(name, options)).href;
    progress.start(`Downloading ${name} ${stored?.version}`);
    const contents = await fetchFile(url, { onProgress: progress.update, signal });
    await store(cacheDir, { name, sha256, contents });
  }
  return missing;
}

/** Builds a package that was built from source on another machine, or whose wheel is lost. */
async function buildAgain({ name, sha256, stored }: PackageFile, options: Installation): Promise<void> {
  const { lock = readDistributionLock, cacheDir, signal } = options;
  const requirement = `${name}==${stored?.version}`;
  const request = { requirements: [requirement], constraints: [], stored: [], lock: await lock(), signal };
  await resolveWithSources(request, { ...options, built: new Set() });
  if (await isIntact(cacheDir, sha256)) return;
  throw new UsageError(
    `Cannot build '${requirement}' again as its wheel must have the recorded sha256: the source or the tools of its ` +
      "build have changed; run 'paddock packages remove' and 'paddock packages add'",
  );
}

async function requirePyodideUrl(
  name: string,
  { pyodideUrl, offerDistribution }: Installation,
): Promise<string> {
  const url = pyodideUrl ?? await offerDistribution?.([name]);
  if (url !== undefined) return url;
  throw new UsageError(
    `Cannot download '${name}' as a download from Pyodide's distribution needs agreement: add --yes, or give the ` +
      "address of a mirror with --pyodide-url or in PADDOCK_PYODIDE_URL",
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
 * @throws {UsageError} if a library needs a symbol or a library that nothing provides, or a file is no wheel for the
 * sandbox.
 */
export async function checkPackages(packages: readonly PackageFile[], cacheDir: string): Promise<void> {
  await rethrowAsUsageError(async () => {
    const files = await readPackageFiles(packages, cacheDir);
    const libraries = files.filter(({ path }) => isNativeLibrary(path));
    if (libraries.length > 0) linkLibraries(libraries, (await readPyodide()).wasm);
  }, { kinds: [TypeError] });
}
