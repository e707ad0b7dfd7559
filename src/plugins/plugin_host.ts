import * as z from "zod";
import { CallTimeoutError, requireTimeout, runWithTimeout } from "../async/abort.ts";
import { errorMessage } from "../errors.ts";
import type { JsonLimits } from "../json.ts";
import type { Message } from "../message.ts";
import type { Task } from "../task.ts";
import { ModuleHost, type ModuleProgram } from "../tools/file/module_host.ts";
import definitions from "./definitions.ts" with { type: "text" };
import type { PluginTask } from "./definitions.ts";
import serveDefinition from "./guest/serve_definition.ts" with { type: "text" };

/** Options of a file with a definition. */
export interface PluginFileOptions extends ModuleProgram {
  /**
   * Name of the grader, policy or transform.
   * @default the `name` of the definition, or the file name without its extension
   */
  name?: string | undefined;
  /**
   * Maximum duration of a call, in milliseconds.
   * @default 60_000 for a grader, 300_000 for a policy, 10_000 for a transform
   */
  timeoutMs?: number | undefined;
}

/** Names of the options. */
export const PLUGIN_FILE_OPTIONS: Readonly<Record<keyof PluginFileOptions, true>> = {
  onPrint: true,
  name: true,
  timeoutMs: true,
  permissions: true,
  env: true,
  memoryBytes: true,
  detected: true,
  signal: true,
};

/** Reason why a call failed. */
export type PluginFault = "timeout" | "bad_answer" | "unavailable";

/** A kind of definition. */
export interface PluginKind {
  /** Noun for messages, such as `grader`. */
  readonly noun: string;
  /** Function that makes a definition, for messages. */
  readonly helper: string;
  readonly hooks: readonly string[];
  /** True if each function must return a value. */
  readonly needsResult: boolean;
  /** Maximum size of a result, in bytes. */
  readonly maxResultBytes: number;
  readonly jsonLimits?: JsonLimits | undefined;
  /** Default of `timeoutMs`. */
  readonly defaultTimeoutMs: number;
  /** Returns the error of a failed call. */
  toError(message: string, options: { fault: PluginFault; cause?: unknown }): Error;
}

/** Options of {@linkcode PluginHost.call}. */
export interface PluginCallOptions<Result> {
  readonly schema: z.core.$ZodType<Result>;
  /** Words for a valid result, for the error message. */
  readonly needs: string;
  readonly signal?: AbortSignal | undefined;
}

/** Maximum size of a call's input, in bytes. */
const MAX_INPUT_BYTES = 32 * 1024 * 1024;
/** Maximum length of a name, in characters. */
const MAX_NAME = 200;
/** Maximum length of an invalid result in an error message, in characters. */
const MAX_QUOTE = 80;

const metadataSchema = z.strictObject({
  name: z.string().min(1).max(MAX_NAME).optional(),
  hooks: z.array(z.string().max(MAX_NAME)).min(1).max(8),
});

type Metadata = z.output<typeof metadataSchema>;

/** Entry points whose helper functions a file may import. */
export const ENTRY_POINTS = ["", "/envs", "/rewards", "/rollout", "/transforms"];

const encoder = new TextEncoder();

/** Runs the functions of a file's definition in a process of the file. Their results are untrusted. */
export class PluginHost implements AsyncDisposable {
  readonly name: string;
  /** Functions that the definition has. */
  readonly hooks: ReadonlySet<string>;
  readonly #host: ModuleHost<Metadata>;
  readonly #kind: PluginKind;
  readonly #file: string;
  readonly #timeoutMs: number;

  private constructor(
    host: ModuleHost<Metadata>,
    { kind, file, name, timeoutMs }: {
      kind: PluginKind;
      file: string;
      name: string | undefined;
      timeoutMs: number;
    },
  ) {
    this.#host = host;
    this.#kind = kind;
    this.#file = file;
    this.#timeoutMs = timeoutMs;
    this.name = name ?? host.metadata.name ?? host.fileName;
    this.hooks = new Set(host.metadata.hooks);
  }

  /**
   * Starts the file.
   *
   * @throws {TypeError} when a permission cannot be granted.
   * @throws {RangeError} when `timeoutMs` is out of range.
   * @throws {SandboxError} when the file does not start or the default export is not such a definition.
   */
  static async open(
    file: string | URL,
    options: PluginFileOptions & { kind: PluginKind },
  ): Promise<PluginHost> {
    const { kind, name, timeoutMs = kind.defaultTimeoutMs, ...program } = options;
    const { noun, helper, hooks, needsResult, maxResultBytes, jsonLimits } = kind;
    requireTimeout(timeoutMs, `run a ${noun}'s file`);
    const host = await ModuleHost.open(file, {
      ...program,
      kind: {
        noun,
        metadata: metadataSchema,
        toError: (message) => new Error(message),
        maxResultBytes,
        jsonLimits,
      },
      sources: { definitions, serve_definition: serveDefinition },
      main: mainOf({ helper, hooks, needsResult }),
      imports: Object.fromEntries(ENTRY_POINTS.map((entry) => [`@paddock/paddock${entry}`, "definitions"])),
    });
    return new PluginHost(host, { kind, file: String(file), name, timeoutMs });
  }

  /**
   * Calls a function of the definition. Rejects with the signal's reason when the signal is aborted, and with the error
   * of the kind when the call fails.
   */
  async call<Result>(hook: string, input: unknown, options: PluginCallOptions<Result>): Promise<Result> {
    const { schema, needs, signal } = options;
    const payload = encoder.encode(JSON.stringify({ hook, input }));
    if (payload.length > MAX_INPUT_BYTES) {
      const reason = `its input must have at most ${MAX_INPUT_BYTES} bytes: it has ${payload.length}`;
      throw this.#error(reason, { hook, fault: "unavailable" });
    }
    const value = await this.#send(payload, { hook, signal });
    const result = z.safeParse(schema, value);
    if (result.success) return result.data;
    const found = JSON.stringify(value).slice(0, MAX_QUOTE);
    throw this.#error(`it must return ${needs}: it returned ${found}`, { hook, fault: "bad_answer" });
  }

  async #send(
    payload: Uint8Array,
    { hook, signal }: { hook: string; signal: AbortSignal | undefined },
  ): Promise<unknown> {
    const timeoutMs = this.#timeoutMs;
    try {
      return await runWithTimeout((signal) => this.#host.call(payload, signal), { timeoutMs, signal });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      if (cause instanceof CallTimeoutError) {
        throw this.#error(`it took more than ${timeoutMs} ms`, { hook, fault: "timeout", cause });
      }
      throw this.#error(errorMessage(cause), { hook, fault: "unavailable", cause });
    }
  }

  #error(reason: string, { hook, ...options }: { hook: string; fault: PluginFault; cause?: unknown }): Error {
    const { noun } = this.#kind;
    return this.#kind.toError(`Cannot call '${hook}' of ${noun} '${this.#file}': ${reason}`, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host[Symbol.asyncDispose]();
  }
}

/**
 * Returns the program. The program imports Paddock's modules first, because these must take over stdout before the file
 * can.
 */
function mainOf(kind: Pick<PluginKind, "helper" | "hooks" | "needsResult">): string {
  return `import { serveDefinition } from "./serve_definition.js";
import "./definitions.js";
const [file, ...imported] = Deno.args;
const revoke = Deno.permissions.revokeSync.bind(Deno.permissions);
const module = await import(file);
for (const path of imported) revoke({ name: "read", path });
await serveDefinition(module, ${JSON.stringify(kind)});
`;
}

/** Returns messages as plain data, without the assistant's separate reasoning. */
export function plainMessages(messages: Iterable<Message>): Message[] {
  return Array.from(messages, ({ reasoning_content: _reasoning, ...message }) => message);
}

/** Returns a task as plain data. */
export function plainTask(task: Task): PluginTask {
  const { query } = task;
  return { ...task, query: typeof query === "string" ? query : plainMessages(query) };
}
