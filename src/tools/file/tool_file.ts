import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { errorMessage, SandboxError } from "../../errors.ts";
import { denoCommand, type DenoProgram, fetchModules } from "../../sandbox/deno_program.ts";
import { alsoReading, grantFlags, type Grants, mayRead } from "../../sandbox/grants.ts";
import { detectLayers, type LayerReport } from "../../sandbox/layers.ts";
import { requireToolName, type Tool, type ToolContext } from "../tool.ts";
import { requireTimeout } from "../within_time.ts";
import { writeToolModules } from "./tool_modules.ts";
import { type ToolCard, ToolProcess } from "./tool_process.ts";

/** What a {@linkcode toolFile} may reach and use. */
export interface ToolFileOptions {
  /** What the model calls it; the file's `name`, or else the file name without its ending. */
  name?: string | undefined;
  /** What the model is told; the file's `description` unless given. */
  description?: string | undefined;
  /**
   * What is granted to the file, as in Deno's permission sets; nothing unless given. `import` lets it use packages
   * of npm, JSR and the web: they are fetched before it starts, and none while it runs. `run` and `ffi` cannot be
   * granted.
   */
  permissions?: Grants | undefined;
  /** Its whole environment, which it may read where the permission `env` says so. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Bytes of memory for its objects; 256 MiB unless given. */
  memoryBytes?: number | undefined;
  /** Milliseconds that a call may take; the limit of its transform unless given. */
  timeoutMs?: number | undefined;
  /** What {@linkcode detectLayers} found on this host, where the caller has asked already. */
  detected?: readonly LayerReport[] | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
}

/** A tool whose process is ended by disposing it. */
export type ToolFile = Tool & AsyncDisposable;

const START_TIMEOUT_MS = 30_000;
const ANYTHING = { type: "object" };

/**
 * Runs a TypeScript file as a tool, in a Deno process of its own that may reach nothing but what is granted.
 *
 * The file exports `run` (or a default function), which gets the arguments and `{ signal, callId }` and gives a
 * value of JSON; `parameters`, a JSON Schema or a zod object; and, where it likes, `description` and `name`. What it
 * imports lies in its folder, which it may read while it is loaded and not later, or where `read` is granted:
 *
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
 * One process runs all calls, so that what the file keeps in memory is seen by every episode that shares the tool.
 * A call that is given up ends the process, by SIGKILL, when the other calls of it are over, or at once when it
 * hangs; so does a crash. The next call starts a new one. What the file prints goes nowhere. Where the host has
 * them, resource limits, `no_new_privs` and the parent-death signal hold too.
 *
 * What it does not guard against: a file that may reach the network can tell what it was asked; a file can answer
 * its own calls with anything.
 *
 * @throws {TypeError} when a permission cannot be granted or the name cannot be called.
 * @throws {RangeError} when a limit is none.
 * @throws {SandboxError} when the file does not start, or exports no function.
 */
export async function toolFile(file: string | URL, options: ToolFileOptions = {}): Promise<ToolFile> {
  grantFlags(options.permissions ?? {});
  if (options.timeoutMs !== undefined) requireTimeout(options.timeoutMs, "run a tool's file");
  const path = typeof file === "string" && !file.startsWith("file:") ? resolve(file) : fileURLToPath(file);
  const starter = await ProcessStarter.create(path, options);
  try {
    const process = await starter.start(options.signal);
    return new FileTool(starter, { process, card: await process.opened, path, options });
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
      card: ToolCard;
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
    const process = await this.#live();
    return await process.call(args, { signal, callId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#starter[Symbol.asyncDispose]();
  }

  /** The process, or a new one in the place of one that is gone. */
  async #live(): Promise<ToolProcess> {
    const current = this.#process;
    const process = await current.catch(() => undefined); // one that did not start is tried again
    if (process?.usable) return process;
    // Whoever waited for the same process may have started the next one already.
    if (this.#process === current) {
      this.#process = this.#starter.start();
      this.#process.catch(() => {}); // whoever needs it hears of it
    }
    return await this.#process;
  }
}

/** Starts the processes of one file, and ends them all. */
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
    const modules = await writeToolModules();
    const folder = mayRead(permissions?.read, dirname(path)) ? undefined : dirname(path);
    const program = {
      module: join(modules.directory, "main.js"),
      args: [pathToFileURL(path).href, ...(folder === undefined ? [] : [folder])],
      permissions: folder === undefined ? permissions : alsoReading(permissions, folder),
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

  /** Starts a process and waits until it takes calls. */
  async start(signal?: AbortSignal): Promise<ToolProcess> {
    const command = await denoCommand(this.#program);
    if (this.#disposed) throw new SandboxError("Cannot call tool as it is disposed");
    signal?.throwIfAborted();
    const process = new ToolProcess(command);
    this.#processes.add(process);
    process.ended.then(() => this.#processes.delete(process));
    const onAbort = () => process.kill();
    const timer = setTimeout(onAbort, START_TIMEOUT_MS);
    signal?.addEventListener("abort", onAbort);
    try {
      await process.opened;
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
    await Promise.all([...this.#processes].map(({ ended }) => ended));
    await this.#modules[Symbol.asyncDispose]();
  }
}
