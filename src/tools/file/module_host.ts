import { stripTypeScriptTypes } from "node:module";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { errorMessage, SandboxError } from "../../errors.ts";
import {
  denoCommand,
  type DenoProgram,
  fetchModules,
  listStaticImports,
} from "../../sandbox/process/deno_program.ts";
import { grantFlags, type Grants, mayRead, withReadAccess } from "../../sandbox/process/grants.ts";
import { detectLayers, type LayerReport } from "../../sandbox/process/layers.ts";
import protocol from "../../sandbox/protocol.ts" with { type: "text" };
import calls from "./guest/calls.ts" with { type: "text" };
import { type ModuleKind, ModuleProcess } from "./module_process.ts";

/** Permissions and limits of a file that runs in a separate process. */
export interface ModuleProgram {
  /**
   * Permissions of the file, as in Deno's permission sets. `import` allows packages of npm, JSR and the web:
   * they are fetched before the process starts, and nothing can be fetched afterwards. `run` and `ffi`
   * cannot be granted.
   * @default none
   */
  permissions?: Grants | undefined;
  /** The complete environment of the process. The file needs the permission `env` to read the environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /**
   * Maximum heap size, in bytes.
   * @default 256 MiB
   */
  memoryBytes?: number | undefined;
  /** Result of {@linkcode detectLayers} on this host, if the caller has the result already. */
  detected?: readonly LayerReport[] | undefined;
  /**
   * Called with the lines that the file prints, to stdout or stderr.
   * @default they are discarded
   */
  onPrint?: ((text: string) => void) | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
}

/** Options of {@linkcode ModuleHost.open}. */
export interface ModuleHostOptions<Metadata> extends ModuleProgram {
  readonly kind: ModuleKind<Metadata>;
  /** Sources of the modules beside `main.js`, by name without extension. */
  readonly sources: Readonly<Record<string, string>>;
  /**
   * Source of the program. Its arguments are the file's URL and the paths that may be read only while the file is
   * loaded: the file and everything that the file imports
   * statically.
   */
  readonly main: string;
  /** Import map for the file: modules of `sources` by the specifiers that the file may import. */
  readonly imports?: Readonly<Record<string, string>> | undefined;
}

const START_TIMEOUT_MS = 30_000;

/**
 * Runs a TypeScript file in a separate process, and starts a new process after the end of the old process. Disposing the
 * host ends all processes of the file.
 */
export class ModuleHost<Metadata> implements AsyncDisposable {
  /** Metadata of the file. */
  readonly metadata: Metadata;
  /** Name of the file without extension. */
  readonly fileName: string;
  readonly #starter: ProcessStarter<Metadata>;
  #process: Promise<ModuleProcess<Metadata>>;

  private constructor(
    starter: ProcessStarter<Metadata>,
    { process, metadata }: { process: ModuleProcess<Metadata>; metadata: Metadata },
  ) {
    this.#starter = starter;
    this.#process = Promise.resolve(process);
    this.metadata = metadata;
    this.fileName = basename(starter.path).replace(/\.[^.]+$/, "");
  }

  /**
   * Starts a file.
   *
   * @throws {TypeError} when a permission cannot be granted.
   * @throws {SandboxError} when the file does not start.
   */
  static async open<Metadata>(
    file: string | URL,
    options: ModuleHostOptions<Metadata>,
  ): Promise<ModuleHost<Metadata>> {
    grantFlags(options.permissions ?? {});
    const path = typeof file === "string" && !file.startsWith("file:") ? resolve(file) : fileURLToPath(file);
    const starter = await ProcessStarter.create(path, options);
    try {
      const process = await starter.start(options.signal);
      return new ModuleHost(starter, { process, metadata: await process.metadata });
    } catch (error) {
      await starter[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Sends a call, a JSON text, and returns the result. Rejects as {@linkcode ModuleProcess.call}. */
  async call(payload: string | Uint8Array, signal: AbortSignal): Promise<unknown> {
    const process = await this.#ensureProcess();
    return await process.call(payload, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#starter[Symbol.asyncDispose]();
  }

  /** Returns the running process, or starts a new process. */
  async #ensureProcess(): Promise<ModuleProcess<Metadata>> {
    const current = this.#process;
    const process = await current.catch(() => undefined); // a failed start is retried below
    if (process?.usable) return process;
    // Another call that waited for the same process may have started the next process already.
    if (this.#process === current) {
      this.#process = this.#starter.start();
      this.#process.catch(() => {}); // the awaiting callers handle the error
    }
    return await this.#process;
  }
}

/** Starts the processes of a file. Disposing the launcher ends all of them. */
class ProcessStarter<Metadata> implements AsyncDisposable {
  readonly path: string;
  readonly #kind: ModuleKind<Metadata>;
  readonly #program: DenoProgram;
  readonly #modules: AsyncDisposable;
  readonly #onPrint: ((text: string) => void) | undefined;
  readonly #processes = new Set<ModuleProcess<Metadata>>();
  #disposed = false;

  private constructor(
    path: string,
    { kind, program, modules, onPrint }: {
      kind: ModuleKind<Metadata>;
      program: DenoProgram;
      modules: AsyncDisposable;
      onPrint: ((text: string) => void) | undefined;
    },
  ) {
    this.path = path;
    this.#kind = kind;
    this.#program = program;
    this.#modules = modules;
    this.#onPrint = onPrint;
  }

  static async create<Metadata>(
    path: string,
    options: ModuleHostOptions<Metadata>,
  ): Promise<ProcessStarter<Metadata>> {
    const { permissions, env, memoryBytes, signal, kind, onPrint } = options;
    const detected = options.detected ?? await detectLayers({ signal });
    const layers = new Set(detected.filter(({ works }) => works).map(({ layer }) => layer));
    const modules = await writeModules(options);
    const importMap = options.imports && join(modules.directory, IMPORT_MAP);
    const file = { module: path, permissions, importMap, env, layers };
    try {
      await fetchModules(file, signal);
      const imported = (await listStaticImports(file, signal)).filter((path) =>
        !mayRead(permissions?.read, path)
      );
      const program = {
        ...file,
        module: join(modules.directory, "main.js"),
        args: [pathToFileURL(path).href, ...imported],
        permissions: imported.length === 0 ? permissions : withReadAccess(permissions, imported),
        memoryBytes,
      };
      return new ProcessStarter(path, { kind, program, modules, onPrint });
    } catch (error) {
      await modules[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a process and waits until the process accepts calls. */
  async start(signal?: AbortSignal): Promise<ModuleProcess<Metadata>> {
    const command = await denoCommand(this.#program);
    const { noun } = this.#kind;
    if (this.#disposed) throw new SandboxError(`Cannot call ${noun} as it is disposed`);
    signal?.throwIfAborted();
    const process = new ModuleProcess(command, this.#kind, this.#onPrint);
    this.#processes.add(process);
    process.exited.then(() => this.#processes.delete(process));
    const onAbort = () => process.kill();
    const timer = setTimeout(onAbort, START_TIMEOUT_MS);
    signal?.addEventListener("abort", onAbort);
    try {
      await process.metadata;
      return process;
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = errorMessage(cause);
      throw new SandboxError(`Cannot start ${noun} file '${this.path}': ${reason}`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    for (const process of this.#processes) process.kill();
    await Promise.all([...this.#processes].map(({ exited: ended }) => ended));
    await this.#modules[Symbol.asyncDispose]();
  }
}

const IMPORT_MAP = "imports.json";

/** A temporary folder with modules. Disposing the object removes the folder. */
interface WrittenModules extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Writes the modules that serve a file over a pipe.
 *
 * Deno learns the name of the file only at run time. Such an import needs read permission, also for all
 * modules below, of any type. Static imports of the main program need no permission.
 */
async function writeModules(
  { sources, main, imports }: Pick<ModuleHostOptions<unknown>, "sources" | "main" | "imports">,
): Promise<WrittenModules> {
  const directory = await Deno.makeTempDir({ prefix: "paddock-tool-" });
  await Deno.writeTextFile(join(directory, "main.js"), main);
  for (const [name, source] of Object.entries({ protocol, calls, ...sources })) {
    const text = stripTypeScriptTypes(source).replace(/(from )"[^"]*\/(\w+)\.ts"/g, '$1"./$2.js"');
    await Deno.writeTextFile(join(directory, `${name}.js`), text);
  }
  if (imports !== undefined) {
    const map = Object.entries(imports).map(([name, module]) => [name, `./${module}.js`]);
    await Deno.writeTextFile(
      join(directory, IMPORT_MAP),
      JSON.stringify({ imports: Object.fromEntries(map) }),
    );
  }
  return {
    directory,
    async [Symbol.asyncDispose]() {
      await Deno.remove(directory, { recursive: true }).catch(ignoreMissing);
    },
  };
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
