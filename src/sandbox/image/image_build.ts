import { concat } from "@std/bytes";
import { join as joinPath } from "node:path";
import {
  type AssetFile,
  type BootPlan,
  type LibraryAsset,
  type NativeAssets,
  splitLibrary,
} from "../guest/assets.ts";
import type { ImageExtension } from "../guest/build.ts";
import { isUsedImport } from "../guest/call_guard.ts";
import { MODULE_PROPERTIES } from "../guest/emscripten.ts";
import type { ImageLayout } from "../guest/heap_image.ts";
import {
  COMMON_MODULES,
  exportedFunctions,
  leanWasm,
  plainImagePlan,
  supervisorModules,
  workerModules,
} from "./guest_sources.ts";
import { runBuild } from "./build_child.ts";
import { FULL_C_STACK_BYTES } from "./wasm/c_stack.ts";
import { addByteCode, LATE_PATHS, standardLibrary, standardModules } from "./standard_library.ts";
import { bootMounts } from "../profile/mounts.ts";
import { isNativeLibrary, type LibraryFile, linkLibraries, type NativeLibrary } from "./native_libraries.ts";
import { parseProfile, type Profile } from "../profile/profile.ts";
import { readPyodide } from "./pyodide.ts";
import { sha256 } from "../../hash.ts";
import { bundleEngine, bundleShell } from "./shell/shell_bundle.ts";
import { largestFunction, stripWasm } from "./wasm/wasm.ts";

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

/** Size of a file, in bytes, and the time of the last change, in milliseconds since 1970. */
export type FileStamp = readonly [bytes: number, changedMs: number];

/** Options of a build. */
export interface ImageBuildOptions {
  /** Directory of the new image. */
  readonly directory: string;
  /** Cancels the build. */
  readonly signal?: AbortSignal | undefined;
}

/** Description of an image, in the image's directory. The description is written last. */
export const MANIFEST = "manifest.json";

/** Part of the C stack that Python uses. The rest is for C functions that Python's checks do not count. */
export const C_STACK_BYTES: number = FULL_C_STACK_BYTES - 256 * 1024;

/** Options of {@linkcode extendPlainImage}. */
export interface ImageExtensionOptions extends ImageBuildOptions {
  /** What the profile adds to the plain image. */
  readonly extension: ImageExtension;
  /** Files of the profile's packages. */
  readonly packages: readonly LibraryFile[];
}

/**
 * Builds the plain image, which has nothing of a profile: a child with the permissions of a sandbox starts
 * Pyodide without an image and sends Pyodide's heap.
 *
 * @throws {SandboxError} if the child fails; the message has the reason.
 */
export async function buildPlainImage(options: ImageBuildOptions): Promise<ImageManifest> {
  const { directory } = options;
  const build = new ImageBuild(parseProfile("{}", { source: "plain image" }), options);
  const pyodide = await readPyodide();
  for (const { name, source } of supervisorModules()) {
    await Deno.writeTextFile(joinPath(directory, name), source);
  }
  const base = {
    library: await build.saveLibrary(await standardLibrary(pyodide)),
    modules: workerModules(),
  };
  const full = {
    factory: await build.save("full.mjs", pyodide.factory),
    wasm: await build.save("full.wasm", leanWasm(pyodide, { data: true })),
  };
  const loader = await build.save("pyodide.mjs", pyodide.loader);
  const { metadata, data } = await build.run<ImageLayout>({
    ...base,
    ...full,
    plan: { loader, ...plainImagePlan(pyodide, { cStackBytes: C_STACK_BYTES }) },
  });
  for (const { path } of [loader, full.factory, full.wasm]) await Deno.remove(joinPath(directory, path));
  const factory = await leanFactory(pyodide.factory, pyodide.wasm);
  const wasm = leanWasm(pyodide, { data: false, functions: exportedFunctions({ factory }) });
  const manifest: ImageManifest = {
    ...base,
    wasm: await build.save("python.wasm", wasm),
    interpreterLoop: largestFunction(wasm),
    factory: await build.save("pyodide.asm.mjs", factory),
    image: { ...metadata, ...await build.save("image.bin", data) },
  };
  const modules = [...await standardModules(pyodide, COMMON_MODULES), ...LATE_PATHS];
  const byteCode = await build.compile(modules, manifest);
  const stdlib = await addByteCode(pyodide.stdlib, byteCode);
  return { ...manifest, library: await build.saveLibrary(await standardLibrary({ stdlib, byteCode })) };
}

/**
 * Builds the image of a profile: a child with the permissions of a sandbox restores the plain image, imports
 * what the profile names, and sends the heap.
 *
 * @throws {SandboxError} if the child fails; the message has the reason.
 * @throws {DamagedImageError} if the plain image is damaged.
 * @throws {TypeError} if a package is invalid.
 */
export async function extendPlainImage(
  plain: BaseImage,
  profile: Profile,
  { extension, packages, ...options }: ImageExtensionOptions,
): Promise<ImageManifest> {
  const build = new ImageBuild(profile, options);
  await copyFiles(plain.directory, options.directory);
  const base = packages.length === 0 ? plain.manifest : await addPackages(build, plain.manifest, packages);
  const mounts = profile.preload && !profile.preload.ignoresMounts ? bootMounts(profile.mounts) : [];
  const { metadata, data } = await build.run<ImageLayout>({ ...base, extension, mounts });
  return {
    ...base,
    ...(base.native && { native: await dropData(build, base.native, metadata) }),
    image: { ...metadata, ...await build.save("image.bin", data) },
    ...(profile.shell && { shell: await saveShell(build, options) }),
  };
}

async function saveShell(
  build: ImageBuild,
  { directory, signal }: ImageBuildOptions,
): Promise<NonNullable<BootPlan["shell"]>> {
  const engine = await bundleEngine({ directory, signal });
  const modules = await bundleShell({ signal });
  return {
    engine: await build.save("engine.js", engine),
    modules: await Promise.all(
      modules.map(async ({ name, code }) => ({
        name,
        ...await build.save(`shell_${name.replace(/ts$/, "js")}`, code),
      })),
    ),
  };
}

/**
 * Saves the files of packages beside the standard library, with byte code. If they have native libraries, the
 * interpreter's module exports what those need.
 */
async function addPackages(
  build: ImageBuild,
  plain: ImageManifest,
  packages: readonly LibraryFile[],
): Promise<ImageManifest> {
  const pyodide = await readPyodide();
  const isNative = ({ path }: LibraryFile) => isNativeLibrary(path);
  const libraries = linkLibraries(packages.filter(isNative), pyodide.wasm);
  const files = [
    ...splitLibrary(await build.read(plain.library), plain.library.index),
    ...packages.map((file) => isNative(file) ? { ...file, contents: new Uint8Array() } : file),
  ];
  const base = { ...plain, library: await build.saveLibrary(files) };
  const modules = packages.map(({ path }) => path)
    .filter((path) => path.endsWith(".py") && !/\/tests?\//.test(path));
  const byteCode = await build.compile(modules, base);
  const cached = [...byteCode].map(([path, contents]) => ({ path: cachePath(path), contents }));
  const library = await build.saveLibrary([...files, ...cached]);
  if (libraries.length === 0) return { ...base, library };
  const factory = await build.read(plain.factory);
  const needed = libraries.flatMap(({ mainFunctions }) => mainFunctions);
  const functions = new Set([...exportedFunctions({ factory }), ...needed]);
  const wasm = leanWasm(pyodide, { data: false, functions });
  return {
    ...base,
    library,
    wasm: await build.save("python.wasm", wasm),
    interpreterLoop: largestFunction(wasm),
    native: {
      libraries: await Promise.all(libraries.map((file, index) => saveNativeLibrary(build, file, index))),
    },
  };
}

/** Returns the path where Python looks for a module's byte code. */
function cachePath(path: string): string {
  return path.replace(/([^/]+)\.py$/, "__pycache__/$1.cpython-314.pyc");
}

async function saveNativeLibrary(
  build: ImageBuild,
  { guestPath, link, wasm, trampolines }: NativeLibrary,
  index: number,
): Promise<LibraryAsset> {
  return {
    guestPath,
    link,
    ...await build.save(`native_${index}.wasm`, wasm),
    ...(trampolines && { trampolines: await build.save(`trampolines_${index}.wasm`, trampolines) }),
  };
}

/** Removes the data of the libraries that are loaded in the image, which has their data. */
async function dropData(
  build: ImageBuild,
  { libraries, ...others }: NativeAssets,
  { links }: Pick<ImageLayout, "links">,
): Promise<NativeAssets> {
  const loaded = new Set(links?.places.map(({ library }) => library));
  const drop = async (asset: LibraryAsset) => ({
    ...asset,
    ...await build.save(asset.path, stripWasm(await build.read(asset), { data: false })),
  });
  return {
    ...others,
    libraries: await Promise.all(
      libraries.map((asset, index) => loaded.has(index) ? drop(asset) : asset),
    ),
  };
}

/** Modules for which a further process is worth the start. */
const MODULES_PER_PROCESS = 100;

/**
 * The directory of a new image, and the children that build the image, which are limited as sandboxes of a
 * profile are.
 */
class ImageBuild {
  readonly #profile: Profile;
  readonly #options: ImageBuildOptions;

  constructor(profile: Profile, options: ImageBuildOptions) {
    this.#profile = profile;
    this.#options = options;
  }

  /** Runs a child, and returns what the child sends. */
  async run<Metadata>(
    plan: Omit<BootPlan, "limits" | "mounts"> & Partial<Pick<BootPlan, "mounts">>,
  ): Promise<{ metadata: Metadata; data: Uint8Array }> {
    const { limits } = this.#profile;
    return await runBuild<Metadata>(this.#profile, this.#options, { mounts: [], ...plan, limits });
  }

  /**
   * Compiles modules in sandboxes, and returns their byte code by path, which makes an import about five
   * times as fast. Leaves out those that are not valid Python.
   *
   * @param paths Relative to the mount of the library.
   */
  async compile(paths: readonly string[], manifest: ImageManifest): Promise<Map<string, Uint8Array>> {
    const processes = Math.min(navigator.hardwareConcurrency, Math.ceil(paths.length / MODULES_PER_PROCESS));
    const byteCode = new Map<string, Uint8Array>();
    await Promise.all(Array.from({ length: processes }, async (_, process) => {
      const part = paths.filter((_, index) => index % processes === process);
      const compile = part.map((path) => `/lib${path}`);
      const { metadata, data } = await this.run<{ sizes: number[] }>({ ...manifest, compile });
      let end = 0;
      part.forEach((path, index) => {
        const contents = data.subarray(end, end += metadata.sizes[index] ?? 0);
        if (contents.length > 0) byteCode.set(path, contents);
      });
    }));
    return byteCode;
  }

  async saveLibrary(files: readonly LibraryFile[]): Promise<BootPlan["library"]> {
    const bytes = concat(files.map(({ contents }) => contents));
    return {
      ...await this.save("library.bin", bytes),
      index: files.map(({ path, contents }) => [path, contents.length] as const),
    };
  }

  async save(name: string, bytes: Uint8Array): Promise<AssetFile> {
    await Deno.writeFile(joinPath(this.#options.directory, name), bytes);
    return { path: name, sha256: await sha256(bytes) };
  }

  async read({ path }: Pick<AssetFile, "path">): Promise<Uint8Array<ArrayBuffer>> {
    return await Deno.readFile(joinPath(this.#options.directory, path));
  }
}

/**
 * Variables of Emscripten's JavaScript with which that JavaScript finds and names the addresses of functions.
 * The image has these addresses, and the table has the functions.
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

async function copyFiles(from: string, to: string): Promise<void> {
  for await (const { name } of Deno.readDir(from)) {
    if (name !== MANIFEST) await Deno.copyFile(joinPath(from, name), joinPath(to, name));
  }
}
