import { stripTypeScriptTypes } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { requireTimeout } from "../../async/abort.ts";
import { errorMessage, SandboxError } from "../../errors.ts";
import { denoCommand, type DenoProgram, fetchModules } from "../../sandbox/process/deno_program.ts";
import { grantFlags, type Grants, mayRead, withReadAccess } from "../../sandbox/process/grants.ts";
import { detectLayers, type LayerReport } from "../../sandbox/process/layers.ts";
import protocol from "../../sandbox/protocol.ts" with { type: "text" };
import { requireToolName, type Tool, type ToolContext } from "../tool.ts";
import serve from "./guest/serve.ts" with { type: "text" };
import { type ToolMetadata, ToolProcess } from "./tool_process.ts";

/** Options of {@linkcode toolFile}. */
export interface ToolFileOptions {
  /**
   * Name of the tool.
   * @default the file's `name` export, or the file name without its extension
   */
  name?: string | undefined;
  /**
   * Description that the model reads.
   * @default the file's `description` export
   */
  description?: string | undefined;
  /**
   * Permissions of the file, as in Deno's permission sets. `import` allows packages of npm, JSR and the web:
   * they are fetched before the process starts, and none can be fetched while it runs. `run` and `ffi`
   * cannot be granted.
   * @default none
   */
  permissions?: Grants | undefined;
  /** The complete environment of the process. The file needs the permission `env` to read it. */
  env?: Readonly<Record<string, string>> | undefined;
  /**
   * Maximum heap size, in bytes.
   * @default 256 MiB
   */
  memoryBytes?: number | undefined;
  /**
   * Maximum duration of a call, in milliseconds.
   * @default the limit of the transform that calls it
   */
  timeoutMs?: number | undefined;
  /** Result of {@linkcode detectLayers} on this host, if the caller has it already. */
  detected?: readonly LayerReport[] | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
}

/** A tool that runs in its own process. Disposing it ends the process. */
export type ToolFile = Tool & AsyncDisposable;

const START_TIMEOUT_MS = 30_000;
const ANYTHING = { type: "object" };

/**
 * Runs a TypeScript file as a tool, in its own Deno process with only the permissions that are granted.
 *
 * The file exports `run` (or a default function). It receives the arguments and `{ signal, callId }` and
 * returns a JSON value. The file also exports `parameters`, a JSON Schema or a zod object, and optionally
 * `description` and `name`. It can import from its own folder and from folders where `read` is granted. It
 * can read its own folder only while it is loaded.
 *
 * One process runs all calls, so every episode that shares the tool sees the same module state. When a call
 * is cancelled, the process gets SIGKILL after its other calls have ended, or at once if it does not
 * respond. The next call starts a new process, as it does after a crash. Output of the file is discarded.
 * Resource limits, `no_new_privs` and the parent-death signal apply where the host supports them.
 *
 * Not protected: a file that may use the network can send its arguments anywhere, and a file can return any
 * result for its own calls.
 *
 * @example A tool file, and its use
 * ```ts ignore
 * // search.ts
 * export const description = "Searches the notes.";
 * export const parameters = {
 *   type: "object",
 *   properties: { query: { type: "string" } },
 *   required: ["query"],
 * };
 * export async function run({ query }: { query: string }) {
 *   const notes = await Deno.readTextFile("/srv/notes.txt");
 *   return notes.split("\n").filter((line) => line.includes(query));
 * }
 * ```
 *
 * ```ts ignore
 * await using search = await toolFile("./search.ts", { permissions: { read: ["/srv/notes.txt"] } });
 * const tools = new ToolTransform({ tools: [search] });
 * ```
 *
 * @throws {TypeError} when a permission cannot be granted or the name is not a valid tool name.
 * @throws {RangeError} when a limit is out of range.
 * @throws {SandboxError} when the file does not start or exports no function.
 */
export async function toolFile(file: string | URL, options: ToolFileOptions = {}): Promise<ToolFile> {
  grantFlags(options.permissions ?? {});
  if (options.timeoutMs !== undefined) requireTimeout(options.timeoutMs, "run a tool's file");
  const path = typeof file === "string" && !file.startsWith("file:") ? resolve(file) : fileURLToPath(file);
  const starter = await ProcessStarter.create(path, options);
  try {
    const process = await starter.start(options.signal);
    return new FileTool(starter, { process, card: await process.metadata, path, options });
  } catch (error) {
    await starter[Symbol.asyncDispose]();
    throw error;
  }
}

class FileTool implements Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number | undefined;
  readonly #starter: ProcessStarter;
  #process: Promise<ToolProcess>;

  constructor(
    starter: ProcessStarter,
    { process, card, path, options }: {
      process: ToolProcess;
      card: ToolMetadata;
      path: string;
      options: ToolFileOptions;
    },
  ) {
    this.name = options.name ?? card.name ?? basename(path).replace(/\.[^.]+$/, "");
    requireToolName(this.name);
    this.description = options.description ?? card.description ?? "";
    this.parameters = card.parameters ?? ANYTHING;
    this.timeoutMs = options.timeoutMs;
    this.#starter = starter;
    this.#process = Promise.resolve(process);
  }

  async run(args: Record<string, unknown>, { signal, callId }: ToolContext): Promise<unknown> {
    const process = await this.#ensureProcess();
    return await process.call(args, { signal, callId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#starter[Symbol.asyncDispose]();
  }

  /** Returns the running process, or starts a new one if it has ended. */
  async #ensureProcess(): Promise<ToolProcess> {
    const current = this.#process;
    const process = await current.catch(() => undefined); // a failed start is retried below
    if (process?.usable) return process;
    // Another call that waited for the same process may have started the next one already.
    if (this.#process === current) {
      this.#process = this.#starter.start();
      this.#process.catch(() => {}); // the callers that await it handle the error
    }
    return await this.#process;
  }
}

/** Starts the processes of one file. Disposing it ends all of them. */
class ProcessStarter implements AsyncDisposable {
  readonly #path: string;
  readonly #program: DenoProgram;
  readonly #modules: AsyncDisposable;
  readonly #processes = new Set<ToolProcess>();
  #disposed = false;

  private constructor(path: string, program: DenoProgram, modules: AsyncDisposable) {
    this.#path = path;
    this.#program = program;
    this.#modules = modules;
  }

  static async create(path: string, options: ToolFileOptions): Promise<ProcessStarter> {
    const { permissions, env, memoryBytes, signal } = options;
    const detected = options.detected ?? await detectLayers({ signal });
    const layers = new Set(detected.filter(({ works }) => works).map(({ layer }) => layer));
    const modules = await writeServeModules();
    const folder = mayRead(permissions?.read, dirname(path)) ? undefined : dirname(path);
    const program = {
      module: join(modules.directory, "main.js"),
      args: [pathToFileURL(path).href, ...(folder === undefined ? [] : [folder])],
      permissions: folder === undefined ? permissions : withReadAccess(permissions, folder),
      env,
      memoryBytes,
      layers,
    };
    try {
      await fetchModules({ ...program, module: path }, signal);
      return new ProcessStarter(path, program, modules);
    } catch (error) {
      await modules[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts a process and waits until it accepts calls. */
  async start(signal?: AbortSignal): Promise<ToolProcess> {
    const command = await denoCommand(this.#program);
    if (this.#disposed) throw new SandboxError("Cannot call tool as it is disposed");
    signal?.throwIfAborted();
    const process = new ToolProcess(command);
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
      throw new SandboxError(`Cannot start tool file '${this.#path}': ${reason}`, { cause });
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

/** `serve.js` is imported first, because it must take over stdout before the tool can. */
const MAIN = `import { serve } from "./serve.js";
const [file, folder] = Deno.args;
const revoke = Deno.permissions.revokeSync.bind(Deno.permissions);
const tool = await import(file);
if (folder !== undefined) revoke({ name: "read", path: folder });
await serve(tool);
`;

/** A temporary folder with modules. Disposing it removes the folder. */
export interface ToolModules extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Writes the modules that serve a tool file over a pipe. Run `main.js` with the file's URL and, if the file
 * may read its folder only while it is loaded, with that folder.
 *
 * Deno learns the name of the file only at run time. Such an import needs read permission, and so do all
 * modules that it imports, of any type. Static imports of the main program need none.
 */
export async function writeServeModules(): Promise<ToolModules> {
  const directory = await Deno.makeTempDir({ prefix: "paddock-tool-" });
  const sources = {
    "protocol.js": stripTypeScriptTypes(protocol),
    "serve.js": stripTypeScriptTypes(serve).replace(/(from )"[^"]*\/(\w+)\.ts"/g, '$1"./$2.js"'),
    "main.js": MAIN,
  };
  for (const [name, source] of Object.entries(sources)) {
    await Deno.writeTextFile(join(directory, name), source);
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
