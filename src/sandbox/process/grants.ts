import { resolve, sep as SEPARATOR } from "node:path";
import type { PermissionName } from "../profile/schema.ts";

/** What of a permission is granted: all, nothing, or what is named. */
export type Grant = boolean | readonly string[] | {
  readonly allow?: boolean | readonly string[];
  readonly deny?: boolean | readonly string[];
};

/** What a program that Deno runs may reach of the host, as in Deno's permission sets; what is not named is denied. */
export type Grants = Readonly<Partial<Record<Exclude<PermissionName, "run" | "ffi">, Grant>>>;

const NAMES: readonly string[] = ["read", "write", "net", "env", "sys", "import"];
const PATHS: readonly string[] = ["read", "write"];

/** What would take away the walls that all other permissions stand on. */
const REFUSED: Readonly<Record<string, string>> = {
  run: "a program that it starts is outside of its permissions",
  ffi: "native code has no permissions to check",
};

/**
 * The flags of Deno for these permissions; paths become absolute.
 *
 * @throws {TypeError} when a permission is none, has another shape, cannot be granted, or names what holds a comma.
 */
export function grantFlags(grants: Grants): string[] {
  return Object.entries(grants).flatMap(([name, grant]) => {
    requireGrantable(name, grant);
    const { allow = false, deny = false } = isScope(grant) ? { allow: grant } : grant;
    return [...flag("allow", name, allow), ...flag("deny", name, deny)];
  });
}

/** Whether a permission grants anything. */
export function grantsAny(grant: Grant | undefined): boolean {
  const allow = grant === undefined || isScope(grant) ? grant : grant.allow;
  return allow === true || (Array.isArray(allow) && allow.length > 0);
}

/** Whether a path lies in what may be read. */
export function mayRead(read: Grant | undefined, path: string): boolean {
  const { allow = false, deny = false } = read === undefined || isScope(read) ? { allow: read } : read;
  const names = (scope: boolean | readonly string[]) =>
    typeof scope === "boolean" ? scope : scope.some((named) => isWithin(path, resolve(named)));
  return names(allow) && !names(deny);
}

/** Whether a path is a folder or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(SEPARATOR) ? folder : `${folder}${SEPARATOR}`);
}

/** The same permissions, and that to read a folder. */
export function alsoReading(grants: Grants | undefined, folder: string): Grants {
  const { read = false } = grants ?? {};
  const { allow = false, deny = false } = isScope(read) ? { allow: read } : read;
  return { ...grants, read: { allow: [...(typeof allow === "boolean" ? [] : allow), folder], deny } };
}

function flag(verb: "allow" | "deny", name: string, scope: boolean | readonly string[]): string[] {
  if (typeof scope === "boolean") return scope ? [`--${verb}-${name}`] : [];
  if (scope.length === 0) return [];
  const split = scope.find((item) => item.includes(",") || item === "");
  if (split !== undefined) {
    throw new TypeError(
      `Cannot grant '${name}' as what it names must have no comma and not be empty: there is '${split}'`,
    );
  }
  return [`--${verb}-${name}=${scope.map((item) => PATHS.includes(name) ? resolve(item) : item).join(",")}`];
}

function requireGrantable(name: string, grant: unknown): asserts grant is Grant {
  const refused = REFUSED[name];
  if (refused !== undefined && grant !== false) {
    throw new TypeError(`Cannot grant '${name}' as ${refused}`);
  }
  if (refused === undefined && !NAMES.includes(name)) {
    throw new TypeError(`Cannot grant '${name}' as the permissions are ${NAMES.join(", ")}`);
  }
  if (isScope(grant) || isSplit(grant)) return;
  throw new TypeError(
    `Cannot grant '${name}' as it must be true, false, a list of texts, or { allow, deny } of these: current value is ${
      JSON.stringify(grant)
    }`,
  );
}

function isScope(value: unknown): value is boolean | readonly string[] {
  return typeof value === "boolean" ||
    (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function isSplit(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.entries(value).every(([key, scope]) => (key === "allow" || key === "deny") && isScope(scope));
}
