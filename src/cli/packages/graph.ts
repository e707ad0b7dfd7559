import type { PackageFile } from "../../sandbox/profile/packages.ts";
import { UsageError } from "../cli_errors.ts";

/**
 * Returns the packages that remain without some of the user's requirements: packages that another requirement needs.
 *
 * @throws {UsageError} if a package is not in the profile, or only other packages need it.
 */
export function removeRequirements(
  packages: readonly PackageFile[],
  names: readonly string[],
  profile: string,
): PackageFile[] {
  for (const name of names) {
    const { stored } = requirePackage(packages, name, profile);
    if (stored?.requirement !== undefined) continue;
    throw new UsageError(
      `Cannot remove '${name}' as other packages of profile '${profile}' need it: ${
        stored?.neededBy.join(", ")
      }`,
    );
  }
  const without = packages.map((file) => names.includes(file.name) ? withoutRequirement(file) : file);
  const kept = reachablePackages(without);
  return without.filter(({ name }) => kept.has(name)).map((file) => withUsers(file, kept));
}

function withoutRequirement(file: PackageFile): PackageFile {
  return file.stored === undefined ? file : { ...file, stored: { ...file.stored, requirement: undefined } };
}

function withUsers(file: PackageFile, kept: ReadonlySet<string>): PackageFile {
  if (file.stored === undefined) return file;
  return {
    ...file,
    stored: { ...file.stored, neededBy: file.stored.neededBy.filter((user) => kept.has(user)) },
  };
}

/** Returns the names of the packages that the user requires, and of all that those need. */
function reachablePackages(packages: readonly PackageFile[]): Set<string> {
  const found = new Set<string>();
  const pending = packages.filter(({ stored }) => stored?.requirement !== undefined).map(({ name }) => name);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const user = name;
    pending.push(
      ...packages.filter(({ stored }) => stored?.neededBy.includes(user)).map((file) => file.name),
    );
  }
  return found;
}

/**
 * Returns the lines of a tree: the package, the packages that need it, and so on up to the user's requirements. A
 * package that occurs again has no further lines.
 *
 * @throws {UsageError} if the package is not in the profile.
 */
export function whyLines(packages: readonly PackageFile[], name: string, profile: string): string[] {
  requirePackage(packages, name, profile);
  const lines: string[] = [];
  const seen = new Set<string>();
  const visit = (at: string, depth: number) => {
    const file = packages.find((other) => other.name === at);
    const requested = file?.stored?.requirement === undefined
      ? ""
      : ` (requested: ${file.stored.requirement})`;
    lines.push(
      `${"  ".repeat(depth)}${depth > 0 ? "needed by " : ""}${at} ${file?.stored?.version}${requested}`,
    );
    if (seen.has(at)) return;
    seen.add(at);
    for (const user of file?.stored?.neededBy ?? []) visit(user, depth + 1);
  };
  visit(name, 0);
  return lines;
}

function requirePackage(packages: readonly PackageFile[], name: string, profile: string): PackageFile {
  const found = packages.find((file) => file.name === name);
  if (found !== undefined) return found;
  const names = packages.map((file) => file.name).join(", ") || "none";
  throw new UsageError(
    `Cannot find package '${name}' in profile '${profile}': its added packages are ${names}`,
  );
}
