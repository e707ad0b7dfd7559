import * as z from "zod";
import { runWithTimeout } from "../async/abort.ts";
import { SerialQueue } from "../async/semaphore.ts";
import { attributeErrors, EnvError, errorMessage, GraderError, ToolError } from "../errors.ts";
import type { Step } from "../envs/env.ts";
import { type EpisodeCheckpoint, refuseCheckpoint } from "../episode_checkpoint.ts";
import { type Message, messageText, type ToolSpec } from "../message.ts";
import { finalReplyOf } from "../rewards/final_reply.ts";
import type { GradeContext, Grader, Score } from "../rewards/grader.ts";
import type { Task } from "../task.ts";
import { ModuleHost } from "../tools/file/module_host.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolTransform, type ToolTransformOptions } from "../transforms/tool_transform.ts";
import type { Transform, TransformContext } from "../transforms/transform.ts";
import type { EnvResetInput, EnvStepInput } from "./definitions.ts";
import definitions from "./definitions.ts" with { type: "text" };
import { scoreSchema, toScoreResult } from "./grader_file.ts";
import serveDefinition from "./guest/serve_definition.ts" with { type: "text" };
import serveEnv from "./guest/serve_env.ts" with { type: "text" };
import { ENTRY_POINTS, plainMessages, plainTask, type PluginFileOptions } from "./plugin_host.ts";

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
  /** Starts an episode, with its own state. */
  open(options: { seed?: number | undefined; signal?: AbortSignal | undefined }): Promise<FileEpisode>;
}

/** An episode of an env in a file. Its functions run one after the other. */
export interface FileEpisode extends AsyncDisposable {
  /** Returns another query of the task, or `null`. */
  reset(input: EnvResetInput, signal: AbortSignal | undefined): Promise<string | readonly Message[] | null>;
  step(input: EnvStepInput, signal: AbortSignal | undefined): Promise<FileStep>;
  reward(context: GradeContext): Promise<Score | number | null>;
  /** Calls a tool. A {@linkcode ToolError} is for the model. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
}

/** Parts of an env that a file gives to a chat. They are for one env. */
export interface FileEnvParts {
  /** Starts and ends the episodes, and runs the tools. Append it first. */
  readonly episode: Transform;
  /** Answers a reply that no tool answered, or ends the episode, if the file has a `step`. Append it after the tools. */
  readonly answer: Transform | undefined;
  /** Scores episodes, if the file has a `reward`. */
  readonly grader: Grader | undefined;
}

/** Returns the parts of one env. */
export function makeFileEnvParts(
  file: EnvFile,
  options: Omit<ToolTransformOptions, "tools"> = {},
): FileEnvParts {
  const { name, hooks } = file.description;
  const episode = new EpisodeTransform(file, options);
  return {
    episode,
    answer: hooks.has("step") ? new AnswerTransform(episode, name) : undefined,
    grader: hooks.has("reward") ? { name, grade: (context) => episode.current.reward(context) } : undefined,
  };
}

/** Starts and ends the episodes of a file, and runs its tools. */
class EpisodeTransform implements Transform {
  readonly #file: EnvFile;
  readonly #calls: ToolTransform;
  #current: FileEpisode | undefined;

  constructor(file: EnvFile, options: Omit<ToolTransformOptions, "tools">) {
    const tools = file.description.tools.map((spec): Tool => ({
      ...spec,
      run: (args, { signal }) => this.current.call(spec.name, args, signal),
    }));
    this.#file = file;
    this.#calls = new ToolTransform({ ...options, tools });
  }

  get current(): FileEpisode {
    if (this.#current !== undefined) return this.#current;
    throw new Error(`Cannot play env '${this.#file.description.name}' as no episode has been started`);
  }

  async task(
    task: Task,
    { seed, signal }: { seed?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Task> {
    const { name, hooks, system } = this.#file.description;
    return await attributeErrors(async () => {
      await this[Symbol.asyncDispose]();
      this.#current = await this.#file.open({ seed, signal });
      if (!hooks.has("reset")) return task;
      const input = { task: plainTask(task), ...(seed !== undefined && { seed }) };
      const query = await this.#current.reset(input, signal);
      if (query === null) return task;
      if (typeof query !== "string" && query[0]?.role === "system" && system !== undefined) {
        throw new Error(
          "only one of its system message and that of the messages of 'reset' can be used: found both",
        );
      }
      return { ...task, query };
    }, { error: EnvError, failure: `Cannot start an episode of env '${name}'`, signal });
  }

  reset(...args: Parameters<ToolTransform["reset"]>): ReturnType<ToolTransform["reset"]> {
    return this.#calls.reset(...args);
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    return this.#file.description.tools.length === 0 ? step : await this.#calls.step(step, context);
  }

  async end(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  /** @throws {CheckpointError} always, as the state of an episode is in the file. */
  checkpoint(): EpisodeCheckpoint<Transform> {
    return refuseCheckpoint(
      `an episode of env '${this.#file.description.name}', which is in a file, cannot be copied`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.[Symbol.asyncDispose]();
  }
}

/** Passes replies that no tool answered to `step` of a file. */
class AnswerTransform implements Transform {
  readonly #episode: EpisodeTransform;
  readonly #name: string;

  constructor(episode: EpisodeTransform, name: string) {
    this.#episode = episode;
    this.#name = name;
  }

  async step(step: Step, { task, turn, signal }: TransformContext): Promise<Step> {
    const { prompt } = step.history;
    const { last } = prompt;
    if (last?.role !== "assistant" || step.terminated) return step;
    if (last.is_complete === false) return { ...step, truncated: true };
    const input = { task: plainTask(task), reply: messageText(last), messages: plainMessages(prompt), turn };
    const { message, reward, done, parts } = await attributeErrors(
      () => this.#episode.current.step(input, signal),
      { error: EnvError, failure: `Cannot step env '${this.#name}'`, signal },
    );
    return {
      ...step,
      ...(message !== null &&
        { history: { ...step.history, prompt: prompt.append({ role: "user", content: message }) } }),
      ...(reward !== null && { reward: (step.reward ?? 0) + reward }),
      ...(parts !== undefined && { rewardParts: { ...step.rewardParts, ...parts } }),
      terminated: done,
    };
  }
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
 * default export is a definition of `defineEnv`. `fileEnv` makes envs of it.
 *
 * The process, its permissions and its end are those of `toolFile`. The state of an episode is plain data, which goes to
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
 * @throws {SandboxError} when the file does not start or its default export is no env.
 */
export async function envFile(file: string | URL, options: PluginFileOptions = {}): Promise<EnvFile> {
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
  #state: Record<string, unknown> = {};

  constructor(host: ModuleHost<Metadata>, options: { file: string; timeoutMs: number }) {
    this.#host = host;
    this.#options = options;
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
