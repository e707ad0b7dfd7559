import { requireKnownOptions } from "../../options.ts";
import * as z from "zod";
import { requireTimeout } from "../../async/abort.ts";
import { ToolError } from "../../errors.ts";
import { requireToolName, type Tool, type ToolContext } from "../tool.ts";
import serve from "./guest/serve.ts" with { type: "text" };
import { ModuleHost, type ModuleProgram } from "./module_host.ts";
import { MAX_TEXT, type ModuleKind } from "./module_process.ts";

/** Options of {@linkcode toolFile}. */
export interface ToolFileOptions extends ModuleProgram {
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
   * Maximum duration of a call, in milliseconds.
   * @default the limit of the calling transform
   */
  timeoutMs?: number | undefined;
}

/** A tool that runs in a separate process. Disposing the tool ends the process. */
export type ToolFile = Tool & AsyncDisposable;

const ANYTHING = { type: "object" };

/**
 * Runs a TypeScript file as a tool, in a separate Deno process with only the granted permissions.
 *
 * The file exports `run` (or a default function). The function receives the arguments and `{ signal, callId }` and
 * returns a JSON value. The file also exports `parameters`, a JSON Schema or a zod object, and optionally
 * `description` and `name`. The file can import statically from the file's folder, and in any way from folders where
 * `read` is granted. The file can read no other file of the file's folder.
 *
 * A single process runs all calls, so every episode that shares the tool sees the same module state. When a call
 * is cancelled, the process gets SIGKILL after the other calls have ended, or at once without a
 * response. The next call starts a new process, as after a crash. `onPrint` gets what the file prints.
 * Resource limits, `no_new_privs` and the parent-death signal apply where the host supports them.
 *
 * Not protected: a file that may use the network can send arguments anywhere, and a file can return any
 * result for the file's calls.
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
 * ```ts
 * import { toolFile, ToolTransform } from "@paddock/paddock";
 *
 * async function searchTools() {
 *   const search = await toolFile("./search.ts", { permissions: { read: ["/srv/notes.txt"] } });
 *   return new ToolTransform({ tools: [search] });
 * }
 * ```
 *
 * @throws {TypeError} when a permission cannot be granted or the name is not a valid tool name.
 * @throws {RangeError} when a limit is out of range.
 * @throws {SandboxError} when the file does not start or exports no function.
 */
export async function toolFile(file: string | URL, options: ToolFileOptions = {}): Promise<ToolFile> {
  requireKnownOptions("call toolFile", options, OPTIONS);
  if (options.timeoutMs !== undefined) requireTimeout(options.timeoutMs, "run a tool's file");
  const host = await ModuleHost.open(file, { ...options, kind: TOOL, sources: { serve }, main: MAIN });
  try {
    return new FileTool(host, options);
  } catch (error) {
    await host[Symbol.asyncDispose]();
    throw error;
  }
}

/** Metadata that a tool file exports. */
interface ToolMetadata {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly parameters?: Record<string, unknown> | undefined;
}

const text = z.string().max(MAX_TEXT);
const TOOL: ModuleKind<ToolMetadata> = {
  noun: "tool",
  metadata: z.strictObject({
    name: text.optional(),
    description: text.optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
  toError: (message) => new ToolError(message),
};
/** `serve.js` is imported first, because it must take over stdout before the tool can. */
const MAIN = `import { serve } from "./serve.js";
const [file, ...imported] = Deno.args;
const revoke = Deno.permissions.revokeSync.bind(Deno.permissions);
const tool = await import(file);
for (const path of imported) revoke({ name: "read", path });
await serve(tool);
`;

/** Refuses integers that the process of the file would read with other digits. */
function refuseBigints(_key: string, value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  throw new ToolError(`a tool of a file takes whole numbers up to 2^53 - 1: found ${value}`);
}

class FileTool implements Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number | undefined;
  readonly #host: ModuleHost<ToolMetadata>;

  constructor(host: ModuleHost<ToolMetadata>, options: ToolFileOptions) {
    const { metadata, fileName } = host;
    this.name = options.name ?? metadata.name ?? fileName;
    requireToolName(this.name);
    this.description = options.description ?? metadata.description ?? "";
    this.parameters = metadata.parameters ?? ANYTHING;
    this.timeoutMs = options.timeoutMs;
    this.#host = host;
  }

  async run(args: Record<string, unknown>, { signal, callId }: ToolContext): Promise<unknown> {
    return await this.#host.call(JSON.stringify({ args, callId }, refuseBigints), signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host[Symbol.asyncDispose]();
  }
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof ToolFileOptions, true>> = {
  onPrint: true,
  name: true,
  description: true,
  timeoutMs: true,
  permissions: true,
  env: true,
  memoryBytes: true,
  detected: true,
  signal: true,
};
