import { concat } from "@std/bytes";
import { join as joinPath } from "node:path";
import { abortable } from "../../async/abort.ts";
import { SandboxError } from "../../errors.ts";
import { Child } from "../process/child.ts";
import { childCommand, childEnvironment } from "../process/command.ts";
import type { AssetFile, BootPlan } from "../guest/assets.ts";
import type { HeapImage } from "../guest/python.ts";
import {
  exportNames,
  imagePlan,
  restoredWasm,
  shellModules,
  supervisorModules,
  workerModules,
} from "./guest_sources.ts";
import { bootMounts } from "../profile/mounts.ts";
import { readPackageFiles } from "./image_files.ts";
import type { Profile } from "../profile/profile.ts";
import { decodeLost, type Frame, FrameKind, join } from "../protocol.ts";
import { readPyodide } from "./pyodide.ts";
import { sha256 } from "../../hash.ts";
import { bundleShell } from "./shell_bundle.ts";

/** The part of a boot plan that is the same for every sandbox of one image. */
export type ImageManifest = Omit<BootPlan, "limits" | "mounts" | "plan" | "home">;

/** Main module of a sandbox, in the directory of its image. */
export const SUPERVISOR = "supervisor.js";

/** Timeout of a build; the longest list of pre-imports takes far less. */
const BUILD_TIMEOUT_MS = 120_000;
const BUILD_SESSION = 1;

/**
 * Builds a base image in `directory`: a child with the permissions of a sandbox starts Pyodide without an image and
 * sends its heap.
 *
 * @throws {SandboxError} if the child fails; the message has the reason.
 * @throws {TypeError} if a package is invalid.
 */
export async function buildBaseImage(
  profile: Profile,
  options: { directory: string; signal?: AbortSignal | undefined },
): Promise<ImageManifest> {
  const { directory } = options;
  const pyodide = await readPyodide();
  const library = [
    { path: "/python314.zip", contents: pyodide.stdlib },
    ...await readPackageFiles(profile.packages),
  ];
  for (const { name, source } of supervisorModules()) {
    await Deno.writeTextFile(joinPath(directory, name), source);
  }
  const save = (name: string, bytes: Uint8Array) => saveAsset(joinPath(directory, name), bytes);
  const module = await WebAssembly.compile(pyodide.wasm as Uint8Array<ArrayBuffer>);
  const exports = exportNames(module, pyodide);
  const base = {
    wasm: await save("full.wasm", pyodide.wasm),
    factory: await save("pyodide.asm.mjs", pyodide.factory),
    exportNames: exports,
    library: {
      ...await save("library.bin", concat(library.map((file) => file.contents))),
      index: library.map(({ path, contents }) => [path, contents.length] as const),
    },
    modules: workerModules(),
  };
  const plan = { loader: await save("pyodide.mjs", pyodide.loader), ...imagePlan(profile, pyodide) };
  const { metadata, data } = await runBuild(profile, options, {
    ...base,
    plan,
    mounts: profile.preload && !profile.preload.ignoresMounts ? bootMounts(profile.mounts) : [],
    limits: profile.limits,
  });
  await Deno.remove(joinPath(directory, base.wasm.path));
  return {
    ...base,
    wasm: await save("python.wasm", restoredWasm(pyodide.wasm, exports)),
    image: { ...metadata, ...await save("image.bin", data) },
    ...(profile.shell && {
      shell: {
        modules: shellModules(),
        engine: await save("engine.js", await bundleShell(options.signal)),
      },
    }),
  };
}

async function saveAsset(path: string, bytes: Uint8Array): Promise<AssetFile> {
  await Deno.writeFile(path, bytes);
  return { path: path.slice(path.lastIndexOf("/") + 1), sha256: await sha256(bytes) };
}

async function runBuild(
  profile: Profile,
  options: { directory: string; signal?: AbortSignal | undefined },
  plan: BootPlan,
): Promise<{ metadata: Omit<HeapImage, "data">; data: Uint8Array }> {
  const command = buildCommand(profile, options.directory);
  const pieces: Uint8Array[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Omit<HeapImage, "data">>();
  promise.catch(() => {}); // a cancelled build may not await the promise
  const fail = (reason: string) =>
    reject(new SandboxError(`Cannot build the base image of profile '${profile.name}': ${reason}`));
  const child = new Child(command, ({ kind, payload }: Frame) => {
    if (kind === FrameKind.image) pieces.push(payload);
    else if (kind === FrameKind.opened) resolve(JSON.parse(new TextDecoder().decode(payload)));
    else if (kind === FrameKind.lost) fail(lastLine(decodeLost(payload).reason));
    else if (kind === FrameKind.damaged) fail(lastLine(payload));
  });
  const timer = setTimeout(() => fail(`not done after ${BUILD_TIMEOUT_MS} ms`), BUILD_TIMEOUT_MS);
  child.ended.then(({ code, stderr }) => fail(`its process ended with code ${code}: ${stderr.trim()}`));
  child.send(FrameKind.boot, 0, JSON.stringify(plan));
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

function buildCommand(profile: Profile, directory: string): ConstructorParameters<typeof Child>[0] {
  const command = childCommand(profile, {
    denoPath: Deno.execPath(),
    assetsDir: directory,
    supervisorPath: joinPath(directory, SUPERVISOR),
    layers: new Set(),
  });
  return { ...command, env: childEnvironment() };
}

/** Returns the last line of a traceback. */
function lastLine(payload: Uint8Array): string {
  return new TextDecoder().decode(payload).trim().split("\n").at(-1) ?? "";
}
