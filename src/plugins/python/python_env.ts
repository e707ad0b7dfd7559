import { requireKnownOptions } from "../../options.ts";
import * as z from "zod";
import type { EpisodeCheckpoint, EpisodeCheckpointOptions } from "../../episode_checkpoint.ts";
import { EnvError, errorMessage } from "../../errors.ts";
import { SerialQueue } from "../../async/semaphore.ts";
import type { Message, ToolSpec } from "../../message.ts";
import type { GradeContext, Score } from "../../rewards/grader.ts";
import type { Tool } from "../../tools/tool.ts";
import type { EnvResetInput, EnvStepInput, PluginTask } from "../definitions.ts";
import type { EnvFile, FileEpisode, FileStep } from "../env_file.ts";
import {
  PYTHON_FILE_OPTIONS,
  PythonFile,
  type PythonFileOptions,
  type PythonFileSession,
  type PythonRequest,
} from "./python_file.ts";
import { gradeWith, queryText } from "./python_grader.ts";
import { toolsOfSession, toolsSchema } from "./python_tools.ts";

/** Options of {@linkcode pythonEnvFile}. */
export interface PythonEnvFileOptions extends PythonFileOptions {
  /**
   * Name of the env.
   * @default the file name without its extension
   */
  name?: string | undefined;
}

const descriptionSchema = z.strictObject({
  hooks: z.array(z.string()),
  tools: toolsSchema,
  system: z.string().nullable(),
  python: z.boolean(),
});
const querySchema = z.union([
  z.null(),
  z.string(),
  z.array(z.strictObject({ role: z.string(), content: z.string() })),
]);
const stepSchema = z.strictObject({
  message: z.string().nullable(),
  reward: z.number().nullable(),
  done: z.boolean(),
  parts: z.record(z.string(), z.number().nullable()).optional(),
});

/**
 * Runs the env of a Python file in a sandbox. `fileEnv` makes envs of the file. The file has at least one of these:
 *
 * - `reset(task, query, answer, fields, seed)` starts an episode and returns another query, as text or messages, or `None`
 * - `tools`, a list of functions as {@linkcode pythonTools} describes them
 * - `step(reply, messages, turn, task, …)` answers a reply that called no tool and ran no code, and returns `None` to end
 *   the episode, the text of the user's next message, or a dict with `message`, `reward` and `done`
 * - `reward(completion, answer, task, messages, …)`, as `grade` of {@linkcode pythonGrader}
 * - `system`, the text of the system message; `python = True` to run Python blocks of replies
 *
 * Parameters are chosen by their names. Each episode has a separate session, in the state after the file was loaded,
 * with seeded random numbers if the episode has a seed. No episode sees globals of another episode.
 *
 * @throws {SandboxError} if the file cannot be loaded, or has no such functions.
 */
export async function pythonEnvFile(path: string, options: PythonEnvFileOptions): Promise<EnvFile> {
  requireKnownOptions("call pythonEnvFile", options, { ...PYTHON_FILE_OPTIONS, name: true });
  const file = await PythonFile.open(path, { ...options, kind: { noun: "env", contract: "env" } });
  const { hooks, tools, system, python } = z.parse(descriptionSchema, file.description);
  const description = {
    name: options.name ?? file.moduleName,
    system: system ?? undefined,
    python,
    hooks: new Set(hooks),
    tools,
  };
  return {
    description,
    open: async ({ seed, signal }) => {
      const session = await file.acquire({ reseed: true, seed, signal });
      return new PythonEpisode(session, { file, specs: tools, onPrint: options.onPrint });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(), // the caller disposes the pool
  };
}

interface EpisodeSetup {
  readonly file: PythonFile;
  readonly specs: readonly ToolSpec[];
  readonly onPrint: PythonFileOptions["onPrint"];
}

/** An episode of a Python file, in a separate session. */
class PythonEpisode implements FileEpisode {
  readonly #session: PythonFileSession;
  readonly #setup: EpisodeSetup;
  readonly #path: string;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #queue = new SerialQueue();

  constructor(session: PythonFileSession, setup: EpisodeSetup) {
    const { file, specs, onPrint } = setup;
    this.#session = session;
    this.#setup = setup;
    this.#path = file.path;
    const tools = toolsOfSession(specs, { session: () => session, onPrint });
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  async reset(
    { task, seed }: EnvResetInput,
    signal: AbortSignal | undefined,
  ): Promise<string | readonly Message[] | null> {
    const request = { do: "reset", values: { ...valuesOf(task), seed: seed ?? null } };
    return await this.#call(request, { schema: querySchema, signal });
  }

  async step({ task, ...input }: EnvStepInput, signal: AbortSignal | undefined): Promise<FileStep> {
    const request = { do: "step", values: { ...valuesOf(task), ...input } };
    return await this.#call(request, { schema: stepSchema, signal });
  }

  async reward(context: GradeContext): Promise<Score> {
    return await this.#queue.run(
      () =>
        gradeWith({ path: this.#path, call: (...args) => this.#session.call(...args) }, "reward", context),
      { signal: context.signal },
    );
  }

  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw new Error(`Cannot call '${name}' as '${this.#path}' has no such tool`);
    return await this.#queue.run(() => tool.run(args, { signal, callId: "", state: {} }), { signal });
  }

  async checkpoint({ signal }: EpisodeCheckpointOptions): Promise<EpisodeCheckpoint<FileEpisode>> {
    const state = await this.#queue.run(() => this.#session.checkpoint({ signal }), { signal });
    const { file } = this.#setup;
    return {
      copy: async (options = {}) => new PythonEpisode(await file.restore(state, options), this.#setup),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session[Symbol.asyncDispose]();
  }

  async #call<Result>(
    request: PythonRequest,
    options: { schema: z.core.$ZodType<Result>; signal: AbortSignal | undefined },
  ): Promise<Result> {
    try {
      return await this.#queue.run(() => this.#session.call(request, options), { signal: options.signal });
    } catch (cause) {
      if (options.signal?.aborted) throw cause;
      throw new EnvError(`Cannot call '${request.do}' of '${this.#path}': ${errorMessage(cause)}`, { cause });
    }
  }
}

function valuesOf(task: PluginTask): Record<string, unknown> {
  const { query, answer, fields = {} } = task;
  return { task, query: queryText(query), answer: answer ?? null, fields };
}
