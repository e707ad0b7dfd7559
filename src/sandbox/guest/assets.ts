import type { ImagePlan } from "./build.ts";
import type { HeapImage } from "./python.ts";
import type { ReadOnlyFile, ReadOnlyTree } from "./read_only_files.ts";

/** A file beside the supervisor, and what it must hash to. */
export interface AssetFile {
  readonly path: string;
  readonly sha256: string;
}

/** What the host says at the start: which files make a session, and what holds for all of them. */
export interface BootPlan {
  readonly wasm: AssetFile;
  readonly factory: AssetFile;
  /** The exports of the Wasm module that the factory needs. */
  readonly exportNames: readonly string[];
  /** The worker's modules, in an order in which each comes after those it imports. */
  readonly modules: readonly { readonly name: string; readonly source: string }[];
  /** The files of `/lib`, one after the other. */
  readonly library: AssetFile & { readonly index: readonly (readonly [string, number])[] };
  readonly mounts: readonly { readonly guest: string; readonly host: string }[];
  readonly image?: AssetFile & Omit<HeapImage, "data">;
  readonly plan?: Omit<ImagePlan, "loaderUrl"> & { readonly loader: AssetFile };
  /** The shell's modules, the last the shell itself, and its engine. */
  readonly shell?: { readonly modules: BootPlan["modules"]; readonly engine: AssetFile };
  readonly limits: { readonly outputBytes: number; readonly fileBytes: number };
  /** Where sessions have their own files, if not in the usual place. */
  readonly home?: string;
}

/** What every worker of the process is given, in its message. */
export interface WorkerAssets {
  readonly module: WebAssembly.Module;
  readonly exportNames: readonly string[];
  readonly trees: readonly ReadOnlyTree[];
  readonly image?: HeapImage;
  readonly plan?: ImagePlan;
  readonly shellUrl?: string;
  /** Set where Python may load no library of its own. */
  readonly ownModuleOnly?: true;
  readonly limits: BootPlan["limits"];
  readonly home?: string;
}

/** The assets: the worker's code at once, so that it loads while the rest is read and checked. */
export interface Assets {
  readonly workerUrl: string;
  /** Rejects when any file, the worker's code among them, is damaged. */
  readonly rest: Promise<WorkerAssets>;
}

/** Reads and checks every asset, then gives up the permission to read. */
export function loadAssets(plan: BootPlan): Assets {
  const urls = new Map<string, string>();
  const code = [addFile(urls, "pyodide.asm.mjs", plan.factory)];
  const workerUrl = linkModules(urls, plan.modules);
  if (!plan.shell) return { workerUrl, rest: loadRest(plan, code) };
  code.push(addFile(urls, "engine.ts", plan.shell.engine));
  const shellUrl = linkModules(urls, plan.shell.modules);
  return { workerUrl, rest: loadRest(plan, code).then((rest) => ({ ...rest, shellUrl })) };
}

/** Puts a file of code among the modules; its hash is being checked. */
function addFile(urls: Map<string, string>, name: string, file: AssetFile): Promise<void> {
  const bytes = Deno.readFileSync(locate(file));
  urls.set(name, blobUrl(bytes));
  return check(file, bytes).then(free);
}

async function loadRest(plan: BootPlan, code: Promise<void>[]): Promise<WorkerAssets> {
  const [module, library, image, loader] = await Promise.all([
    compileChecked(plan.wasm),
    readChecked(plan.library).then(shared),
    plan.image && readChecked(plan.image).then(shared),
    plan.plan && readChecked(plan.plan.loader),
    ...code,
  ]);
  const mounts = plan.mounts.map((mount) => readMount(mount));
  await Deno.permissions.revoke({ name: "read" });
  return {
    module,
    exportNames: plan.exportNames,
    trees: [{ at: "/lib", files: cutLibrary(library, plan.library.index) }, ...mounts],
    ...(plan.image && image ? { image: { ...plan.image, data: image } } : {}),
    ...(plan.plan && loader ? { plan: { ...plan.plan, loaderUrl: blobUrl(loader) } } : {}),
    limits: plan.limits,
    ...(plan.home && { home: plan.home }),
  };
}

async function readChecked(file: AssetFile): Promise<Uint8Array<ArrayBuffer>> {
  return await check(file, await Deno.readFile(locate(file)));
}

/** Compiles while the hash is being taken; the module is used when that is right. */
async function compileChecked(file: AssetFile): Promise<WebAssembly.Module> {
  const bytes = await Deno.readFile(locate(file));
  const [module] = await Promise.all([WebAssembly.compile(bytes), check(file, bytes)]);
  free(bytes);
  return module;
}

function locate(file: AssetFile): URL {
  return new URL(file.path, import.meta.url);
}

async function check(file: AssetFile, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  if (digest.toHex() !== file.sha256) throw new Error(`'${file.path}' does not match its hash`);
  return bytes;
}

/** Makes each module a blob whose imports point at the blobs before it, and gives the last one's URL. */
export function linkModules(urls: Map<string, string>, modules: BootPlan["modules"]): string {
  let last = "";
  for (const { name, source } of modules) {
    const linked = source.replace(/(from |import )"[^"]*\/([\w.]+)"/g, (_, word, file) => {
      return `${word}"${urls.get(file)}"`;
    });
    last = blobUrl(linked);
    urls.set(name, last);
  }
  return last;
}

/** Where a text of JavaScript can be imported from, in this process. */
export function blobUrl(source: string | Uint8Array<ArrayBuffer>): string {
  return URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
}

/** The bytes in memory that all workers of the process read; what they came in is freed. */
export function shared(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  free(bytes);
  return copy;
}

/** Gives memory back now: a process that waits may not collect its garbage for long. */
function free(bytes: Uint8Array<ArrayBuffer>): void {
  bytes.buffer.transfer(0);
}

/** The files of a library, which lie one after the other in its bytes. */
export function cutLibrary(bytes: Uint8Array, index: readonly (readonly [string, number])[]): ReadOnlyFile[] {
  let at = 0;
  return index.map(([path, length]) => ({ path, contents: bytes.subarray(at, at += length) }));
}

function readMount(mount: { guest: string; host: string }): ReadOnlyTree {
  if (Deno.statSync(mount.host).isDirectory) return { at: mount.guest, files: readTree(mount.host, "") };
  return { at: mount.guest, files: [{ path: "", contents: shared(Deno.readFileSync(mount.host)) }] };
}

function readTree(root: string, inside: string): ReadOnlyFile[] {
  return [...Deno.readDirSync(`${root}${inside}`)].flatMap((entry) => {
    const path = `${inside}/${entry.name}`;
    if (entry.isDirectory) return readTree(root, path);
    return entry.isFile ? [{ path, contents: shared(Deno.readFileSync(`${root}${path}`)) }] : [];
  });
}
