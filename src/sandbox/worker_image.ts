import { errorMessage, SandboxError } from "../errors.ts";
import { boundedWasm } from "./bounded_wasm.ts";
import { EMBEDDED_PYODIDE } from "./embedded_pyodide.ts";
import { type Assets, blobUrl, cutLibrary, linkModules, shared, type WorkerAssets } from "./guest/assets.ts";
import type { HeapImage } from "./guest/python.ts";
import { WorkerLink } from "./guest/worker_link.ts";
import { workerModules } from "./guest_sources.ts";
import { exportNames, imagePlan, restoredWasm } from "./image_plan.ts";
import { wasmPages } from "./rlimits.ts";
import type { Profile } from "./profile.ts";
import { decodeLost, type Frame, FrameKind, FrameSplitter, join } from "./protocol.ts";

const BUILD_SESSION = 1;
const BUILD_TIMEOUT_MS = 300_000;
const decoder = new TextDecoder();

/**
 * Everything that workers of this process make sessions of, made in memory: no file is read. The image is built in a
 * worker of its own, which takes some seconds.
 *
 * @throws {SandboxError} when the worker fails; the message has its reason.
 */
export async function workerImage(profile: Profile): Promise<Assets> {
  const { factory, stdlib } = EMBEDDED_PYODIDE;
  const urls = new Map([["pyodide.asm.mjs", blobUrl(factory as Uint8Array<ArrayBuffer>)]]);
  const workerUrl = linkModules(urls, workerModules());
  const wasm = boundedWasm(EMBEDDED_PYODIDE.wasm, wasmPages(profile.limits));
  const module = await WebAssembly.compile(wasm);
  const exports = exportNames(module, EMBEDDED_PYODIDE);
  const library = shared(stdlib.slice() as Uint8Array<ArrayBuffer>);
  const common = {
    exportNames: exports,
    trees: [{ at: "/lib", files: cutLibrary(library, [["/python314.zip", library.length]]) }],
    limits: profile.limits,
  };
  const [image, lean] = await Promise.all([
    builtImage(profile, { workerUrl, assets: { ...common, module } }),
    WebAssembly.compile(restoredWasm(wasm, exports)),
  ]);
  return { workerUrl, rest: Promise.resolve({ ...common, image, module: lean, ownModuleOnly: true }) };
}

/** Starts Pyodide the long way, in a worker, and takes its heap. */
async function builtImage(
  profile: Profile,
  { workerUrl, assets }: { workerUrl: string; assets: Omit<WorkerAssets, "plan"> },
): Promise<HeapImage> {
  const pieces: Uint8Array[] = [];
  const splitter = new FrameSplitter();
  const { promise, resolve, reject } = Promise.withResolvers<Omit<HeapImage, "data">>();
  const receive = ({ kind, payload }: Frame) => {
    if (kind === FrameKind.image) pieces.push(payload);
    else if (kind === FrameKind.opened) resolve(JSON.parse(decoder.decode(payload)));
    else if (kind === FrameKind.lost) reject(new Error(decoder.decode(decodeLost(payload).reason)));
  };
  const worker = new WorkerLink(BUILD_SESSION, (bytes) => splitter.push(bytes).forEach(receive));
  const loaderUrl = blobUrl(EMBEDDED_PYODIDE.loader as Uint8Array<ArrayBuffer>);
  const late = () => reject(new Error(`not done after ${BUILD_TIMEOUT_MS} ms`));
  const timer = setTimeout(late, BUILD_TIMEOUT_MS);
  const plan = { ...imagePlan(profile, EMBEDDED_PYODIDE), loaderUrl };
  try {
    worker.start({ workerUrl, rest: Promise.resolve({ ...assets, plan }) }, {}).catch(reject);
    const about = await promise;
    return { ...about, data: shared(join(pieces)) };
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SandboxError(`Cannot build the image of profile '${profile.name}': ${reason}`, { cause });
  } finally {
    clearTimeout(timer);
    worker.kill();
    worker.end();
  }
}
