import { resolve, sep as SEPARATOR } from "node:path";
import type { PermissionName } from "../profile/schema.ts";
import { isJsonObject } from "../../json.ts";

/** Extent of a permission: all, nothing, or the named items. */
export type Grant = boolean | readonly string[] | {
  readonly allow?: boolean | readonly string[];
  readonly deny?: boolean | readonly string[];
};

/** Permissions of a program that Deno runs, as in Deno's permission sets. Omitted ones are denied. */
export type Grants = Readonly<Partial<Record<Exclude<PermissionName, "run" | "ffi">, Grant>>>;

const NAMES: readonly string[] = ["read", "write", "net", "env", "sys", "import"];
const PATHS: readonly string[] = ["read", "write"];

/** Permissions that cannot be granted, as they would make all others ineffective, with the reason. */
const REFUSED: Readonly<Record<string, string>> = {
  run: "a program that it starts is outside of its permissions",
  ffi: "native code has no permissions to check",
};

/**
 * Returns Deno's flags for these permissions. Paths become absolute.
 *
 * @throws {TypeError} if a permission is unknown, malformed or cannot be granted, or an item is empty or has a
 * comma.
 */
export function grantFlags(grants: Grants): string[] {
  return Object.entries(grants).flatMap(([name, grant]) => {
    requireGrantable(name, grant);
    const { allow = false, deny = false } = isScope(grant) ? { allow: grant } : grant;
    return [...flag("allow", name, allow), ...flag("deny", name, deny)];
  });
}

/** Returns true if a permission grants anything. */
export function grantsAny(grant: Grant | undefined): boolean {
  const allow = grant === undefined || isScope(grant) ? grant : grant.allow;
  return allow === true || (Array.isArray(allow) && allow.length > 0);
}

/** Returns true if a permission to read covers a path. */
export function mayRead(read: Grant | undefined, path: string): boolean {
  const { allow = false, deny = false } = read === undefined || isScope(read) ? { allow: read } : read;
  const covers = (scope: boolean | readonly string[]) =>
    typeof scope === "boolean" ? scope : scope.some((item) => isWithin(path, resolve(item)));
  return covers(allow) && !covers(deny);
}

/** Returns true if a path is a directory or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(SEPARATOR) ? folder : `${folder}${SEPARATOR}`);
}

/** Returns permissions with the additional permission to read some paths. */
export function withReadAccess(grants: Grants | undefined, paths: readonly string[]): Grants {
  const { read = false } = grants ?? {};
  const { allow = false, deny = false } = isScope(read) ? { allow: read } : read;
  return { ...grants, read: { allow: [...(typeof allow === "boolean" ? [] : allow), ...paths], deny } };
}

function flag(verb: "allow" | "deny", name: string, scope: boolean | readonly string[]): string[] {
  if (typeof scope === "boolean") return scope ? [`--${verb}-${name}`] : [];
  if (scope.length === 0) return [];
  const invalid = scope.find((item) => item.includes(",") || item === "");
  if (invalid !== undefined) {
    throw new TypeError(
      `Cannot grant '${name}' as its items must have no comma and not be empty: current value is '${invalid}'`,
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
    throw new TypeError(`Cannot grant '${name}' as it must be one of ${NAMES.join(", ")}`);
  }
  if (isScope(grant) || isAllowDeny(grant)) return;
  throw new TypeError(
    `Cannot grant '${name}' as it must be true, false, a list of strings, or { allow, deny } of these: current value is ${
      JSON.stringify(grant)
    }`,
  );
}

function isScope(value: unknown): value is boolean | readonly string[] {
  return typeof value === "boolean" ||
    (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function isAllowDeny(value: unknown): boolean {
  return isJsonObject(value) &&
    Object.entries(value).every(([key, scope]) => (key === "allow" || key === "deny") && isScope(scope));
}
