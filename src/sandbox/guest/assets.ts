import type { ImageExtension, PlainImagePlan } from "./build.ts";
import type { ConfinePlan } from "./supervisor/confine_plan.ts";
import type { HeapImage, ImageLayout } from "./heap_image.ts";
import { blobUrl, linkModules, type SourceModule } from "./module_urls.ts";
import type { LinkInfo, NativeCode, SideModule } from "./python/side_module.ts";
import type { ReadOnlyFile, ReadOnlyTree } from "./files/read_only_files.ts";

const WASM_PAGE_BYTES = 65_536;

/** A file next to the supervisor, with its expected SHA-256. */
export interface AssetFile {
  readonly path: string;
  readonly sha256: string;
}

/** A native library of a package, in the directory of an image. */
export interface LibraryAsset extends AssetFile {
  /** Path by which Python opens it. */
  readonly guestPath: string;
  readonly link: LinkInfo;
  readonly trampolines?: AssetFile;
}

/** Native libraries of packages. */
export interface NativeAssets {
  readonly libraries: readonly LibraryAsset[];
}

/** The host's first message: the files of a session, and settings for all sessions. */
export interface BootPlan {
  /**
   * True if no file has changed since its hash was computed, so that hashes are not compared.
   *
   * @default false
   */
  readonly isUnchanged?: boolean;
  /** Layers that the process takes up before it reads a file. */
  readonly confine?: ConfinePlan | undefined;
  readonly wasm: AssetFile;
  readonly factory: AssetFile;
  /** The worker's modules. Each follows the modules that it imports. */
  readonly modules: readonly SourceModule[];
  /** The files of `/lib`, concatenated. The index has path and length of each. */
  readonly library: AssetFile & { readonly index: readonly (readonly [string, number])[] };
  /** Absent if the profile's packages have no native libraries. */
  readonly native?: NativeAssets;
  readonly mounts: readonly { readonly guest: string; readonly host: string }[];
  readonly image?: AssetFile & ImageLayout;
  /** Present if a plain image is to be built, in place of `image`. */
  readonly plan?: Omit<PlainImagePlan, "loaderUrl"> & { readonly loader: AssetFile };
  /** Present if `image` is a plain image that is to be extended. */
  readonly extension?: ImageExtension;
  /** Paths of Python files that are to be compiled, in place of building an image. */
  readonly compile?: readonly string[];
  /** The shell's engine and its modules, of which the last is the shell itself. */
  readonly shell?: {
    readonly engine: AssetFile;
    readonly modules: readonly (AssetFile & { readonly name: string })[];
  };
  readonly limits: { readonly outputBytes: number; readonly fileBytes: number };
  /** Present if time passes only by what programs do. */
  readonly clock?: "virtual" | undefined;
  /**
   * Number of sessions that the process may run at once.
   *
   * @default 1
   */
  readonly sessionsPerProcess?: number;
  /** Hosts that the profile lists; absent if the profile has no network. */
  readonly allowedHosts?: readonly string[];
  /**
   * Additional environment variables of the shell. Python's variables are part of the image.
   *
   * @default none
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Home directory of sessions.
   *
   * @default "/home/pyodide"
   */
  readonly home?: string;
}

/** The part of a worker's message that is equal for all workers of the process. */
export interface WorkerAssets {
  readonly module: WebAssembly.Module;
  readonly trees: readonly ReadOnlyTree[];
  /** Absent if the profile's packages have no native libraries. */
  readonly native?: NativeCode;
  readonly image?: HeapImage;
  readonly plan?: PlainImagePlan;
  readonly extension?: ImageExtension;
  /** Paths of Python files of which the byte code is to be sent. */
  readonly compile?: readonly string[];
  /** URL of the shell's code. Absent if the profile has no shell. */
  readonly shellUrl?: string;
  /** True if Python must not load native libraries. */
  readonly ownModuleOnly?: true;
  readonly limits: BootPlan["limits"];
  /** Present if time passes only by what programs do. */
  readonly clock?: "virtual";
  readonly allowedHosts?: BootPlan["allowedHosts"];
  readonly environment?: BootPlan["environment"];
  /**
   * The session's home directory.
   *
   * @default "/home/pyodide"
   */
  readonly home?: string;
}

/** The assets. The worker's code is available at once, so that it loads while the other files are read and verified. */
export interface Assets {
  readonly workerUrl: string;
  /** Rejects if any file is damaged, including the worker's code. */
  readonly forWorkers: Promise<WorkerAssets>;
}

/** Reads every asset, verifies those that may have changed, then gives up the read permission. */
export function loadAssets(plan: BootPlan): Assets {
  const files = new AssetReader(plan);
  const urls = new Map<string, string>();
  const addFile = async (name: string, file: AssetFile) => {
    const bytes = files.readSync(file);
    urls.set(name, blobUrl(bytes));
    await files.verify(file, bytes);
    free(bytes);
  };
  const code = [addFile("pyodide.asm.mjs", plan.factory)];
  const workerUrl = linkModules(urls, plan.modules);
  if (!plan.shell) return { workerUrl, forWorkers: loadForWorkers(plan, files, code) };
  code.push(addFile("engine.ts", plan.shell.engine));
  const shellUrl = linkModules(
    urls,
    plan.shell.modules.map(({ name, ...file }) => {
      const bytes = files.readSync(file);
      code.push(files.verify(file, bytes));
      return { name, source: new TextDecoder().decode(bytes) };
    }),
  );
  const forWorkers = loadForWorkers(plan, files, code).then((assets) => ({ ...assets, shellUrl }));
  return { workerUrl, forWorkers };
}

async function loadForWorkers(
  plan: BootPlan,
  files: AssetReader,
  code: Promise<void>[],
): Promise<WorkerAssets> {
  await new Promise((resolve) => setTimeout(resolve)); // the first worker starts while this thread reads
  const loaded = new Set(plan.image?.links?.places.map((place) => place.library));
  const [module, libraries, library, memory, loader] = await Promise.all([
    files.compile(plan.wasm),
    Promise.all(
      (plan.native?.libraries ?? []).map((asset, index) => readSideModule(files, asset, loaded.has(index))),
    ),
    files.readShared(plan.library),
    plan.image && files.readMemory(plan.image),
    plan.plan && files.read(plan.plan.loader),
    ...code,
  ]);
  const mounts = plan.mounts.map((mount) => readMount(mount));
  await Deno.permissions.revoke({ name: "read" });
  return {
    module,
    trees: [{ at: "/lib", files: splitLibrary(library, plan.library.index) }, ...mounts],
    ...(plan.native && { native: { libraries } }),
    ...(plan.image && memory ? { image: { ...plan.image, memory } } : {}),
    ...(plan.plan && loader ? { plan: { ...plan.plan, loaderUrl: blobUrl(loader) } } : {}),
    ...(plan.extension && { extension: plan.extension }),
    ...(plan.compile && { compile: plan.compile }),
    limits: plan.limits,
    ...(plan.clock && { clock: plan.clock }),
    ...(plan.environment && { environment: plan.environment }),
    ...(plan.allowedHosts && { allowedHosts: plan.allowedHosts }),
    ...(plan.home && { home: plan.home }),
  };
}

/** Reads a native library, and compiles it if every session has it. */
async function readSideModule(
  files: AssetReader,
  asset: LibraryAsset,
  isLoaded: boolean,
): Promise<SideModule> {
  const { guestPath: path, link, trampolines } = asset;
  const read = async (file: AssetFile) => isLoaded ? await files.compile(file) : await files.readShared(file);
  return {
    path,
    link,
    code: await read(asset),
    ...(trampolines && { trampolines: await read(trampolines) }),
  };
}

/**
 * Reads the files beside the supervisor. It reads on the calling thread, which has nothing else to do at a start, and
 * into shared memory without a copy.
 */
class AssetReader {
  readonly #isUnchanged: boolean;

  constructor({ isUnchanged = false }: Pick<BootPlan, "isUnchanged">) {
    this.#isUnchanged = isUnchanged;
  }

  /** Reads a file that {@linkcode AssetReader.verify} is to verify. */
  readSync(file: AssetFile): Uint8Array<ArrayBuffer> {
    return Deno.readFileSync(new URL(file.path, import.meta.url));
  }

  /** @throws {Error} if the bytes do not match the hash of the file, which may have changed. */
  async verify(file: AssetFile, bytes: Uint8Array): Promise<void> {
    if (this.#isUnchanged) return;
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes)));
    if (digest.toHex() !== file.sha256) throw new Error(`'${file.path}' does not match its hash`);
  }

  /** @throws {Error} as {@linkcode AssetReader.verify} does. */
  async read(file: AssetFile): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = this.readSync(file);
    await this.verify(file, bytes);
    return bytes;
  }

  /** Compiles a module. Rejects if its hash differs, and then returns nothing of it. */
  async compile(file: AssetFile): Promise<WebAssembly.Module> {
    const bytes = await this.read(file);
    const module = new WebAssembly.Module(bytes);
    free(bytes);
    return module;
  }

  /** Reads a file into memory that all workers of the process can read. */
  async readShared(file: AssetFile): Promise<Uint8Array> {
    return await this.#readInto(file, (bytes) => new SharedArrayBuffer(bytes));
  }

  /** Reads an image into Wasm memory that all workers of the process can read. */
  async readMemory(file: AssetFile): Promise<WebAssembly.Memory> {
    let memory: WebAssembly.Memory | undefined;
    await this.#readInto(file, (bytes) => (memory = sharedMemory(bytes)).buffer);
    return memory as WebAssembly.Memory;
  }

  async #readInto(file: AssetFile, allocate: (bytes: number) => ArrayBufferLike): Promise<Uint8Array> {
    using open = Deno.openSync(new URL(file.path, import.meta.url));
    const { size } = open.statSync();
    const bytes = new Uint8Array(allocate(size), 0, size);
    for (let done = 0; done < size;) {
      const count = open.readSync(bytes.subarray(done));
      if (count === null) throw new Error(`'${file.path}' is shorter than ${size} bytes`);
      done += count;
    }
    await this.verify(file, bytes);
    return bytes;
  }
}

/** Moves the bytes into memory that all workers of the process can read. Frees the original. */
export function toShared(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  free(bytes);
  return copy;
}

/** Moves an image's bytes into Wasm memory that all workers of the process can read. Frees the original. */
export function toSharedMemory(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Memory {
  const memory = sharedMemory(bytes.length);
  new Uint8Array(memory.buffer).set(bytes);
  free(bytes);
  return memory;
}

function sharedMemory(bytes: number): WebAssembly.Memory {
  const pages = Math.ceil(bytes / WASM_PAGE_BYTES);
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

/** Frees memory now, since an idle process may not collect its garbage for a long time. */
function free(bytes: Uint8Array<ArrayBuffer>): void {
  bytes.buffer.transfer(0);
}

/** Splits a library's bytes, which are files in sequence, into files. */
export function splitLibrary(
  bytes: Uint8Array,
  index: readonly (readonly [string, number])[],
): ReadOnlyFile[] {
  let at = 0;
  return index.map(([path, length]) => ({ path, contents: bytes.subarray(at, at += length) }));
}

function readMount(mount: { guest: string; host: string }): ReadOnlyTree {
  if (Deno.statSync(mount.host).isDirectory) return { at: mount.guest, files: readTree(mount.host, "") };
  return { at: mount.guest, files: [{ path: "", contents: toShared(Deno.readFileSync(mount.host)) }] };
}

function readTree(root: string, inside: string): ReadOnlyFile[] {
  return [...Deno.readDirSync(`${root}${inside}`)].flatMap((entry) => {
    const path = `${inside}/${entry.name}`;
    if (entry.isDirectory) return readTree(root, path);
    return entry.isFile ? [{ path, contents: toShared(Deno.readFileSync(`${root}${path}`)) }] : [];
  });
}
