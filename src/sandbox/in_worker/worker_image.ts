import { concat } from "@std/bytes";
import { errorMessage, SandboxError } from "../../errors.ts";
import { sha256 } from "../../hash.ts";
import { PADDOCK_VERSION } from "../../version.ts";
import { type Assets, splitLibrary, toShared, toSharedMemory, type WorkerAssets } from "../guest/assets.ts";
import type { HeapImage, ImageLayout } from "../guest/heap_image.ts";
import { blobUrl, linkModules } from "../guest/module_urls.ts";
import { WorkerLink } from "../guest/worker_link.ts";
import { imageExtension, leanWasm, plainImagePlan, workerModules } from "../image/guest_sources.ts";
import { PYODIDE_VERSION } from "../image/pyodide.ts";
import { standardLibrary } from "../image/standard_library.ts";
import { wasmPages } from "../process/child_command.ts";
import type { Profile } from "../profile/profile.ts";
import { decodeLost, type Frame, FrameKind, FrameSplitter, join } from "../protocol.ts";
import { boundWasm } from "./bounded_wasm.ts";
import { importEmbeddedPyodide } from "./embedded_pyodide.js";
import { readImageFile, type WorkerImage, writeImageFile } from "./image_file.ts";

/**
 * Part of the C stack that Python uses, in bytes. V8's stack has 1 MiB here, as the flags are the flags of the caller.
 * Calls of Python through C, such as calls of `lru_cache`, raise RecursionError after some 620 levels. In optimized
 * code V8's stack ends after some 660 levels. Recursion that takes little of the C stack, such as parsing JSON of
 * 10,000 brackets, overflows V8's stack, which ends the interpreter.
 */
const C_STACK_BYTES = 288 * 1024;

/** Options of {@linkcode openWorkerImage}. */
export interface WorkerImageOptions {
  /** Directory of images. @default images are not kept */
  readonly cacheDir?: string | undefined;
  /** Called before the image is built. */
  readonly onBuild: () => void;
}

/** Version of the image's contents. Increase it when the host makes them in another way. */
const WORKER_IMAGE_FORMAT = 2;

/**
 * Returns the assets of workers: from the cache, or made in memory, in a separate worker, which takes some seconds.
 *
 * @throws {SandboxError} if that worker fails, or the image cannot be written to the cache.
 */
export async function openWorkerImage(
  profile: Profile,
  { cacheDir, onBuild }: WorkerImageOptions,
): Promise<Assets> {
  const pyodide = await importEmbeddedPyodide();
  const urls = new Map([["pyodide.asm.mjs", toBlobUrl(pyodide.factory)]]);
  const workerUrl = linkModules(urls, workerModules());
  const files = await standardLibrary({ stdlib: pyodide.stdlib });
  const library = toShared(concat(files.map(({ contents }) => contents)));
  const index = files.map(({ path, contents }) => [path, contents.length] as const);
  const common = {
    trees: [{ at: "/lib", files: splitLibrary(library, index) }],
    limits: profile.limits,
  };
  const name = cacheDir === undefined ? undefined : await imageName(profile);
  const cached = cacheDir && name ? await readImageFile(cacheDir, name) : undefined;
  if (!cached) onBuild();
  const image = cached ?? await buildWorkerImage(profile, { pyodide, workerUrl, common });
  if (!cached && cacheDir && name) await writeImageFile(cacheDir, { name, image });
  const module = await WebAssembly.compile(image.wasm);
  const heap = { ...image.layout, memory: toSharedMemory(image.data) };
  const clock = profile.clock === "virtual" ? { clock: profile.clock } : {};
  const assets = { ...common, ...clock, image: heap, module, ownModuleOnly: true as const };
  return { workerUrl, forWorkers: Promise.resolve(assets) };
}

/** Returns a name that depends on everything that an image depends on. */
async function imageName(profile: Profile): Promise<string> {
  const inputs = {
    format: WORKER_IMAGE_FORMAT,
    paddock: PADDOCK_VERSION,
    deno: Deno.version.deno,
    pyodide: PYODIDE_VERSION,
    worker: workerModules(),
    extension: imageExtension(profile),
    pages: wasmPages(profile.limits),
    cStackBytes: C_STACK_BYTES,
  };
  return (await sha256(JSON.stringify(inputs))).slice(0, 32);
}

async function buildWorkerImage(
  profile: Profile,
  { pyodide, workerUrl, common }: {
    pyodide: Awaited<ReturnType<typeof importEmbeddedPyodide>>;
    workerUrl: string;
    common: Pick<WorkerAssets, "trees" | "limits">;
  },
): Promise<WorkerImage> {
  const { factory, loader } = pyodide;
  const bounded = boundWasm(pyodide.wasm, wasmPages(profile.limits));
  const lean = (data: boolean) => leanWasm({ factory, wasm: bounded }, { data }) as Uint8Array<ArrayBuffer>;
  const wasm = lean(false);
  const [full, module] = await Promise.all([WebAssembly.compile(lean(true)), WebAssembly.compile(wasm)]);
  const build = (assets: WorkerAssets) =>
    buildHeap(profile, { workerUrl, forWorkers: Promise.resolve(assets) });
  const plan = {
    ...plainImagePlan(pyodide, { cStackBytes: C_STACK_BYTES }),
    loaderUrl: toBlobUrl(loader),
  };
  const plain = toImage(await build({ ...common, module: full, plan }));
  return { wasm, ...await build({ ...common, module, image: plain, extension: imageExtension(profile) }) };
}

function toImage({ layout, data }: Pick<WorkerImage, "layout" | "data">): HeapImage {
  return { ...layout, memory: toSharedMemory(data) };
}

function toBlobUrl(code: Uint8Array): string {
  return blobUrl(code as Uint8Array<ArrayBuffer>);
}

const BUILD_SESSION = 1;
const BUILD_TIMEOUT_MS = 300_000;
const decoder = new TextDecoder();

/** Builds the heap of an image in a worker. */
async function buildHeap(profile: Profile, assets: Assets): Promise<Pick<WorkerImage, "layout" | "data">> {
  const pieces: Uint8Array[] = [];
  const splitter = new FrameSplitter();
  const { promise, resolve, reject } = Promise.withResolvers<ImageLayout>();
  const receive = ({ kind, payload }: Frame) => {
    if (kind === FrameKind.image) pieces.push(payload);
    else if (kind === FrameKind.opened) resolve(JSON.parse(decoder.decode(payload)));
    else if (kind === FrameKind.lost) reject(new Error(decoder.decode(decodeLost(payload).reason)));
  };
  const worker = new WorkerLink(BUILD_SESSION, {
    sendToHost: (bytes) => splitter.push(bytes).forEach(receive),
  });
  const onTimeout = () => reject(new Error(`not done after ${BUILD_TIMEOUT_MS} ms`));
  const timer = setTimeout(onTimeout, BUILD_TIMEOUT_MS);
  try {
    worker.start(assets, {}).catch(reject);
    const layout = await promise;
    return { layout, data: join(pieces) };
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SandboxError(`Cannot build the image of profile '${profile.name}': ${reason}`, { cause });
  } finally {
    clearTimeout(timer);
    worker.kill();
    worker.end();
  }
}
