import { satisfies } from "@renovatebot/pep440";
import * as z from "zod";
import { PLATFORM } from "../../sandbox/image/native_libraries.ts";
import type { DistributionLock } from "../../sandbox/image/pyodide.ts";
import { isPackageFileName } from "../../sandbox/profile/packages.ts";
import { UsageError } from "../cli_errors.ts";

/** A package that a resolver has chosen. */
export interface ResolvedPackage {
  /** Normalized name. */
  readonly name: string;
  readonly version: string;
  /** Name of the wheel. */
  readonly file: string;
  readonly sha256: string;
  /** Normalized names of the packages that the package needs on this platform. */
  readonly requires: readonly string[];
  readonly yanked: boolean;
  /** Address of the file. Absent if the resolver also downloads. */
  readonly url?: string | undefined;
}

/** Options of {@linkcode PackageResolver.resolve}. */
export interface ResolveOptions {
  /** Requirements in the form `name[extras]>=version`. */
  readonly requirements: readonly string[];
  /** Requirements of packages that are chosen only if another package needs them. */
  readonly constraints: readonly string[];
  /** Wheels that are already downloaded, by name and path. They need no index. */
  readonly stored: readonly { readonly file: string; readonly path: string }[];
  readonly lock: DistributionLock;
  /** Address of the files of Pyodide's distribution. Without an address, the distribution's packages cannot be chosen. */
  readonly pyodideUrl?: string | undefined;
  readonly signal: AbortSignal;
}

/** Progress of the download of a file, in bytes. */
export interface DownloadProgress {
  readonly done: number;
  /** Absent if the server does not state the size. */
  readonly total?: number | undefined;
}

/** Options of {@linkcode PackageResolver.download}. */
export interface DownloadOptions {
  readonly onProgress: (progress: DownloadProgress) => void;
  readonly signal: AbortSignal;
}

/** A file to download. */
export type WantedFile = Pick<ResolvedPackage, "name" | "version" | "file" | "sha256" | "url">;

/** Chooses packages for the platform of the sandbox, and downloads their files from a package index. */
export interface PackageResolver {
  /** @throws {ResolutionError} if there is no solution. */
  resolve(options: ResolveOptions): Promise<readonly ResolvedPackage[]>;
  /**
   * Returns the contents of files by their names.
   *
   * @throws {ResolutionError} if a file cannot be downloaded or has another hash.
   */
  download(files: readonly WantedFile[], options: DownloadOptions): Promise<ReadonlyMap<string, Uint8Array>>;
  /**
   * Returns the contents of a source distribution, or undefined if the index serves no file with the stated hash and at
   * most {@linkcode MAX_SOURCE_BYTES}.
   */
  fetchSource(source: SourceLink, options: { readonly signal: AbortSignal }): Promise<Uint8Array | undefined>;
}

/** A requirement that cannot be met. */
export interface FailedRequirement {
  readonly requirement: string;
  readonly package: string;
  /** Name and version of the package that has the requirement; null for a requirement of the user. */
  readonly neededBy: string | null;
  /** A wheel of another platform that the index has. */
  readonly found: string | null;
  /** Newest source distribution that meets the requirement. Only for a missing wheel. */
  readonly source?: SourceLink | null | undefined;
}

/** Maximum size of a source distribution that is built, in bytes. */
export const MAX_SOURCE_BYTES = 32 * 1024 * 1024;

/** Where a resolver has found a source distribution. */
export interface SourceLink {
  readonly file: string;
  readonly url: string;
  readonly sha256: string;
}

/** Reason why packages cannot be resolved or downloaded, in a resolver's form. */
export type Failure =
  /** No usable wheel meets these requirements. */
  | { readonly kind: "missing"; readonly causes: readonly FailedRequirement[] }
  /** The requirement names an address in place of versions. */
  | { readonly kind: "address" } & FailedRequirement
  | { readonly kind: "conflict"; readonly causes: readonly FailedRequirement[] }
  | { readonly kind: "offline"; readonly address: string | null }
  | { readonly kind: "hash"; readonly package: string | null }
  | { readonly kind: "other"; readonly message: string };

const resolvedSchema = z.object({
  name: z.string(),
  version: z.string(),
  file: z.string(),
  sha256: z.string(),
  requires: z.array(z.string()),
  yanked: z.boolean(),
  url: z.string().optional(),
});

const failedSchema = z.object({
  requirement: z.string(),
  package: z.string(),
  neededBy: z.string().nullable(),
  found: z.string().nullable(),
});
const missingSchema = failedSchema.extend({
  source: z.object({ file: z.string(), url: z.string(), sha256: z.string() }).nullish(),
});

/** Schema of a {@linkcode Failure}, in a resolver's form. */
export const resolutionFailureSchema: z.core.$ZodType<Failure> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("missing"), causes: z.array(missingSchema) }),
  failedSchema.extend({ kind: z.literal("address") }),
  z.object({ kind: z.literal("conflict"), causes: z.array(failedSchema) }),
  z.object({ kind: z.literal("offline"), address: z.string().nullable() }),
  z.object({ kind: z.literal("hash"), package: z.string().nullable() }),
  z.object({ kind: z.literal("other"), message: z.string() }),
]);

/** Schema of the packages that a resolver has chosen. */
export const resolvedPackagesSchema: z.core.$ZodType<readonly ResolvedPackage[]> = z.array(resolvedSchema);

/** Error of packages that cannot be resolved or downloaded. The exit code is 2. */
export class ResolutionError extends UsageError {
  readonly failure: Failure;

  /**
   * @param lock Distribution whose packages the message names.
   * @param note Further reason, behind the message.
   */
  constructor(failure: Failure, lock?: DistributionLock, note = "") {
    super(failureText(failure, lock) + note);
    this.failure = failure;
  }
}

function failureText(failure: Failure, lock?: DistributionLock): string {
  switch (failure.kind) {
    case "missing":
      return `Cannot add ${
        decisiveCauses(failure.causes, lock).map((cause) =>
          `'${cause.package}'${neededByText(cause)} as ${missingReason(cause, lock)}`
        ).join("; nor ")
      }`;
    case "address":
      return `Cannot add '${failure.package}'${
        neededByText(failure)
      } as packages come from the index only, and ` +
        `the requirement names an address: ${failure.requirement}`;
    case "conflict":
      return `Cannot add the packages as their requirements exclude each other: ${
        failure.causes.map(({ requirement, neededBy }) =>
          neededBy === null ? `${requirement} is requested` : `${neededBy} needs ${requirement}`
        ).join(", ")
      }`;
    case "offline":
      return `Cannot reach the package index${failure.address === null ? "" : ` at ${failure.address}`}: ` +
        "check the network and the configuration of pip";
    case "hash":
      return `Cannot download ${
        failure.package === null ? "a package" : `'${failure.package}'`
      } as its file must have the recorded sha256: the index serves another file`;
    case "other":
      return `Cannot resolve packages: ${failure.message}`;
  }
}

/** Returns the requirements that Pyodide's distribution does not meet either; all, if the distribution meets all. */
function decisiveCauses(
  causes: readonly FailedRequirement[],
  lock: DistributionLock | undefined,
): readonly FailedRequirement[] {
  const unmet = lock === undefined ? [] : causes.filter((cause) => !isDistributed(cause, lock));
  return unmet.length > 0 ? unmet : causes;
}

function neededByText({ neededBy }: FailedRequirement): string {
  return neededBy === null ? "" : `, which ${neededBy} needs,`;
}

function missingReason(failure: FailedRequirement, lock?: DistributionLock): string {
  const { package: name, requirement, found } = failure;
  const distributed = lock?.packages[name];
  if (lock !== undefined && distributed !== undefined && isDistributed(failure, lock)) {
    return `'${requirement}' is not in the index for this platform, but Pyodide's distribution has ` +
      `${name} ${distributed.version}: add --yes to download from there, or give a mirror with --pyodide-url`;
  }
  const needs = `'${requirement}' needs a pure wheel or one for ${PLATFORM}`;
  const other = distributed === undefined
    ? ""
    : `, and Pyodide's distribution has ${name} ${distributed.version}`;
  return `${needs}: ${found === null ? "the index has none" : `found '${found}'`}${other}`;
}

/** Returns whether the distribution has a package in a version that a requirement allows. */
export function isDistributed(
  { package: name, requirement }: Pick<FailedRequirement, "package" | "requirement">,
  { packages }: DistributionLock,
): boolean {
  const version = packages[name]?.version;
  const [, range = ""] = /^[\w.-]+ *(?:\[[^\]]*\])? *(.*)$/.exec(requirement) ?? [];
  return version !== undefined && (range === "" || satisfies(version, range.replaceAll(" and ", ",")));
}

/**
 * Checks that the name of each package's file is a plain name. An index states the names, and files are stored and read
 * by them.
 *
 * @throws {ResolutionError} if the name of a file could name a path, or another kind of file.
 */
export function requireFileNames(packages: readonly ResolvedPackage[]): void {
  const wrong = packages.find(({ file }) => !isPackageFileName(file));
  if (wrong === undefined) return;
  const message =
    `the file of ${wrong.name} ${wrong.version} must have a name of letters, digits and . _ + ! - ` +
    `that ends in .whl or .zip: the index names it ${JSON.stringify(wrong.file.slice(0, 200))}`;
  throw new ResolutionError({ kind: "other", message });
}

/**
 * Returns an error for the first of the packages that was yanked, which means that the publisher has withdrawn the
 * package.
 *
 * @throws {UsageError} if there is such a package.
 */
export function requireNotYanked(packages: readonly ResolvedPackage[]): void {
  const yanked = packages.find((found) => found.yanked);
  if (yanked === undefined) return;
  throw new UsageError(
    `Cannot add '${yanked.name}' as its version ${yanked.version} was yanked: choose another version`,
  );
}
