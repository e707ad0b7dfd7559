import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { dirname, join, resolve } from "node:path";
import { errorMessage } from "../../errors.ts";
import { normalizeName, type PackageFile } from "../../sandbox/profile/packages.ts";
import {
  parseProfile,
  parseProfileText,
  type Profile,
  readProfileFile,
} from "../../sandbox/profile/profile.ts";
import { rethrowAsUsageError, UsageError } from "../errors.ts";
import { currentIo } from "../io.ts";

/** Returns the path of the user's own profile of a name, which the command line uses in place of a shipped one. */
export function userProfilePath(
  name: string,
  environment: Pick<Deno.Env, "get"> = currentIo().env,
): string | undefined {
  const shared = environment.get("XDG_CONFIG_HOME");
  const home = environment.get("HOME") ?? environment.get("USERPROFILE");
  const folder = shared?.startsWith("/") ? shared : home && join(home, ".config");
  return folder ? join(folder, "paddock", `${name}.jsonc`) : undefined;
}

/** Returns the names of the user's own profiles. */
export async function userProfileNames(): Promise<string[]> {
  const folder = dirname(userProfilePath("x") ?? "");
  try {
    const files = await Array.fromAsync(Deno.readDir(folder));
    return files.filter(({ name }) => name.endsWith(".jsonc")).map(({ name }) =>
      name.slice(0, -".jsonc".length)
    );
  } catch {
    return []; // there is no such folder
  }
}

/** True if `--profile` has a name and not a path. */
function isProfileName(profile: string): boolean {
  return !/\/|\.jsonc?$/.test(profile);
}

/** Returns the value of `--profile` to load: the user's own profile of that name if there is one. */
export async function profileSource(profile: string): Promise<string> {
  const path = isProfileName(profile) ? userProfilePath(profile) : undefined;
  return path !== undefined && await exists(path) ? path : profile;
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false; // it cannot be read, and the shipped profile can
  }
}

/** A profile whose packages can be changed. */
export interface EditableProfile {
  /** Name or path by which the user gave it. */
  readonly name: string;
  /** Absolute path of the file that is written. */
  readonly path: string;
  readonly text: string;
  readonly profile: Profile;
}

/**
 * Reads a profile for a change. A shipped profile is copied to the folder of the user's profiles when it is written; a
 * file that does not exist becomes a copy of the profile `python`.
 *
 * @throws {UsageError} if it is no valid profile.
 */
export async function readEditableProfile(name: string): Promise<EditableProfile> {
  const path = isProfileName(name) ? userProfilePath(name) : resolve(name);
  if (path === undefined) {
    throw new UsageError(`Cannot change profile '${name}' as HOME must be set: give a file with --profile`);
  }
  return await rethrowAsUsageError(async () => {
    const { text } = await readProfileFile(await exists(path) ? path : isProfileName(name) ? name : "python");
    return { name, path, text, profile: parseProfile(text, { source: name, directory: dirname(path) }) };
  });
}

/** Replaces the stored packages of a profile and writes its file. Comments and other settings stay as they are. */
export async function writePackages(
  { path, text, profile }: EditableProfile,
  packages: readonly PackageFile[],
): Promise<void> {
  const written = editPackages(text, profile, packages);
  parseProfile(written, { source: path, directory: dirname(path) });
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(temporary, written);
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {}); // it may not exist
    throw new UsageError(`Cannot write profile '${path}': ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns the text of a profile with other stored packages. */
export function editPackages(text: string, profile: Profile, packages: readonly PackageFile[]): string {
  const keys = new Map(packageKeys(text).map((key) => [normalizeName(key), key]));
  const kept = new Set(packages.map(({ name }) => name));
  let edited = text;
  for (const { name, kind } of profile.packages) {
    if (kind === "stored" && !kept.has(name)) {
      edited = edit(edited, ["packages", keys.get(name) ?? name], undefined);
    }
  }
  for (const file of packages) {
    edited = edit(edited, ["packages", keys.get(file.name) ?? file.name], packageEntry(file));
  }
  return edited;
}

const FORMATTING = { insertSpaces: true, tabSize: 2 };

function edit(text: string, path: JSONPath, value: unknown): string {
  return applyEdits(text, modify(text, path, value, { formattingOptions: FORMATTING }));
}

/** Returns the names of packages as the file spells them. */
function packageKeys(text: string): string[] {
  const value = parseProfileText(text, "profile");
  if (typeof value !== "object" || value === null || !("packages" in value)) return [];
  return Object.keys(value.packages ?? {});
}

function packageEntry({ path, sha256, stored }: PackageFile): object {
  return {
    version: stored?.version,
    file: path,
    sha256,
    source: stored?.source,
    ...(stored?.requirement !== undefined && { requirement: stored.requirement }),
    ...(stored && stored.neededBy.length > 0 && { neededBy: stored.neededBy }),
  };
}
