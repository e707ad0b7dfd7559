import { join as joinPath } from "node:path";
import { abortable } from "../../async/abort.ts";
import { SandboxError } from "../../errors.ts";
import type { BootPlan } from "../guest/assets.ts";
import { DamagedImageError } from "../guest_link.ts";
import { Child } from "../process/child.ts";
import {
  childCommand,
  type ChildCommandOptions,
  childEnvironment,
  confinePlan,
  maxResidentBytes,
} from "../process/child_command.ts";
import { isRoot } from "../process/layer_probes.ts";
import { activeLayers, detectLayers } from "../process/layers.ts";
import { watchProcess } from "../process/watchdog.ts";
import type { Profile } from "../profile/profile.ts";
import { decodeLost, type Frame, FrameKind, join } from "../protocol.ts";

/** Main module of a sandbox, in the image's directory. */
export const SUPERVISOR = "supervisor.js";

/** Timeout of a build, and what each module adds that is compiled; both take far less. */
const [BUILD_TIMEOUT_MS, MODULE_TIMEOUT_MS] = [120_000, 200];
const BUILD_SESSION = 1;

/**
 * CPU time of a build, in seconds, for each second of the build's timeout: the build's threads run on several
 * cores.
 */
const BUILD_CORES = 4;
/**
 * Resident memory that a build may have beside what the sandboxes may have: files of packages, and images
 * that the build writes.
 */
const BUILD_BYTES = 2 * 1024 * 1024 * 1024;

/**
 * Runs the child of a build, and returns what the child sends: the pieces of `data`, then the description.
 */
export async function runBuild<Metadata>(
  profile: Profile,
  options: { directory: string; signal?: AbortSignal | undefined },
  plan: BootPlan,
): Promise<{ metadata: Metadata; data: Uint8Array }> {
  await openToSandboxes(options.directory);
  const commandOptions = await buildCommandOptions(profile, options.directory);
  const command = { ...childCommand(profile, commandOptions), env: childEnvironment() };
  const pieces: Uint8Array[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Metadata>();
  promise.catch(() => {}); // a cancelled build may not await the promise
  const fail = (reason: string) =>
    reject(new SandboxError(`Cannot build the base image of profile '${profile.name}': ${reason}`));
  const child = new Child(command, ({ kind, payload }: Frame) => {
    if (kind === FrameKind.image) pieces.push(payload);
    else if (kind === FrameKind.opened) resolve(JSON.parse(new TextDecoder().decode(payload)));
    else if (kind === FrameKind.lost) fail(lastLine(decodeLost(payload).reason));
    else if (kind === FrameKind.damaged) reject(new DamagedImageError(lastLine(payload)));
  });
  const timeoutMs = BUILD_TIMEOUT_MS + MODULE_TIMEOUT_MS * (plan.compile?.length ?? 0);
  const timer = setTimeout(() => fail(`not done after ${timeoutMs} ms`), timeoutMs);
  child.ended.then(({ code, stderr }) => fail(`its process ended with code ${code}: ${stderr.trim()}`));
  await using _watch = commandOptions.layers.has("watchdog")
    ? watchProcess(child.pid, {
      memoryBytes: maxResidentBytes(profile) + BUILD_BYTES,
      cpuSeconds: BUILD_CORES * timeoutMs / 1000,
    }, (breach) => fail(`its process used more ${breach === "cpu" ? "CPU time" : "memory"} than a build may`))
    : undefined;
  child.send(FrameKind.boot, 0, JSON.stringify({ ...plan, confine: confinePlan(profile, commandOptions) }));
  child.send(FrameKind.open, BUILD_SESSION, "{}");
  try {
    const metadata = await abortable(promise, options.signal);
    return { metadata, data: join(pieces) };
  } finally {
    clearTimeout(timer);
    child.kill();
    await child.ended;
  }
}

/**
 * Returns how the process of a build is started: behind the layers of a sandbox, as the process runs the code
 * of packages.
 */
async function buildCommandOptions(profile: Profile, directory: string): Promise<ChildCommandOptions> {
  return {
    denoPath: Deno.execPath(),
    assetsDir: directory,
    supervisorPath: joinPath(directory, SUPERVISOR),
    layers: activeLayers(profile, await detectLayers()),
    isRoot: isRoot(),
  };
}

const SHARED_FOLDER_MODE = 0o755;
const SHARED_FILE_MODE = 0o644;

/**
 * Lets every user read an image. If the host is root, the sandboxes are another user, which sees the image by
 * a mount. Other users of the host cannot reach the image, as the cache directory is closed to them.
 */
export async function openToSandboxes(directory: string): Promise<void> {
  if (Deno.uid() === null) return; // users have no numbers here, and files no modes
  await Deno.chmod(directory, SHARED_FOLDER_MODE);
  for await (const { name } of Deno.readDir(directory)) {
    await Deno.chmod(joinPath(directory, name), SHARED_FILE_MODE);
  }
}

/** Returns the last line of a traceback. */
function lastLine(payload: Uint8Array): string {
  return new TextDecoder().decode(payload).trim().split("\n").at(-1) ?? "";
}
