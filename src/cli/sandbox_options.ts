import { type Command, Option } from "commander";
import { join, resolve } from "node:path";
import { ensureBaseImage } from "../sandbox/image/base_image.ts";
import { defaultCacheDir } from "../sandbox/image/cache_dir.ts";
import { SandboxPool } from "../sandbox/pool.ts";
import { detectLayers, type LayerState, layerStates } from "../sandbox/process/layers.ts";
import { SecretValues } from "../sandbox/profile/secret_values.ts";
import { loadProfile, type Preload, type Profile, shippedProfiles } from "../sandbox/profile/profile.ts";
import { type Clock, CLOCKS, type Layer, LAYERS } from "../sandbox/profile/schema.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { rethrowAsUsageError } from "./cli_errors.ts";
import { downloadAtFirstUse } from "./packages/first_use.ts";
import { profileSource } from "./packages/profile_file.ts";
import { createInstallation } from "./packages/sources.ts";
import { currentIo } from "./io.ts";
import { nameOption } from "./options.ts";
import { writeText } from "./output.ts";

/** Options of every command that starts a sandbox. */
export interface SandboxFlags {
  profile: string;
  cacheDir?: string;
  yes?: boolean;
  /** @default the profile's */
  clock?: Clock;
}

/** Returns the option `--profile`. */
export function profileOption(): Option {
  return nameOption("-p, --profile <name>", "profile of the sandbox, a file or one of", shippedProfiles)
    .default("python");
}

/** Returns the option `--clock`. */
export function clockOption(): Option {
  const about =
    "time that programs see: real, or virtual, which makes results exact (default: the profile's)";
  return new Option("--clock <clock>", about).choices(CLOCKS);
}

/** Returns the options of a command, including the global ones. */
export function flagsOf<Flags>(command: Command): Flags {
  return command.optsWithGlobals() as Flags;
}

/**
 * Loads the profile of `--profile`, and downloads missing packages of the profile if the user agrees.
 *
 * @throws {UsageError} if the profile does not exist or is invalid, or packages of the profile are missing.
 */
export async function resolveProfile(
  { profile: name, cacheDir, yes = false, clock }: SandboxFlags,
  signal: AbortSignal,
): Promise<Profile> {
  const loaded = await rethrowAsUsageError(async () => loadProfile(await profileSource(name)));
  const profile = { ...loaded, name, ...secretsOf(loaded), ...(clock && { clock }) };
  const installation = createInstallation({}, { cacheDir: cacheDirectory(cacheDir), signal });
  await downloadAtFirstUse(profile, { ...installation, isAgreed: yes });
  return profile;
}

/** Reads the values of a profile's secrets from the environment. */
function secretsOf({ network }: Profile): Pick<Profile, "secretValues"> {
  const variables = Object.values(network?.secrets ?? {}).map(({ env }) => env);
  if (variables.length === 0) return {};
  const found = variables.map((name) => [name, Deno.env.get(name)] as const);
  const values = found.flatMap(([name, value]) => value === undefined ? [] : [[name, value] as const]);
  return { secretValues: new SecretValues(Object.fromEntries(values)) };
}

/** Starts a sandbox. Prints a line to stderr if the base image must be built first. */
export async function startSandbox(
  profile: Profile,
  options: { cacheDir?: string | undefined; signal: AbortSignal },
): Promise<Sandbox> {
  const { cacheDir, signal } = options;
  await announceMissingLayers(profile);
  return await Sandbox.start({ profile, cacheDir: cacheDirectory(cacheDir), onBuild: announceBuild, signal });
}

/**
 * Prepares the base image of a profile before the first episode, so that a failed build is a single error and not an error
 * per episode.
 *
 * @throws {UsageError} if the cache folder cannot be created.
 * @throws {SandboxError} if the image cannot be built.
 */
export async function prepareImage(
  profile: Profile,
  options: { cacheDir?: string | undefined; signal: AbortSignal },
): Promise<void> {
  const cacheDir = cacheDirectory(options.cacheDir);
  await rethrowAsUsageError(() => Deno.mkdir(cacheDir, { recursive: true, mode: 0o700 }), {
    prefix: `Cannot cache base images in '${cacheDir}'`,
  });
  await ensureBaseImage(profile, { cacheDir, onBuild: announceBuild, signal: options.signal });
}

/** Prints to stderr that a base image is being built. */
export function announceBuild(): void {
  const line = "Building the base image (once, takes a few seconds) …\n";
  writeText(currentIo().stderr, line).catch(() => {}); // stderr is closed
}

/** Prints to stderr the layers that a profile uses where they work, and that do not work on this host. */
export async function announceMissingLayers(profile: Profile): Promise<void> {
  const line = formatMissingLayers(layerStates(profile, await detectLayers()));
  if (line !== undefined) writeText(currentIo().stderr, line).catch(() => {}); // stderr is closed
}

/**
 * Returns the line about layers that a profile does without on this host. Returns `undefined` if there is none, or if a
 * required layer is missing, as then nothing starts.
 */
export function formatMissingLayers(states: readonly LayerState[]): string | undefined {
  const lacking = lackingLayers(states);
  if (lacking.length === 0 || states.some(({ missing }) => missing)) return undefined;
  const names = lacking.map(({ layer }) => layer).join(", ");
  return `Running without layers that do not work on this host: ${names}; 'paddock doctor' explains each\n`;
}

/** Layers that few hosts have, or that are needed only without others. */
const RARE_LAYERS: readonly Layer[] = ["bubblewrap", "memoryCgroup"];

/** Returns the layers that a profile uses where they work, and that do not work. */
export function lackingLayers(states: readonly LayerState[]): LayerState[] {
  return states.filter(({ layer, works, mode }) => !works && mode !== "off" && !RARE_LAYERS.includes(layer));
}

/**
 * Returns a profile that starts no sandbox without the named layers; `all` is every layer but bubblewrap and memoryCgroup.
 */
export function requireLayers(profile: Profile, names: readonly (Layer | "all")[]): Profile {
  const required = LAYERS.filter((layer) =>
    names.includes(layer) || (names.includes("all") && !RARE_LAYERS.includes(layer))
  );
  const layers = Object.fromEntries(required.map((layer) => [layer, "required" as const]));
  return { ...profile, layers: { ...profile.layers, ...layers } };
}

/** Returns the cache folder of base images: the option, else the environment, else the user's cache folder. */
export function cacheDirectory(
  flag: string | undefined,
  environment: Pick<Deno.Env, "get"> = currentIo().env,
): string {
  const chosen = flag || environment.get("PADDOCK_CACHE_DIR");
  if (chosen) return resolve(chosen);
  const shared = environment.get("XDG_CACHE_HOME");
  return shared?.startsWith("/") ? join(shared, "paddock") : defaultCacheDir();
}

/** Options of {@linkcode createLazyPool}. */
export interface LazyPoolOptions {
  profile: Profile;
  /** Maximum number of interpreters. */
  size: number;
  /**
   * Number of further interpreters that are kept ready.
   *
   * @default 0
   */
  spare?: number | undefined;
  /**
   * Number of interpreters that are started for further owners, in reset mode `owner`.
   *
   * @default 0
   */
  keep?: number | undefined;
  resetMode: "rewind" | "fresh" | "owner";
  cacheDir?: string | undefined;
  /**
   * Key of checkpoints.
   *
   * @default a key in the cache folder
   */
  checkpointKey?: Uint8Array | undefined;
  /** Closes an opened pool. */
  stack: AsyncDisposableStack;
}

/** Returns a function that opens the pool at the first call, with a module in the image if that call names a module. */
export function createLazyPool(options: LazyPoolOptions): (preload?: Preload) => SandboxPool {
  const { cacheDir, stack, profile, ...rest } = options;
  let pool: SandboxPool | undefined;
  return (preload) => {
    pool ??= stack.use(
      new SandboxPool({
        ...rest,
        profile: preload ? { preload, ...profile } : profile,
        cacheDir: cacheDirectory(cacheDir),
        onBuild: announceBuild,
      }),
    );
    return pool;
  };
}
