import { concat } from "@std/bytes";
import { join as joinPath } from "node:path";
import {
  type AssetFile,
  type BootPlan,
  type LibraryAsset,
  type NativeAssets,
  splitLibrary,
} from "../guest/assets.ts";
import { isUsedImport } from "../guest/call_guard.ts";
import { MODULE_PROPERTIES } from "../guest/emscripten.ts";
import type { ImageLayout } from "../guest/heap_image.ts";
import {
  COMMON_MODULES,
  exportedFunctions,
  imageExtension,
  leanWasm,
  plainImagePlan,
  supervisorModules,
  workerModules,
} from "./guest_sources.ts";
import { runBuild } from "./build_child.ts";
import { FULL_C_STACK_BYTES } from "./c_stack.ts";
import { addByteCode, standardLibrary, standardModules } from "./standard_library.ts";
import { bootMounts } from "../profile/mounts.ts";
import { isNativeLibrary, type LibraryFile, linkLibraries, type NativeLibrary } from "./native_libraries.ts";
import { parseProfile, type Profile } from "../profile/profile.ts";
import { readPyodide } from "./pyodide.ts";
import { sha256 } from "../../hash.ts";
import { bundleEngine, bundleShell } from "./shell/shell_bundle.ts";
import { largestFunction, stripWasm } from "./wasm.ts";

/** The part of a boot plan that is the same for every sandbox of one image, and what its command needs. */
export interface ImageManifest extends
  Omit<
    BootPlan,
    | "limits"
    | "mounts"
    | "plan"
    | "extension"
    | "compile"
    | "home"
    | "confine"
    | "sessionsPerProcess"
    | "isUnchanged"
  > {
  /** Index of the function that runs Python's byte code. */
  readonly interpreterLoop: number;
}

/** A base image in the cache, from which sandboxes start. */
export interface BaseImage {
  readonly directory: string;
  readonly manifest: ImageManifest;
  /** Size and time of change of each file when the manifest was written, by name. */
  readonly files: Readonly<Record<string, FileStamp>>;
}

/** Size of a file, in bytes, and the time of its last change, in milliseconds since 1970. */
export type FileStamp = readonly [bytes: number, changedMs: number];

/** Options of a build. */
export interface ImageBuildOptions {
  /** Directory of the new image. */
  readonly directory: string;
  /** Cancels the build. */
  readonly signal?: AbortSignal | undefined;
}

/** Description of an image, in its directory. It is written last. */
export const MANIFEST = "manifest.json";

/** Part of the C stack that Python uses. The rest is for C functions that Python's checks do not count. */
export const C_STACK_BYTES: number = FULL_C_STACK_BYTES - 256 * 1024;

/**
 * Builds the plain image, which has nothing of a profile: a child with the permissions of a sandbox starts Pyodide
 * without an image and sends its heap.
 *
 * @throws {SandboxError} if the child fails; the message has the reason.
 */
export async function buildPlainImage(options: ImageBuildOptions): Promise<ImageManifest> {
  const { directory } = options;
  const pyodide = await readPyodide();
  for (const { name, source } of supervisorModules()) {
    await Deno.writeTextFile(joinPath(directory, name), source);
  }
  const save = (name: string, bytes: Uint8Array) => saveAsset(joinPath(directory, name), bytes);
  const base = {
    library: await saveLibrary(directory, await standardLibrary(pyodide)),
    modules: workerModules(),
  };
  const full = {
    factory: await save("full.mjs", pyodide.factory),
    wasm: await save("full.wasm", leanWasm(pyodide, { data: true })),
  };
  const loader = await save("pyodide.mjs", pyodide.loader);
  const profile = parseProfile("{}", { source: "plain image" });
  const { metadata, data } = await runBuild<ImageLayout>(profile, options, {
    ...base,
    ...full,
    plan: { loader, ...plainImagePlan(pyodide, { cStackBytes: C_STACK_BYTES }) },
    mounts: [],
    limits: profile.limits,
  });
  for (const { path } of [loader, full.factory, full.wasm]) await Deno.remove(joinPath(directory, path));
  const factory = await leanFactory(pyodide.factory, pyodide.wasm);
  const wasm = leanWasm(pyodide, { data: false, functions: exportedFunctions({ factory }) });
  const manifest: ImageManifest = {
    ...base,
    wasm: await save("python.wasm", wasm),
    interpreterLoop: largestFunction(wasm),
    factory: await save("pyodide.asm.mjs", factory),
    image: { ...metadata, ...await save("image.bin", data) },
  };
  const modules = await standardModules(pyodide, COMMON_MODULES);
  const byteCode = await compileModules(modules, { manifest, profile, ...options });
  const stdlib = await addByteCode(pyodide.stdlib, byteCode);
  return { ...manifest, library: await saveLibrary(directory, await standardLibrary({ stdlib })) };
}

/**
 * Builds the image of a profile: a child with the permissions of a sandbox restores the plain image, imports what the
 * profile names, and sends its heap.
 *
 * @throws {SandboxError} if the child fails; the message has the reason.
 * @throws {DamagedImageError} if the plain image is damaged.
 * @throws {TypeError} if a package is invalid.
 */
export async function extendPlainImage(
  plain: BaseImage,
  profile: Profile,
  options: ImageBuildOptions & { readonly packages: readonly LibraryFile[] },
): Promise<ImageManifest> {
  const { directory, packages, signal } = options;
  await copyFiles(plain.directory, directory);
  const base = packages.length === 0 ? plain.manifest : await addPackages(plain.manifest, profile, options);
  const { metadata, data } = await runBuild<ImageLayout>(profile, options, {
    ...base,
    extension: imageExtension(profile),
    mounts: profile.preload && !profile.preload.ignoresMounts ? bootMounts(profile.mounts) : [],
    limits: profile.limits,
  });
  const save = (name: string, bytes: Uint8Array) => saveAsset(joinPath(directory, name), bytes);
  return {
    ...base,
    ...(base.native && { native: await dropData(directory, base.native, metadata) }),
    image: { ...metadata, ...await save("image.bin", data) },
    ...(profile.shell && { shell: await saveShell(directory, signal) }),
  };
}

async function saveShell(directory: string, signal?: AbortSignal): Promise<NonNullable<BootPlan["shell"]>> {
  const save = (name: string, bytes: Uint8Array) => saveAsset(joinPath(directory, name), bytes);
  const engine = await bundleEngine({ directory, signal }); // alone, as it may install the bundler
  const modules = await bundleShell(signal);
  return {
    engine: await save("engine.js", engine),
    modules: await Promise.all(
      modules.map(async ({ name, code }) => ({
        name,
        ...await save(`shell_${name.replace(/ts$/, "js")}`, code),
      })),
    ),
  };
}

/**
 * Saves the files of packages beside the standard library, with byte code. If they have native libraries, the
 * interpreter's module exports what those need.
 */
async function addPackages(
  plain: ImageManifest,
  profile: Profile,
  options: ImageBuildOptions & { readonly packages: readonly LibraryFile[] },
): Promise<ImageManifest> {
  const { directory, packages, signal } = options;
  const pyodide = await readPyodide();
  const isNative = ({ path }: LibraryFile) => isNativeLibrary(path);
  const libraries = linkLibraries(packages.filter(isNative), pyodide.wasm);
  const files = [
    ...await readLibrary(directory, plain.library),
    ...packages.map((file) => isNative(file) ? { ...file, contents: new Uint8Array() } : file),
  ];
  const base = { ...plain, library: await saveLibrary(directory, files) };
  const modules = packages.map(({ path }) => path)
    .filter((path) => path.endsWith(".py") && !/\/tests?\//.test(path));
  const byteCode = await compileModules(modules, { manifest: base, profile, directory, signal });
  const cached = [...byteCode].map(([path, contents]) => ({ path: cachePath(path), contents }));
  const library = await saveLibrary(directory, [...files, ...cached]);
  if (libraries.length === 0) return { ...base, library };
  const factory = await Deno.readFile(joinPath(directory, plain.factory.path));
  const needed = libraries.flatMap(({ mainFunctions }) => mainFunctions);
  const functions = new Set([...exportedFunctions({ factory }), ...needed]);
  const wasm = leanWasm(pyodide, { data: false, functions });
  return {
    ...base,
    library,
    wasm: await saveAsset(joinPath(directory, "python.wasm"), wasm),
    interpreterLoop: largestFunction(wasm),
    native: {
      libraries: await Promise.all(libraries.map((file, index) => saveNativeLibrary(directory, file, index))),
    },
  };
}

/** Modules for which a further process is worth its start. */
const MODULES_PER_PROCESS = 100;

/**
 * Compiles modules in sandboxes, and returns their byte code by path, which makes an import about five times as fast.
 * Leaves out those that are not valid Python.
 *
 * @param paths Relative to the mount of the library.
 */
async function compileModules(
  paths: readonly string[],
  { manifest, profile, ...options }: ImageBuildOptions & { manifest: ImageManifest; profile: Profile },
): Promise<Map<string, Uint8Array>> {
  const processes = Math.min(navigator.hardwareConcurrency, Math.ceil(paths.length / MODULES_PER_PROCESS));
  const byteCode = new Map<string, Uint8Array>();
  await Promise.all(Array.from({ length: processes }, async (_, process) => {
    const part = paths.filter((_, index) => index % processes === process);
    const { metadata, data } = await runBuild<{ sizes: number[] }>(profile, options, {
      ...manifest,
      compile: part.map((path) => `/lib${path}`),
      mounts: [],
      limits: profile.limits,
    });
    let end = 0;
    part.forEach((path, index) => {
      const contents = data.subarray(end, end += metadata.sizes[index] ?? 0);
      if (contents.length > 0) byteCode.set(path, contents);
    });
  }));
  return byteCode;
}

/** Returns the path where Python looks for a module's byte code. */
function cachePath(path: string): string {
  return path.replace(/([^/]+)\.py$/, "__pycache__/$1.cpython-314.pyc");
}

async function saveNativeLibrary(
  directory: string,
  { guestPath, link, wasm, trampolines }: NativeLibrary,
  index: number,
): Promise<LibraryAsset> {
  const save = (name: string, bytes: Uint8Array) => saveAsset(joinPath(directory, name), bytes);
  return {
    guestPath,
    link,
    ...await save(`native_${index}.wasm`, wasm),
    ...(trampolines && { trampolines: await save(`trampolines_${index}.wasm`, trampolines) }),
  };
}

/** Removes the data of the libraries that are loaded in the image, which has their data. */
async function dropData(
  directory: string,
  { libraries, ...others }: NativeAssets,
  { links }: Pick<ImageLayout, "links">,
): Promise<NativeAssets> {
  const loaded = new Set(links?.places.map(({ library }) => library));
  const drop = async (asset: LibraryAsset) => {
    const path = joinPath(directory, asset.path);
    return { ...asset, ...await saveAsset(path, stripWasm(await Deno.readFile(path), { data: false })) };
  };
  return {
    ...others,
    libraries: await Promise.all(
      libraries.map((asset, index) => loaded.has(index) ? drop(asset) : asset),
    ),
  };
}

/**
 * Variables of Emscripten's JavaScript with which it finds and names the addresses of functions. The image has these
 * addresses, and the table has the functions.
 */
const IN_IMAGE: Readonly<Record<string, string>> = {
  updateGOT: "()=>{}",
  mergeLibSymbols: "()=>{}",
  functionsInTableMap: "new WeakMap",
};

/** Returns Emscripten's JavaScript with the parts that a restored interpreter calls. */
async function leanFactory(factory: Uint8Array, wasm: Uint8Array): Promise<Uint8Array> {
  const { stripFactory } = await import("./lean_factory.ts"); // its parser is needed once
  const module = await WebAssembly.compile(wasm as Uint8Array<ArrayBuffer>);
  const used = WebAssembly.Module.imports(module).filter(isUsedImport);
  const text = stripFactory(new TextDecoder().decode(factory), {
    imports: new Set(used.map(({ name }) => name)),
    properties: MODULE_PROPERTIES,
    replaced: IN_IMAGE,
  });
  return new TextEncoder().encode(text);
}

async function saveLibrary(directory: string, files: readonly LibraryFile[]): Promise<BootPlan["library"]> {
  const bytes = concat(files.map(({ contents }) => contents));
  return {
    ...await saveAsset(joinPath(directory, "library.bin"), bytes),
    index: files.map(({ path, contents }) => [path, contents.length] as const),
  };
}

async function readLibrary(directory: string, library: BootPlan["library"]): Promise<LibraryFile[]> {
  return splitLibrary(await Deno.readFile(joinPath(directory, library.path)), library.index);
}

async function saveAsset(path: string, bytes: Uint8Array): Promise<AssetFile> {
  await Deno.writeFile(path, bytes);
  return { path: path.slice(path.lastIndexOf("/") + 1), sha256: await sha256(bytes) };
}

async function copyFiles(from: string, to: string): Promise<void> {
  for await (const { name } of Deno.readDir(from)) {
    if (name !== MANIFEST) await Deno.copyFile(joinPath(from, name), joinPath(to, name));
  }
}
