import * as z from "zod";
import { closedObject, oneOf, string } from "./checks.ts";

/** A Python package that is installed into the base image, from a wheel, by a lock file or from the package store. */
export interface PackageFile {
  readonly name: string;
  readonly kind: "wheel" | "lock" | "stored";
  /** Absolute path of the file on the host. For kind `stored`, the name of the file. */
  readonly path: string;
  /** Required SHA-256 of the file, in lower-case hex. A file in the package store has it as its name. */
  readonly sha256: string;
  /** Only for kind `stored`. */
  readonly stored?: StoredPackage;
}

/** Facts about a package whose file `paddock packages` keeps in the package store. */
export interface StoredPackage {
  readonly version: string;
  /** Origin of the file. */
  readonly source: PackageSource;
  /** Requirement as the user wrote it, such as "pydantic>=2". Absent if only other packages need it. */
  readonly requirement?: string | undefined;
  /** Names of the packages that need it. */
  readonly neededBy: readonly string[];
}

/**
 * Origin of a package's file: a Python package index, the distribution of Pyodide that the interpreter is part of, or a
 * build of a source distribution of the index.
 */
export type PackageSource = "index" | "pyodide" | "built";

const PACKAGE_NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

const packageName = string("the name of a package", (name) => PACKAGE_NAME.test(name));

const packageSchema = closedObject({
  wheel: string("the path of a .whl file", (path) => /^[^\0]+\.whl$/.test(path)).optional(),
  lock: string("the path of a .json file", (path) => /^[^\0]+\.json$/.test(path)).optional(),
  file: string("the name of a .whl or .zip file", isPackageFileName).optional(),
  version: string("a version", (version) => /^[\w.+!-]+$/.test(version)).optional(),
  sha256: string("64 hexadecimal digits", (digest) => /^[0-9A-Fa-f]{64}$/.test(digest)),
  source: oneOf<PackageSource>(["index", "pyodide", "built"]).optional(),
  requirement: string("the requirement of a package", (text) => /^[^\0\n\r]+$/.test(text)).optional(),
  neededBy: z.array(packageName, { error: "must be an array of package names" }).optional(),
}).refine(({ wheel, lock, file }) => [wheel, lock, file].filter((path) => path !== undefined).length === 1, {
  error: "must have one of 'wheel', 'lock' and 'file'",
}).refine(
  ({ file, version, source, requirement, neededBy }) =>
    file === undefined
      ? [version, source, requirement, neededBy].every((value) => value === undefined)
      : version !== undefined && source !== undefined,
  { error: "must have 'version' and 'source' if it has 'file', and only then" },
);

/** Schema of `{ name: { wheel | lock | file, sha256, … } }`. Its result is a list. */
export const packagesSchema: z.core.$ZodType<readonly PackageFile[]> = z.record(
  z.string().regex(PACKAGE_NAME, { error: "must have the name of a package" }),
  packageSchema,
  { error: "must be an object of package names and files" },
).superRefine((packages, context) => {
  const seen = new Map<string, string>();
  for (const [name, input] of Object.entries(packages)) {
    const other = seen.get(normalizeName(name));
    if (other === undefined) seen.set(normalizeName(name), name);
    else context.addIssue({ code: "custom", path: [name], message: duplicateMessage(other), input });
  }
}).transform((packages) =>
  Object.entries(packages).map(([name, { wheel, lock, file, sha256, version, source, ...rest }]) => ({
    name: normalizeName(name),
    kind: file !== undefined ? "stored" : wheel === undefined ? "lock" : "wheel",
    path: file ?? wheel ?? lock ?? "",
    sha256: sha256.toLowerCase(),
    ...(version !== undefined && source !== undefined && {
      stored: { version, source, requirement: rest.requirement, neededBy: rest.neededBy ?? [] },
    }),
  }))
);

function duplicateMessage(other: string): string {
  return `must have a unique name: '${other}' is the same`;
}

/** Returns whether a text is a plain name of a package's file, which cannot leave a folder. */
export function isPackageFileName(name: string): boolean {
  return /^[\w.+!-]+\.(whl|zip)$/.test(name);
}

/** Returns the normalized spelling of a package name, as installers compare names. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}
