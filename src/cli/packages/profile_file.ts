import { createScanner, findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import { dirname, join, resolve } from "node:path";
import { errorMessage } from "../../errors.ts";
import { normalizeName, type PackageFile } from "../../sandbox/profile/packages.ts";
import {
  parseProfile,
  parseProfileText,
  type Profile,
  readProfileFile,
} from "../../sandbox/profile/profile.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";

/** Returns the path of the user's own profile of a name, which the command line uses in place of a shipped profile. */
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

/** Returns the value of `--profile` to load: the user's own profile of that name, if present. */
export async function profileSource(profile: string): Promise<string> {
  const path = isProfileName(profile) ? userProfilePath(profile) : undefined;
  return path !== undefined && await exists(path) ? path : profile;
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false; // the file cannot be read, and the shipped profile can
  }
}

/** A profile whose packages can be changed. */
export interface EditableProfile {
  /** Name or path in the user's words. */
  readonly name: string;
  /** Absolute path of the file that is written. */
  readonly path: string;
  readonly text: string;
  readonly profile: Profile;
}

/**
 * Reads a profile for a change. A shipped profile is copied to the folder of the user's profiles at the write; a
 * file that does not exist becomes a copy of the profile `python`.
 *
 * @throws {UsageError} if the file is no valid profile.
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

/** Replaces the stored packages of a profile and writes the file. Comments and other settings stay unchanged. */
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
    await Deno.remove(temporary).catch(() => {}); // the file may not exist
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
      edited = removeEntry(edited, keys.get(name) ?? name);
    }
  }
  for (const file of packages) {
    edited = setEntry(edited, keys.get(file.name) ?? file.name, packageEntry(file));
  }
  return edited;
}

/** Width of a level of the file, in spaces. */
const INDENT = 2;
/** Tokens of `createScanner`: `,` and the end. The library declares them as constants without a value. */
const [COMMA, END] = [5, 17];

/** Sets an entry of the object `packages`. `modify` of jsonc-parser moves the comment behind the last setting. */
function setEntry(text: string, key: string, entry: object): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const packages = root && findNodeAtLocation(root, ["packages"]);
  if (root === undefined || packages === undefined) {
    return root === undefined ? text : appendMember(text, root, { key: "packages", value: { [key]: entry } });
  }
  const old = findNodeAtLocation(packages, [key]);
  if (old === undefined) return appendMember(text, packages, { key, value: entry });
  return splice(
    text,
    old.offset,
    endOf(old),
    toText(entry, indentAt(text, old.parent?.offset ?? old.offset)),
  );
}

/** Adds a member behind all members and comments of an object. */
function appendMember(text: string, object: Node, { key, value }: { key: string; value: object }): string {
  const last = object.children?.at(-1);
  const brace = endOf(object) - 1;
  const start = last === undefined ? object.offset + 1 : endOf(last);
  const outer = indentAt(text, object.offset);
  const member = `\n${" ".repeat(outer + INDENT)}${JSON.stringify(key)}: ${toText(value, outer + INDENT)}`;
  const between = text.slice(start, brace).trimEnd();
  const comma = last !== undefined && findComma(text, start, brace) === undefined ? "," : "";
  return splice(text, start, brace, `${comma}${between}${member}\n${" ".repeat(outer)}`);
}

/** Removes an entry of the object `packages`, and keeps the comments beside the entry. */
function removeEntry(text: string, key: string): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const packages = root && findNodeAtLocation(root, ["packages"]);
  const members = packages?.children ?? [];
  const index = members.findIndex(({ children }) => children?.[0]?.value === key);
  const member = members[index];
  if (packages === undefined || member === undefined) return text;
  const next = members[index + 1]?.offset ?? endOf(packages) - 1;
  const comma = findComma(text, endOf(member), next);
  let edited = comma === undefined ? text : splice(text, comma, comma + 1, "");
  edited = removeLine(edited, member.offset, endOf(member));
  const previous = members[index - 1];
  if (previous === undefined || comma !== undefined || index + 1 < members.length) return edited;
  const separator = findComma(edited, endOf(previous), member.offset); // the comma is a trailing comma once the last entry is gone
  return separator === undefined ? edited : splice(edited, separator, separator + 1, "");
}

/** Removes a part of the text, and the whole line if the line has nothing else. */
function removeLine(text: string, start: number, end: number): string {
  const head = text.lastIndexOf("\n", start - 1);
  const tail = text.slice(end).search(/[^ \t\r]/);
  const isWhole = head !== -1 && text.slice(head, start).trim() === "" && text[end + tail] === "\n";
  return isWhole ? splice(text, head, end + tail, "") : splice(text, start, end, "");
}

/** Returns the place of the first comma in a part of the text that has comments and no values. */
function findComma(text: string, start: number, end: number): number | undefined {
  const scanner = createScanner(text.slice(start, end), true);
  for (let token: number = scanner.scan(); token !== END; token = scanner.scan()) {
    if (token === COMMA) return start + scanner.getTokenOffset();
  }
  return undefined;
}

function toText(value: object, indent: number): string {
  return JSON.stringify(value, null, INDENT).replaceAll("\n", `\n${" ".repeat(indent)}`);
}

/** Returns the number of spaces at the beginning of the line. */
function indentAt(text: string, offset: number): number {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1);
  return line.length - line.trimStart().length;
}

function splice(text: string, start: number, end: number, middle: string): string {
  return text.slice(0, start) + middle + text.slice(end);
}

function endOf({ offset, length }: Node): number {
  return offset + length;
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
