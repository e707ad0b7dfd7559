import { z } from "zod";
import { closedObject, string } from "./checks.ts";

/** A Python package that is installed into the base image, from a wheel or by a lock file. */
export interface PackageFile {
  readonly name: string;
  readonly kind: "wheel" | "lock";
  /** Absolute path of the file on the host. */
  readonly path: string;
  /** Required SHA-256 of the file, in lower-case hex. */
  readonly sha256: string;
}

const packageSchema = closedObject({
  wheel: string("the path of a .whl file", (path) => /^[^\0]+\.whl$/.test(path)).optional(),
  lock: string("the path of a .json file", (path) => /^[^\0]+\.json$/.test(path)).optional(),
  sha256: string("64 hexadecimal digits", (digest) => /^[0-9A-Fa-f]{64}$/.test(digest)),
}).refine((entry) => (entry.wheel === undefined) !== (entry.lock === undefined), {
  error: "must have either 'wheel' or 'lock'",
});

/** Schema of `{ name: { wheel | lock, sha256 } }`. Its result is a list. */
export const packagesSchema: z.ZodType<readonly PackageFile[]> = z.record(
  z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, {
    error: "must have the name of a package",
  }),
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
  Object.entries(packages).map(([name, { wheel, lock, sha256 }]) => ({
    name: normalizeName(name),
    kind: wheel === undefined ? "lock" : "wheel",
    path: wheel ?? lock ?? "",
    sha256: sha256.toLowerCase(),
  }))
);

function duplicateMessage(other: string): string {
  return `must have a unique name: '${other}' is the same`;
}

/** Returns the normalized spelling of a package name, as installers compare names. */
function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}
