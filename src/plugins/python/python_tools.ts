import { requireKnownOptions } from "../../options.ts";
import * as z from "zod";
import { SerialQueue } from "../../async/semaphore.ts";
import { attributeErrors, SandboxError, ToolError } from "../../errors.ts";
import type { Observation, Step } from "../../envs/env.ts";
import type { EpisodeCheckpoint, EpisodeCheckpointOptions } from "../../episode_checkpoint.ts";
import type { ToolSpec } from "../../message.ts";
import { parseExact } from "../../numbers/exact_numbers.ts";
import type { Tool } from "../../tools/tool.ts";
import { ToolTransform, type ToolTransformOptions } from "../../transforms/tool_transform.ts";
import type { Transform, TransformContext } from "../../transforms/transform.ts";
import {
  PYTHON_FILE_OPTIONS,
  PythonFile,
  PythonFileError,
  type PythonFileOptions,
  type PythonFileSession,
} from "./python_file.ts";

/** Tools of a Python file. */
export interface PythonTools {
  /** Descriptions of the tools for a model. */
  readonly specs: readonly ToolSpec[];
  /** Returns the transform of an env, which runs the calls of the env's episodes. */
  makeTransform(options?: PythonToolsTransformOptions): Transform;
}

/** Options of the transform of an env. */
export interface PythonToolsTransformOptions extends Omit<ToolTransformOptions, "tools"> {
  /**
   * Names of the tools that are offered.
   * @default all
   */
  names?: ReadonlySet<string> | undefined;
}

export const toolsSchema = z.array(z.strictObject({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
}));

/**
 * Makes tools of the functions of a Python file, which run in a sandbox. The tools are the functions in the
 * file's list `tools`, or else all functions of the file whose name does not begin with `_`.
 *
 * The schema of the arguments comes from the type hints: `str`, `int`, `float`, `bool`, `None`, lists, tuples, dicts
 * with keys of text, `Literal`, unions, `Annotated[…, "description"]`, enums, `TypedDict` and dataclasses. The
 * description comes from the docstring; descriptions of parameters come from the docstring's section `Args:` or
 * `Parameters`, or from `:param name:`.
 *
 * The file is loaded once. Each episode starts from the state after the load, in a separate session, and the calls of an
 * episode share globals. Calls of a message run in order, one at a time. An exception is a result that the model reads;
 * `onPrint` gets the traceback.
 *
 * @example
 * ```ts
 * import { ChatEnv, loadProfile, SandboxPool, TransformedEnv } from "@paddock/paddock";
 * import { pythonTools } from "@paddock/paddock/tools";
 *
 * async function openTools(stack: AsyncDisposableStack) {
 *   const profile = await loadProfile("python");
 *   const pool = stack.use(new SandboxPool({ profile, size: 8, resetMode: "rewind" }));
 *   const tools = await pythonTools("./tools.py", { pool });
 *   return () => new TransformedEnv(new ChatEnv(), [tools.makeTransform({ timeoutMs: 2_000 })]);
 * }
 * ```
 *
 * @throws {SandboxError} if the file cannot be loaded, or a function cannot be described.
 */
export async function pythonTools(path: string, options: PythonFileOptions): Promise<PythonTools> {
  requireKnownOptions("call pythonTools", options, PYTHON_FILE_OPTIONS);
  const file = await PythonFile.open(path, { ...options, kind: { noun: "tool", contract: "tools" } });
  const { tools: specs } = z.parse(z.object({ tools: toolsSchema }), file.description);
  return {
    specs,
    makeTransform: ({ names, ...rest } = {}) => {
      const offered = names === undefined ? specs : specs.filter(({ name }) => names.has(name));
      return new PythonToolTransform({ file, specs: offered, onPrint: options.onPrint, rest });
    },
  };
}

/** Makes the tools of a session. Calls of a session run in order, one at a time. */
export function toolsOfSession(
  specs: readonly ToolSpec[],
  { session, onPrint }: {
    session: () => PythonFileSession;
    onPrint: ((text: string) => void) | undefined;
  },
): Tool[] {
  const calls = new SerialQueue();
  return specs.map((spec) => ({
    ...spec,
    async run(args, { signal, argumentsText = "" }) {
      const request = { do: "tool", name: spec.name, arguments: parseExact(argumentsText) ?? args };
      try {
        return await calls.run(() => session().call(request, { schema: z.unknown(), signal }), { signal });
      } catch (cause) {
        if (!(cause instanceof PythonFileError)) throw cause;
        if (cause.traceback === "") onPrint?.(cause.message);
        throw new ToolError(cause.reason, { cause });
      }
    },
  }));
}

interface TransformSetup {
  readonly file: PythonFile;
  readonly specs: readonly ToolSpec[];
  readonly onPrint: ((text: string) => void) | undefined;
  readonly rest: Omit<ToolTransformOptions, "tools">;
}

/** Runs the calls of an episode in a separate session. */
class PythonToolTransform implements Transform {
  readonly #setup: TransformSetup;
  readonly #tools: Tool[];
  readonly #calls: ToolTransform;
  #session: PythonFileSession | undefined;

  constructor(setup: TransformSetup) {
    const { specs, onPrint, rest } = setup;
    this.#setup = setup;
    this.#tools = toolsOfSession(specs, { session: () => this.#requireSession(), onPrint });
    this.#calls = new ToolTransform({ ...rest, tools: this.#tools });
  }

  async reset(observation: Observation, context: TransformContext): Promise<Observation> {
    const { seed, signal } = context;
    await this[Symbol.asyncDispose]();
    this.#session = await attributeErrors(() => this.#setup.file.acquire({ reseed: true, seed, signal }), {
      error: SandboxError,
      failure: `Cannot start the tools of '${this.#setup.file.path}'`,
      signal,
    });
    return this.#calls.reset(observation, context);
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    return await this.#calls.step(step, context);
  }

  /** Releases the session of the episode. */
  async end(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  /**
   * Copies have the state of the session.
   *
   * @throws {CheckpointError} if the session refuses a checkpoint.
   */
  async checkpoint({ signal }: EpisodeCheckpointOptions): Promise<EpisodeCheckpoint<PythonToolTransform>> {
    const { file } = this.#setup;
    const state = await this.#session?.checkpoint({ signal });
    return {
      copy: async (options = {}) => {
        const copy = new PythonToolTransform(this.#setup);
        if (state !== undefined) copy.#session = await file.restore(state, options);
        return copy;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.[Symbol.asyncDispose]();
  }

  #requireSession(): PythonFileSession {
    if (this.#session !== undefined) return this.#session;
    throw new Error(`Cannot call a tool of '${this.#setup.file.path}' as the episode must run: it has ended`);
  }
}
