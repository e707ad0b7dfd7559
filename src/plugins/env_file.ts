import { requireKnownOptions } from "../options.ts";
import * as z from "zod";
import { runWithTimeout } from "../async/abort.ts";
import { SerialQueue } from "../async/semaphore.ts";
import { EnvError, errorMessage, GraderError, ToolError } from "../errors.ts";
import type { EpisodeCheckpoint, EpisodeCheckpointOptions } from "../episode_checkpoint.ts";
import type { Message, ToolSpec } from "../message.ts";
import { finalReplyOf } from "../rewards/final_reply.ts";
import type { GradeContext, Score } from "../rewards/grader.ts";
import { ModuleHost } from "../tools/file/module_host.ts";
import type { EnvResetInput, EnvStepInput } from "./definitions.ts";
import definitions from "./definitions.ts" with { type: "text" };
import { scoreSchema, toScoreResult } from "./grader_file.ts";
import serveDefinition from "./guest/serve_definition.ts" with { type: "text" };
import serveEnv from "./guest/serve_env.ts" with { type: "text" };
import {
  ENTRY_POINTS,
  plainMessages,
  plainTask,
  PLUGIN_FILE_OPTIONS,
  type PluginFileOptions,
} from "./plugin_host.ts";

/** Parts of an env in a file. */
export interface EnvDescription {
  readonly name: string;
  /** System message of tasks that have none. */
  readonly system?: string | undefined;
  /** True if Python blocks of replies run. */
  readonly python: boolean;
  readonly hooks: ReadonlySet<string>;
  readonly tools: readonly ToolSpec[];
}

/** Result of a step of an env in a file. */
export interface FileStep {
  readonly message: string | null;
  readonly reward: number | null;
  readonly done: boolean;
  readonly parts?: Readonly<Record<string, number | null>> | undefined;
}

/** An env in a file. */
export interface EnvFile extends AsyncDisposable {
  readonly description: EnvDescription;
  /** Starts an episode with a new state. */
  open(options: { seed?: number | undefined; signal?: AbortSignal | undefined }): Promise<FileEpisode>;
}

/** An episode of an env in a file. Functions of an episode run in order, one at a time. */
export interface FileEpisode extends AsyncDisposable {
  /** Returns another query of the task, or `null`. */
  reset(input: EnvResetInput, signal: AbortSignal | undefined): Promise<string | readonly Message[] | null>;
  step(input: EnvStepInput, signal: AbortSignal | undefined): Promise<FileStep>;
  reward(context: GradeContext): Promise<Score | number | null>;
  /** Calls a tool. A {@linkcode ToolError} is for the model. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
  /** Returns the state of the episode. */
  checkpoint(options: EpisodeCheckpointOptions): Promise<EpisodeCheckpoint<FileEpisode>>;
}

const MAX_RESULT_BYTES = 16 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_NAME = 200;

const metadataSchema = z.strictObject({
  name: z.string().min(1).max(MAX_NAME).optional(),
  system: z.string().optional(),
  python: z.boolean().optional(),
  hooks: z.array(z.enum(["reset", "step", "reward"])),
  tools: z.array(z.strictObject({
    name: z.string().regex(/^[^\s<>"]+$/).max(MAX_NAME),
    description: z.string(),
    parameters: z.record(z.string(), z.unknown()),
  })),
});
type Metadata = z.output<typeof metadataSchema>;

const envelopeSchema = z.strictObject({ value: z.unknown(), state: z.record(z.string(), z.unknown()) });
const querySchema = z.union([
  z.null(),
  z.string(),
  z.array(z.strictObject({ role: z.string(), content: z.string() })).min(1),
]);
const partsSchema = z.record(z.string(), z.number().nullable());
export const stepSchema: z.core.$ZodType<FileStep> = z.union([
  z.null().transform(() => ({ message: null, reward: null, done: true })),
  z.string().transform((message) => ({ message, reward: null, done: false })),
  z.strictObject({
    message: z.string().nullish(),
    reward: z.number().nullish(),
    done: z.boolean().optional(),
    parts: partsSchema.optional(),
  }).refine(({ message, done }) => done !== false || typeof message === "string").transform((
    { message = null, reward = null, done = message === null, parts },
  ) => ({ message, reward, done, parts })),
]);

const MAIN = `import { serveEnv } from "./serve_env.js";
import "./definitions.js";
const [file, ...imported] = Deno.args;
const revoke = Deno.permissions.revokeSync.bind(Deno.permissions);
const module = await import(file);
for (const path of imported) revoke({ name: "read", path });
await serveEnv(module);
`;

/**
 * Runs an env of a TypeScript file in its own Deno process, with only the permissions that are granted. The file's
 * default export is a definition of `defineEnv`. `fileEnv` makes envs of the file.
 *
 * The process has the permissions and the end of a `toolFile`. The state of an episode is plain data, which goes to
 * the file with each call, so that episodes share nothing but the state of modules.
 *
 * @example
 * ```ts
 * import { loadProfile, rollout, SandboxPool, scriptedPolicy } from "@paddock/paddock";
 * import { envFile, fileEnv } from "@paddock/paddock/envs";
 *
 * async function play(query: string) {
 *   await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 1 });
 *   await using file = await envFile("./env.ts");
 *   await using env = fileEnv(file, { pool });
 *   return await rollout(env, scriptedPolicy(), { id: "1", query, replies: ["42"] });
 * }
 * ```
 *
 * @throws {TypeError} when a permission cannot be granted.
 * @throws {SandboxError} when the file does not start or the default export is no env.
 */
export async function envFile(file: string | URL, options: PluginFileOptions = {}): Promise<EnvFile> {
  requireKnownOptions("call envFile", options, PLUGIN_FILE_OPTIONS);
  const { name, timeoutMs = DEFAULT_TIMEOUT_MS, ...program } = options;
  const host = await ModuleHost.open(file, {
    ...program,
    kind: {
      noun: "env",
      metadata: metadataSchema,
      toError: (message) => new Error(message),
      maxResultBytes: MAX_RESULT_BYTES,
    },
    sources: { definitions, serve_definition: serveDefinition, serve_env: serveEnv },
    main: MAIN,
    imports: Object.fromEntries(ENTRY_POINTS.map((entry) => [`@paddock/paddock${entry}`, "definitions"])),
  });
  const { system, python = false, hooks, tools } = host.metadata;
  const description = {
    name: name ?? host.metadata.name ?? host.fileName,
    system,
    python,
    hooks: new Set<string>(hooks),
    tools,
  };
  return {
    description,
    open: () => Promise.resolve(new ModuleEpisode(host, { file: String(file), timeoutMs })),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** An episode of a TypeScript file. */
class ModuleEpisode implements FileEpisode {
  readonly #host: ModuleHost<Metadata>;
  readonly #options: { readonly file: string; readonly timeoutMs: number };
  readonly #queue = new SerialQueue();
  #state: Record<string, unknown>;

  constructor(
    host: ModuleHost<Metadata>,
    options: { file: string; timeoutMs: number },
    state: Record<string, unknown> = {},
  ) {
    this.#host = host;
    this.#options = options;
    this.#state = state;
  }

  async reset(
    input: EnvResetInput,
    signal: AbortSignal | undefined,
  ): Promise<string | readonly Message[] | null> {
    const needs = "nothing, the text of the query, or messages { role, content }";
    return await this.#run({ hook: "reset", input }, { schema: querySchema, needs, signal });
  }

  async step(input: EnvStepInput, signal: AbortSignal | undefined): Promise<FileStep> {
    const needs =
      "nothing to end the episode, the text of the next message, or { message?, reward?, done?, parts? }";
    return await this.#run({ hook: "step", input }, { schema: stepSchema, needs, signal });
  }

  async reward({ task, history, signal }: GradeContext): Promise<Score | number | null> {
    const { answer } = task;
    const input = {
      completion: finalReplyOf(history),
      ...(answer !== undefined && { answer }),
      task: plainTask(task),
      messages: plainMessages(history),
    };
    const needs = "a number, null, or { score, parts?, reason? }";
    try {
      return toScoreResult(
        await this.#run({ hook: "reward", input }, { schema: scoreSchema, needs, signal }),
      );
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw new GraderError(errorMessage(cause), { cause });
    }
  }

  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#send({ hook: "tool", tool: name, input: args }, signal);
    } catch (cause) {
      if (signal.aborted) throw cause;
      throw new ToolError(errorMessage(cause), { cause });
    }
  }

  async checkpoint({ signal }: EpisodeCheckpointOptions): Promise<EpisodeCheckpoint<FileEpisode>> {
    // a call replaces the state, and changes no earlier state
    const state = await this.#queue.run(() => Promise.resolve(this.#state), { signal });
    return { copy: () => new ModuleEpisode(this.#host, this.#options, state) };
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #run<Result>(
    call: { hook: string; input: unknown },
    { schema, needs, signal }: {
      schema: z.core.$ZodType<Result>;
      needs: string;
      signal: AbortSignal | undefined;
    },
  ): Promise<Result> {
    const { file, timeoutMs } = this.#options;
    const failure = `Cannot call '${call.hook}' of env '${file}'`;
    let value: unknown;
    try {
      value = await runWithTimeout((signal) => this.#send(call, signal), { timeoutMs, signal });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw new EnvError(`${failure}: ${errorMessage(cause)}`, { cause });
    }
    const result = z.safeParse(schema, value);
    if (result.success) return result.data;
    throw new EnvError(
      `${failure}: it must return ${needs}: it returned ${JSON.stringify(value).slice(0, 80)}`,
    );
  }

  /** Sends a call with the state of the episode, and keeps the state that comes back. */
  async #send(call: { hook: string; tool?: string; input: unknown }, signal: AbortSignal): Promise<unknown> {
    return await this.#queue.run(async () => {
      const answer = await this.#host.call(JSON.stringify({ ...call, state: this.#state }), signal);
      const { value, state } = z.parse(envelopeSchema, answer);
      this.#state = state;
      return value;
    }, { signal });
  }
}
