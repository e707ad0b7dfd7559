import { join } from "node:path";
import * as z from "zod";
import { sha256 } from "../../hash.ts";
import { isStored } from "../../sandbox/image/package_store.ts";
import { PYODIDE_VERSION } from "../../sandbox/image/pyodide.ts";
import type { PackageFile } from "../../sandbox/profile/packages.ts";
import type { Profile } from "../../sandbox/profile/profile.ts";
import { downloadPackages, type Installation, resolvePackages } from "./install.ts";
import { readProgramRequirements } from "./program_requirements.ts";

/** Folder of the cache with the packages that were chosen for programs. */
const CHOICES = "requirements";

const choiceSchema: z.core.$ZodType<PackageFile[]> = z.array(z.object({
  name: z.string(),
  kind: z.literal("stored"),
  path: z.string(),
  sha256: z.string(),
  stored: z.object({
    version: z.string(),
    source: z.enum(["index", "pyodide", "built"]),
    requirement: z.string().optional(),
    neededBy: z.array(z.string()),
  }),
}));

/**
 * Returns a profile that also has the packages which a program names. The choice of their versions is cached: the same
 * requirements have the same packages afterwards, without a network.
 *
 * @param path Path of the program.
 * @throws {UsageError} if the program names no packages, or they cannot be resolved or downloaded.
 */
export async function withProgramPackages(
  profile: Profile,
  path: string,
  installation: Installation,
): Promise<Profile> {
  return await withRequirements(profile, await readProgramRequirements(path), installation);
}

/**
 * Returns a profile that also has packages. The choice of their versions is cached.
 *
 * @throws {UsageError} if the packages cannot be resolved or downloaded.
 */
export async function withRequirements(
  profile: Profile,
  wanted: readonly string[],
  installation: Installation,
): Promise<Profile> {
  if (wanted.length === 0) return profile;
  const pinned = profile.packages.filter(({ kind }) => kind === "stored");
  const earlier = pinned.flatMap(({ stored }) => stored?.requirement ?? []);
  const requirements = [...earlier, ...wanted];
  const packages = await choosePackages({ requirements, pinned }, installation);
  return { ...profile, packages: [...profile.packages.filter(({ kind }) => kind !== "stored"), ...packages] };
}

async function choosePackages(
  wanted: { requirements: readonly string[]; pinned: readonly PackageFile[] },
  installation: Installation,
): Promise<PackageFile[]> {
  const { cacheDir } = installation;
  const pins = wanted.pinned.map(({ name, sha256 }) => [name, sha256]);
  const key = await sha256(JSON.stringify([PYODIDE_VERSION, wanted.requirements, pins]));
  const file = join(cacheDir, CHOICES, `${key}.json`);
  const cached = await readChoice(file);
  if (cached !== undefined && await areStored(cached, cacheDir)) return cached;
  const chosen = await resolvePackages(wanted, installation);
  await downloadPackages(chosen, installation);
  await Deno.mkdir(join(cacheDir, CHOICES), { recursive: true, mode: 0o700 });
  await Deno.writeTextFile(file, JSON.stringify(chosen));
  return chosen;
}

async function readChoice(file: string): Promise<PackageFile[] | undefined> {
  try {
    return z.parse(choiceSchema, JSON.parse(await Deno.readTextFile(file)));
  } catch {
    return undefined; // the file is missing, or a write was interrupted: the choice is made again
  }
}

async function areStored(packages: readonly PackageFile[], cacheDir: string): Promise<boolean> {
  for (const { sha256 } of packages) if (!await isStored(cacheDir, sha256)) return false;
  return true;
}
