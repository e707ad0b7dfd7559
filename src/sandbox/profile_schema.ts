import { z } from "zod";
import { formatVersion } from "../format_version.ts";
import { closedObject, flag, integer, oneOf, string } from "./checks.ts";
import { type Layer, LAYER_MODES, type LayerMode } from "./layer.ts";
import { type Limits, limitsSchema } from "./limits.ts";
import { type Mount, mountsSchema } from "./mounts.ts";
import { type PackageFile, packagesSchema } from "./packages.ts";
import { type Permissions, permissionsSchema } from "./permissions.ts";

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
