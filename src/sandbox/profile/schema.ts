import * as z from "zod";
import { formatVersion } from "../../format_version.ts";
import { closedObject, flag, integer, oneOf, string } from "./checks.ts";
import { type Mount, mountsSchema } from "./mounts.ts";
import { networkSchema, type NetworkSettings } from "./network.ts";
import { type PackageFile, packagesSchema } from "./packages.ts";

/** A protection of the operating system around the child, in addition to Deno's permissions. */
export type Layer =
  | "rlimits"
  | "noNewPrivs"
  | "parentDeath"
  | "unprivilegedUser"
  | "capabilities"
  | "userNamespace"
  | "netNamespace"
  | "ipcNamespace"
  | "utsNamespace"
  | "pidNamespace"
  | "mountNamespace"
  | "descriptors"
  | "seccomp"
  | "landlock"
  | "speculation"
  | "bubblewrap"
  | "memoryCgroup"
  | "watchdog";

/**
 * Use of a layer by a profile. `required`: refuse to start without it. `installed`: use it if its program is
 * present, and refuse to start if it then does not work. `optional`: use it if it works. `off`: do not use it.
 */
export type LayerMode = "required" | "installed" | "optional" | "off";

/** Every {@linkcode Layer}. */
export const LAYERS: readonly Layer[] = [
  "rlimits",
  "noNewPrivs",
  "parentDeath",
  "unprivilegedUser",
  "capabilities",
  "userNamespace",
  "netNamespace",
  "ipcNamespace",
  "utsNamespace",
  "pidNamespace",
  "mountNamespace",
  "descriptors",
  "seccomp",
  "landlock",
  "speculation",
  "bubblewrap",
  "memoryCgroup",
  "watchdog",
];

/** Every {@linkcode LayerMode}, strictest first. */
const LAYER_MODES: readonly LayerMode[] = ["required", "installed", "optional", "off"];

/**
 * Program or file that each layer needs. The paths are fixed: a search through PATH would run any program that the
 * host's environment names.
 */
export const LAYER_PROGRAMS: Readonly<Record<Layer, string>> = {
  rlimits: "/bin/sh",
  noNewPrivs: "/usr/bin/setpriv",
  parentDeath: "/usr/bin/setpriv",
  unprivilegedUser: "/usr/bin/setpriv",
  capabilities: "/usr/bin/setpriv",
  userNamespace: "/usr/bin/unshare",
  netNamespace: "/usr/bin/unshare",
  ipcNamespace: "/usr/bin/unshare",
  utsNamespace: "/usr/bin/unshare",
  pidNamespace: "/usr/bin/unshare",
  mountNamespace: "/bin/mount",
  descriptors: "/proc/self/status",
  seccomp: "/proc/sys/kernel/seccomp/actions_avail",
  landlock: "/proc/self/status",
  speculation: "/proc/self/status",
  bubblewrap: "/usr/bin/bwrap",
  memoryCgroup: "/proc/self/cgroup",
  watchdog: "/proc/self/statm",
};

const MIB = 1024 * 1024;

/** Size of a page of Wasm memory, in bytes. */
export const WASM_PAGE_BYTES = 65_536;

/**
 * Time that programs see. `real`: the time of the host. `virtual`: a time that starts at 2026-01-01 00:00 UTC and
 * advances only by what programs do, so that the same programs have the same results again.
 */
export type Clock = "real" | "virtual";

/** Every {@linkcode Clock}. */
export const CLOCKS: readonly Clock[] = ["real", "virtual"];

/** Resource limits of a sandbox. Each has a default, which a profile file may change. */
export interface Limits {
  /**
   * Time of an exec until it is interrupted, in milliseconds, by the profile's `clock`. An exec may set its own.
   *
   * @default 10_000
   */
  readonly timeoutMs: number;
  /**
   * Time between the interrupt and the kill of the process, in milliseconds.
   *
   * @default 1_000
   */
  readonly graceMs: number;
  /**
   * Size of the Wasm heap, in bytes: all Python objects and the interpreter (30 MiB). A multiple of 65536.
   *
   * @default 268_435_456
   */
  readonly memoryBytes: number;
  /**
   * Output of an exec, stdout and stderr together, in bytes. Further output is dropped.
   *
   * @default 1_048_576
   */
  readonly outputBytes: number;
  /**
   * Total size of a session's files, in bytes. They are held in memory, in addition to the heap.
   *
   * @default 67_108_864
   */
  readonly fileBytes: number;
  /**
   * CPU time of an exec, in seconds. Enforced by the `watchdog` layer.
   *
   * @default 30
   */
  readonly cpuSeconds: number;
  /**
   * Number of host tool calls in an exec.
   *
   * @default 1_000
   */
  readonly hostToolCalls: number;
}

/** Smallest and largest `memoryBytes` of a profile. */
export const MEMORY_RANGE_BYTES = { min: 64 * MIB, max: 2048 * MIB } as const;

/** Schema of the limits of a profile. It fills in the defaults. */
export const limitsSchema: z.core.$ZodType<Limits> = closedObject({
  timeoutMs: integer(1, 24 * 3_600_000).default(10_000),
  graceMs: integer(1, 60_000).default(1_000),
  memoryBytes: wasmBytes(MEMORY_RANGE_BYTES).default(256 * MIB),
  outputBytes: integer(1, 1024 * MIB).default(MIB),
  fileBytes: integer(1, 1024 * MIB).default(64 * MIB),
  cpuSeconds: integer(1, 24 * 3_600).default(30),
  hostToolCalls: integer(1, 1_000_000).default(1_000),
});

function wasmBytes({ min, max }: { min: number; max: number }): z.ZodCustom<number, number> {
  const needs = `must be a multiple of ${WASM_PAGE_BYTES} from ${min} to ${max}`;
  return z.custom<number>((value) => {
    const bytes = Number(value);
    return typeof value === "number" && bytes % WASM_PAGE_BYTES === 0 && bytes >= min && bytes <= max;
  }, { error: needs }).meta({ type: "integer", minimum: min, maximum: max, multipleOf: WASM_PAGE_BYTES });
}

/** Name of a Deno permission. */
export type PermissionName = "read" | "write" | "net" | "env" | "run" | "sys" | "ffi" | "import";

/** Permissions of a guest on the host. No profile can grant any. */
export type Permissions = Readonly<Record<PermissionName, false>>;

/**
 * Reason why each permission cannot be granted. The guest's worker runs with none, and the supervising thread drops
 * its own before the first exec. So a grant would either have no effect or be a way out for guest code that takes
 * over the process.
 */
const REASONS: Readonly<Record<PermissionName, string>> = {
  read:
    "the sandbox drops this permission before the first exec; name files that the guest may read in 'mounts'",
  write: "a sandbox must not write to the host; read files from a session instead",
  net:
    "the sandbox makes no connection itself; list hosts in 'network', or use a host tool that makes the request",
  env: "the environment of a sandbox is empty; pass values in a file or by a host tool",
  run: "a program started from a sandbox runs outside it; use a host tool",
  sys: "nothing in a sandbox can use it; pass values in a file or by a host tool",
  ffi: "native code has no permissions to check; it would end the sandbox",
  import: "a sandbox runs only its own assets; name packages in 'packages'",
};

/**
 * Schema of permissions in the form of Deno's permission sets. All must be denied; an omitted permission is denied.
 */
const permissionsSchema: z.core.$ZodType<Permissions> = closedObject({
  read: denied("read"),
  write: denied("write"),
  net: denied("net"),
  env: denied("env"),
  run: denied("run"),
  sys: denied("sys"),
  ffi: denied("ffi"),
  import: denied("import"),
});

function denied(name: PermissionName): z.core.$ZodType<false> {
  return z.unknown().superRefine((value, context) => {
    if (isDenied(value)) return;
    const message = isGrant(value) ? `cannot be granted, as ${REASONS[name]}` : SHAPE;
    context.addIssue({ code: "custom", message, input: value });
  }).meta({ description: `cannot be granted, as ${REASONS[name]}` }).transform(() => false as const).default(
    false,
  );
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

/** Checked contents of a profile file. Host paths are as written. */
export interface ProfileSettings {
  /** Purpose of the profile. */
  readonly description: string;
  /** Permissions of Deno. None can be granted. */
  readonly permissions: Permissions;
  /** Limits of time, memory, output, files and calls. */
  readonly limits: Limits;
  /** Python modules that are imported in the base image. */
  readonly preimports: readonly string[];
  /** Packages by name, each with its version, file and SHA-256; `paddock packages add` writes them. */
  readonly packages: readonly PackageFile[];
  /** Files and folders that the guest may read: the path in the sandbox, and the path on the host. */
  readonly mounts: readonly Mount[];
  /**
   * Number of interpreters in a process. They must belong to a single trust domain: code that breaks out of an
   * interpreter reaches the others.
   *
   * @default 1
   */
  readonly sessionsPerProcess: number;
  /**
   * Layers of the operating system by name. `required`: a sandbox does not start without it. `installed`: it
   * does not start if the program of the layer is there and fails. `optional`: used where it works. `off`: not used.
   * The default of `speculation` is `off`, the default of all others `optional`.
   */
  readonly layers: Readonly<Record<Layer, LayerMode>>;
  /**
   * True if an exec may have host tools.
   *
   * @default false
   */
  readonly hostTools: boolean;
  /**
   * True if sessions have a shell.
   *
   * @default false
   */
  readonly shell: boolean;
  /**
   * Time that programs see.
   *
   * @default "real"
   */
  readonly clock: Clock;
  /**
   * Hosts that programs may connect to.
   *
   * @default none: sockets reach only the session itself
   */
  readonly network?: NetworkSettings | undefined;
}

/** Layers that a profile must turn on, as they cost time. All others are used where they work. */
const LAYERS_BY_CHOICE: readonly Layer[] = ["speculation"];

const layersSchema = closedObject(
  Object.fromEntries(LAYERS.map((layer) => {
    const mode: LayerMode = LAYERS_BY_CHOICE.includes(layer) ? "off" : "optional";
    return [layer, oneOf(LAYER_MODES).default(mode)];
  })),
) as unknown as z.core.$ZodType<Readonly<Record<Layer, LayerMode>>>;

const moduleName = string(
  "the dotted name of a Python module",
  (name) => /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(name),
);

/** Version of the format of profile files. */
const PROFILE_FORMAT = 1;

/** Schema of a profile file. It fills in the defaults. */
export const profileSchema: z.core.$ZodType<ProfileSettings> = closedObject({
  format: formatVersion(PROFILE_FORMAT),
  description: string("a string").default(""),
  permissions: z.prefault(permissionsSchema, {}),
  limits: z.prefault(limitsSchema, {}),
  preimports: z.array(moduleName, { error: "must be a list of Python modules" }).default([]),
  packages: z.prefault(packagesSchema, {}),
  mounts: z.prefault(mountsSchema, {}),
  sessionsPerProcess: integer(1, 64).default(1),
  layers: z.prefault(layersSchema, {}),
  hostTools: flag().default(false),
  shell: flag().default(false),
  clock: oneOf(CLOCKS).default("real"),
  network: z.optional(networkSchema),
}).transform(({ format: _, ...settings }) => settings);
