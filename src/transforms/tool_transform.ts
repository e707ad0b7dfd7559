import { answeredStep, offeredByOthers, offerTools, stepReply } from "../envs/tool_step.ts";
import type { Observation, Step } from "../envs/env.ts";
import type { ToolSpec } from "../tool_spec.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolCaller, type ToolCallerOptions, toolIndex } from "../tools/tool_caller.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** What a {@linkcode ToolTransform} needs. */
export interface ToolTransformOptions extends ToolCallerOptions {
  /** What the model may call. They stay the caller's, who disposes those that hold something open. */
  tools: Iterable<Tool>;
}

/**
 * Runs the tools that the assistant calls in its newest message and puts their answers behind it.
 *
 * The calls of a message run at once and are answered in their order. Whatever goes wrong with one, unknown
 * names, wrong arguments and time-outs among it, is told to the model and written into the step's `toolResults`.
 * Only the assistant's words are read; a call in a query or a tool's output is not one. The tools are offered
 * in each observation, so that a policy with tools of its own protocol knows them. A call of a tool that
 * another transform offers is left to that one.
 *
 * A tool runs in the host's own process: one that never comes back from a loop stops the host, and one that is
 * not to be trusted belongs into a `toolFile`.
 */
export class ToolTransform implements Transform {
  readonly #caller: ToolCaller;
  readonly #specs: readonly ToolSpec[];
  #state: Record<string, unknown> = {};

  /**
   * @throws {TypeError} when two tools have one name, or a tool cannot be described.
   * @throws {RangeError} when a limit is none.
   */
  constructor(options: ToolTransformOptions) {
    const { byName, specs } = toolIndex(options.tools);
    this.#specs = specs;
    this.#caller = new ToolCaller((name) => byName.get(name), options);
  }

  reset(observation: Observation): Observation {
    this.#state = {};
    return offerTools(observation, this.#specs);
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    const offered = offerTools(step, this.#specs);
    const reply = stepReply(step, context);
    if (reply === undefined) return offered;
    const answered = await this.#caller.answer(reply, {
      idPrefix: `call-${context.turn}`,
      state: this.#state,
      others: offeredByOthers(context.observation, this.#specs),
      answered: step.toolResults,
      signal: context.signal,
    });
    return answered === null ? offered : answeredStep(offered, answered);
  }
}
