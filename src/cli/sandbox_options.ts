import { type Command, Option } from "commander";
import { join, resolve } from "node:path";
import { errorMessage } from "../errors.ts";
import { defaultCacheDir, ensureBaseImage } from "../sandbox/image/base_image.ts";
import { SandboxPool } from "../sandbox/pool.ts";
import { loadProfile, type Profile } from "../sandbox/profile/profile.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { UsageError } from "./errors.ts";
import { currentIo } from "./io.ts";
import { writeText } from "./output.ts";

/** The options of every command that starts a sandbox. */
export interface SandboxFlags {
  profile: string;
  cacheDir?: string;
}

/** The option that chooses a profile. */
export function profileOption(): Option {
  return new Option("-p, --profile <name>", "what the sandbox may do: a name or a file").default("python");
}

/** The options of a command, with those that stand before its name. */
export function flagsOf<Flags>(command: Command): Flags {
  return command.optsWithGlobals() as Flags;
}

/**
 * Loads the profile that was asked for.
 *
 * @throws {UsageError} when there is none, or it is broken.
 */
export async function resolveProfile({ profile }: SandboxFlags): Promise<Profile> {
  try {
    return await loadProfile(profile);
  } catch (error) {
    throw new UsageError(errorMessage(error), { cause: error });
  }
}

/** Starts a sandbox; says on stderr when that takes long, and gives up when told to. */
export async function startSandbox(
  profile: Profile,
  options: { cacheDir?: string | undefined; signal: AbortSignal },
): Promise<Sandbox> {
  const { cacheDir, signal } = options;
  return await Sandbox.start({ profile, cacheDir: cacheDirectory(cacheDir), onBuild: announceBuild, signal });
}

/**
 * Has the base image of a profile ready before anything is played, so that one that cannot be had is one error, and
 * not one of each episode.
 *
 * @throws {UsageError} when there can be no such cache.
 * @throws {SandboxError} when the image cannot be built.
 */
export async function prepareImage(
  profile: Profile,
  options: { cacheDir?: string | undefined; signal: AbortSignal },
): Promise<void> {
  const cacheDir = cacheDirectory(options.cacheDir);
  await Deno.mkdir(cacheDir, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw new UsageError(`Cannot cache base images in '${cacheDir}': ${cause.message}`, { cause });
  });
  await ensureBaseImage(profile, { cacheDir, onBuild: announceBuild, signal: options.signal });
}

/** Says on stderr that a base image is being built. */
export function announceBuild(): void {
  const line = "Building the base image (some seconds, once) …\n";
  writeText(currentIo().stderr, line).catch(() => {}); // nobody reads it
}

/** Where base images are cached: as the option says, else the environment, else below the user's home. */
export function cacheDirectory(
  flag: string | undefined,
  environment: Pick<Deno.Env, "get"> = currentIo().env,
): string {
  const own = flag || environment.get("PADDOCK_CACHE_DIR");
  if (own) return resolve(own);
  const shared = environment.get("XDG_CACHE_HOME");
  return shared?.startsWith("/") ? join(shared, "paddock") : defaultCacheDir();
}

/** What a {@linkcode createLazyPool} opens. */
export interface LazyPoolOptions {
  profile: Profile;
  /** Interpreters at once. */
  size: number;
  resetMode: "rewind" | "fresh";
  cacheDir?: string | undefined;
  /** Closes the pool, where it was opened. */
  stack: AsyncDisposableStack;
}

/** A pool that is opened by the first who asks for it. */
export function createLazyPool(options: LazyPoolOptions): () => SandboxPool {
  const { cacheDir, stack, ...rest } = options;
  let pool: SandboxPool | undefined;
  return () => {
    pool ??= stack.use(
      new SandboxPool({ ...rest, cacheDir: cacheDirectory(cacheDir), onBuild: announceBuild }),
    );
    return pool;
  };
}
