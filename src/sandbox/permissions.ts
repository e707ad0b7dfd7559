import { z } from "zod";
import { closedObject } from "./checks.ts";

/** One of Deno's permissions. */
export type PermissionName = "read" | "write" | "net" | "env" | "run" | "sys" | "ffi" | "import";

/** What a guest may reach of the host by itself: nothing, whatever the profile. */
export type Permissions = Readonly<Record<PermissionName, false>>;

/**
 * Why each permission cannot be granted. The guest's worker runs with none, and the thread that
 * supervises it gives up its own before the first exec, so a grant would either reach nothing or be a
 * way out for guest code that takes over the process.
 */
const REASONS: Readonly<Record<PermissionName, string>> = {
  read: "the sandbox gives up reading before the first exec; name what the guest may read in 'mounts'",
  write: "a sandbox that writes to the host is none; take files out of a session instead",
  net: "the guest has no sockets; give it a host tool that makes the request",
  env: "the environment of a sandbox is empty; put values into a file or a host tool",
  run: "a program started from a sandbox is outside of it; give it a host tool",
  sys: "nothing in a sandbox can ask for it; put values into a file or a host tool",
  ffi: "native code has no permissions to check; it would end the sandbox",
  import: "a sandbox runs no code but its own assets; name what it needs in 'packages'",
};

/** Checks permissions written as in Deno's permission sets; what is not named is denied. */
export const permissionsSchema: z.ZodType<Permissions> = closedObject({
  read: denied("read"),
  write: denied("write"),
  net: denied("net"),
  env: denied("env"),
  run: denied("run"),
  sys: denied("sys"),
  ffi: denied("ffi"),
  import: denied("import"),
});

function denied(name: PermissionName): z.ZodType<false> {
  return z.unknown().superRefine((value, context) => {
    if (isDenied(value)) return;
    const needs = isGrant(value) ? `cannot be granted, as ${REASONS[name]}` : SHAPE;
    context.addIssue({ code: "custom", message: needs, input: value });
  }).transform(() => false as const).default(false);
}

const SHAPE = "must be a permission as in Deno: true, false, a list of strings, or { allow, deny } of these";

function isScope(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item === "string");
  return typeof value === "boolean";
}

function isGrant(value: unknown): boolean {
  if (isScope(value)) return true;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([key, scope]) => (key === "allow" || key === "deny") && isScope(scope));
}

function isDenied(value: unknown): boolean {
  if (value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== "object" || value === null || !isGrant(value)) return false;
  return !("allow" in value) || isDenied(value.allow);
}
