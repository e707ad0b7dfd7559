import { answerCalls, offerTools } from "../envs/tool_step.ts";
import type { Observation, Step } from "../envs/env.ts";
import { copyPlainData, type EpisodeCheckpoint } from "../episode_checkpoint.ts";
import type { ToolSpec } from "../message.ts";
import { requireKnownOptions } from "../options.ts";
import { toolsByCaller } from "../tools/code_mode/shared_tools.ts";
import type { AllowedCaller, Tool } from "../tools/tool.ts";
import { indexTools, TOOL_CALLER_OPTIONS, ToolCaller, type ToolCallerOptions } from "../tools/tool_caller.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode ToolTransform}. */
export interface ToolTransformOptions extends ToolCallerOptions {
  /** Tools that the model can call. The caller disposes them. */
  tools: Iterable<Tool>;
  /**
   * Who may call tools that have no `allowedCallers`. With `"code"`, a `PythonInterpreter` after this transform lets code
   * call them, with the same state of the episode.
   * @default ["model"]
   */
  allowedCallers?: readonly AllowedCaller[] | undefined;
}

/**
 * Runs the tools that the assistant calls in the newest message and appends their results.
 *
 * The calls of a message run in parallel and are answered in order. The model and the step's `toolResults`
 * get all failures, such as unknown names, invalid arguments and timeouts. Only messages of the assistant
 * are read; a call in a query or in a tool's output is ignored. Each observation offers the tools, so that a
 * policy with a native tool protocol knows them. Calls of another transform's tools are left to that
 * transform.
 *
 * Tools run in the host process: an endless loop in a tool blocks the host. Use `toolFile` for tools that
 * are not trusted.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, replyAction, tool, ToolTransform, TransformedEnv } from "@paddock/paddock";
 * import { z } from "zod";
 *
 * const add = tool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => a + b,
 * });
 * await using env = new TransformedEnv(new ChatEnv(), [new ToolTransform({ tools: [add] })]);
 * await env.reset({ id: "1", query: "Add 1 and 2." });
 * const { toolResults } = await env.step(replyAction('<tool>add\n{"a": 1, "b": 2}</tool>'));
 * assertEquals(toolResults[0]?.value, 3);
 * ```
 */
export class ToolTransform implements Transform {
  readonly #options: ToolTransformOptions;
  readonly #caller: ToolCaller;
  readonly #specs: readonly ToolSpec[];
  readonly #ofCode: readonly Tool[];
  #state: Record<string, unknown> = {};

  /**
   * @throws {TypeError} when two tools have the same name, when a tool cannot be described, or an option is unknown.
   * @throws {RangeError} when a limit is out of range.
   */
  constructor(options: ToolTransformOptions) {
    requireKnownOptions("create ToolTransform", options, {
      tools: true,
      allowedCallers: true,
      ...TOOL_CALLER_OPTIONS,
    });
    const tools = [...options.tools];
    indexTools(tools); // refuses two tools with the same name, whoever calls them
    const { ofModel, ofCode } = toolsByCaller(tools, options.allowedCallers);
    const { byName, specs } = indexTools(ofModel);
    this.#options = { ...options, tools };
    this.#specs = specs;
    this.#ofCode = ofCode;
    this.#caller = new ToolCaller((name) => byName.get(name), options);
  }

  reset(observation: Observation, context?: TransformContext): Observation {
    this.#state = {};
    context?.sharedTools?.add({ tools: this.#ofCode, state: this.#state });
    return offerTools(observation, this.#specs);
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    context.sharedTools?.add({ tools: this.#ofCode, state: this.#state });
    if (this.#specs.length === 0 && this.#ofCode.length > 0) return step;
    return await answerCalls(step, context, {
      caller: this.#caller,
      specs: this.#specs,
      idPrefix: `call-${context.turn}`,
      state: this.#state,
    });
  }

  /**
   * Copies have the state that tools share in an episode, and the same tools: what a tool keeps elsewhere is not copied.
   *
   * @throws {CheckpointError} if that state is not plain data.
   */
  checkpoint(): EpisodeCheckpoint<ToolTransform> {
    const state = copyPlainData(this.#state, "the state of tools");
    return {
      copy: () => {
        const copy = new ToolTransform(this.#options);
        copy.#state = structuredClone(state);
        return copy;
      },
    };
  }
}
