import { z } from "zod";
import { formatVersion } from "../../format_version.ts";
import { closedObject, flag, integer, oneOf, string } from "./checks.ts";
import { type Mount, mountsSchema } from "./mounts.ts";
import { type PackageFile, packagesSchema } from "./packages.ts";

/** A wall of the operating system around the child, beside Deno's own permissions. */
export type Layer = "rlimits" | "noNewPrivs" | "parentDeath" | "bubblewrap" | "watchdog";

/**
 * How much a profile wants a layer. `required`: refuse to start without it. `installed`: use it where
 * its program is present, and refuse to start if it then does not work. `optional`: use it where it
 * works. `off`: do not use it.
 */
export type LayerMode = "required" | "installed" | "optional" | "off";

/** Every {@linkcode Layer}, from the inside out. */
export const LAYERS: readonly Layer[] = ["rlimits", "noNewPrivs", "parentDeath", "bubblewrap", "watchdog"];

/** Every {@linkcode LayerMode}, from the strictest on. */
export const LAYER_MODES: readonly LayerMode[] = ["required", "installed", "optional", "off"];

/**
 * What each layer stands on. The paths are fixed: a search through PATH would run whatever a host's
 * environment names.
 */
export const LAYER_PROGRAMS: Readonly<Record<Layer, string>> = {
  rlimits: "/bin/sh",
  noNewPrivs: "/usr/bin/setpriv",
  parentDeath: "/usr/bin/setpriv",
  bubblewrap: "/usr/bin/bwrap",
  watchdog: "/proc/self/statm",
};

const MIB = 1024 * 1024;

/** Bytes in a page of Wasm memory. */
export const WASM_PAGE_BYTES = 65_536;

/** What a sandbox may use up before it is stopped. */
export interface Limits {
  /** Wall time of an exec until it is interrupted, unless the exec names its own. */
  readonly timeoutMs: number;
  /** Time an interrupted program has to end before its process is killed. */
  readonly graceMs: number;
  /** The Wasm heap: all Python objects, the interpreter (30 MiB) included. */
  readonly memoryBytes: number;
  /** Output kept of an exec, stdout and stderr together; the rest is dropped. */
  readonly outputBytes: number;
  /** Contents of all files of a session. */
  readonly fileBytes: number;
  /** CPU time of an exec. */
  readonly cpuSeconds: number;
  /** Calls of host tools in an exec. */
  readonly hostToolCalls: number;
}

/** Checks the limits of a profile and fills in those it does not name. */
export const limitsSchema: z.ZodType<Limits> = closedObject({
  timeoutMs: integer(1, 24 * 3_600_000).default(10_000),
  graceMs: integer(1, 60_000).default(1_000),
  memoryBytes: wasmBytes(64 * MIB, 2048 * MIB).default(256 * MIB),
  outputBytes: integer(1, 1024 * MIB).default(MIB),
  fileBytes: integer(1, 1024 * MIB).default(64 * MIB),
  cpuSeconds: integer(1, 24 * 3_600).default(30),
  hostToolCalls: integer(1, 1_000_000).default(1_000),
});

function wasmBytes(min: number, max: number): z.ZodType<number> {
  const needs = `must be a multiple of ${WASM_PAGE_BYTES} from ${min} to ${max}`;
  return z.custom<number>((value) => {
    const bytes = Number(value);
    return typeof value === "number" && bytes % WASM_PAGE_BYTES === 0 && bytes >= min && bytes <= max;
  }, { error: needs });
}

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

/** What a profile file says, checked; its host paths are still as written. */
export interface ProfileSettings {
  /** For whom the profile is. */
  readonly description: string;
  readonly permissions: Permissions;
  readonly limits: Limits;
  /** Python modules that the base image has already imported. */
  readonly preimports: readonly string[];
  readonly packages: readonly PackageFile[];
  readonly mounts: readonly Mount[];
  /** Interpreters in one process, which must all belong to one trust domain. */
  readonly sessionsPerProcess: number;
  readonly layers: Readonly<Record<Layer, LayerMode>>;
  /** Whether an exec may grant host tools. */
  readonly hostTools: boolean;
  /** Whether sessions have a shell beside their Python. */
  readonly shell: boolean;
}

const layersSchema: z.ZodType<Readonly<Record<Layer, LayerMode>>> = closedObject({
  rlimits: oneOf(LAYER_MODES).default("optional"),
  noNewPrivs: oneOf(LAYER_MODES).default("optional"),
  parentDeath: oneOf(LAYER_MODES).default("optional"),
  bubblewrap: oneOf(LAYER_MODES).default("off"),
  watchdog: oneOf(LAYER_MODES).default("optional"),
});

const moduleName = string(
  "the dotted name of a Python module",
  (name) => /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(name),
);

/** Version of the format of profile files. */
const PROFILE_FORMAT = 1;

/** Checks a profile and fills in what it does not name. */
export const profileSchema: z.ZodType<ProfileSettings> = closedObject({
  format: formatVersion(PROFILE_FORMAT),
  description: string("a string").default(""),
  permissions: permissionsSchema.prefault({}),
  limits: limitsSchema.prefault({}),
  preimports: z.array(moduleName, { error: "must be a list of Python modules" }).default([]),
  packages: packagesSchema.prefault({}),
  mounts: mountsSchema.prefault({}),
  sessionsPerProcess: integer(1, 64).default(1),
  layers: layersSchema.prefault({}),
  hostTools: flag().default(false),
  shell: flag().default(false),
}).transform(({ format: _, ...settings }) => settings);
