import { z } from "zod";
import { closedObject, string } from "./checks.ts";

/** A Python package, or a lock file of several, that is installed into the base image. */
export interface PackageFile {
  readonly name: string;
  readonly kind: "wheel" | "lock";
  /** Where it is on the host: absolute. */
  readonly path: string;
  /** What the file must hash to, in lower-case hex. */
  readonly sha256: string;
}

const packageSchema = closedObject({
  wheel: string("the path of a .whl file", (path) => /^[^\0]+\.whl$/.test(path)).optional(),
  lock: string("the path of a .json file", (path) => /^[^\0]+\.json$/.test(path)).optional(),
  sha256: string("64 hexadecimal digits", (digest) => /^[0-9A-Fa-f]{64}$/.test(digest)),
}).refine((entry) => (entry.wheel === undefined) !== (entry.lock === undefined), {
  error: "must have either 'wheel' or 'lock'",
});

/** Checks `{ name: { wheel | lock, sha256 } }` and lists it. */
export const packagesSchema: z.ZodType<readonly PackageFile[]> = z.record(
  z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, {
    error: "must have the name of a package",
  }),
  packageSchema,
  { error: "must be an object of package names and files" },
).superRefine((packages, context) => {
  const seen = new Map<string, string>();
  for (const [name, input] of Object.entries(packages)) {
    const other = seen.get(canonical(name));
    if (other === undefined) seen.set(canonical(name), name);
    else context.addIssue({ code: "custom", path: [name], message: sameName(other), input });
  }
}).transform((packages) =>
  Object.entries(packages).map(([name, { wheel, lock, sha256 }]) => ({
    name: canonical(name),
    kind: wheel === undefined ? "lock" : "wheel",
    path: wheel ?? lock ?? "",
    sha256: sha256.toLowerCase(),
  }))
);

function sameName(other: string): string {
  return `must have a name of its own: '${other}' is the same`;
}

/** The one spelling of a package name among those that installers take for equal. */
function canonical(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}
