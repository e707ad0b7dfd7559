import type { Observation, Step } from "../envs/env.ts";
import { answeredStep, offeredByOthers, offerTools, stepReply } from "../envs/tool_step.ts";
import type { ToolSpec } from "../tool_spec.ts";
import { mcpFaultText } from "../tools/fault_words.ts";
import { McpClients, type McpClientsOptions } from "../tools/mcp/mcp_clients.ts";
import { tagCalls } from "../tools/tag_calls.ts";
import { ToolCaller, type ToolCallerOptions, toolIndex } from "../tools/tool_caller.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** What a {@linkcode MCPToolTransform} needs: servers of its own, or clients that it shares with others. */
export type MCPToolTransformOptions =
  & ToolCallerOptions
  & (
    | McpClientsOptions & { clients?: never }
    /** They stay the caller's, who disposes them. */
    | { clients: McpClients; servers?: never }
  );

/**
 * Runs the tools of servers of the Model Context Protocol that the assistant calls in its newest message:
 * `<tool>server.tool`, a line end, JSON, `</tool>` unless told otherwise.
 *
 * At reset the servers are started, which rejects with an `McpError` when one cannot be, and their tools are
 * offered as `server.tool`. Later failures are told to the model: what a tool says with `isError`, a server that
 * died (it is started again at the next call), a call that took too long. Texts of a server are shown as they are,
 * other parts described.
 */
export class MCPToolTransform implements Transform {
  readonly #clients: McpClients;
  readonly #owned: boolean;
  readonly #caller: ToolCaller;
  #specs: readonly ToolSpec[] = [];
  #state: Record<string, unknown> = {};

  /**
   * Starts nothing yet.
   *
   * @throws {TypeError} when a server is not written as one.
   * @throws {RangeError} when a limit is none.
   */
  constructor(options: MCPToolTransformOptions) {
    const parser = options.parser ?? tagCalls({ faultText: mcpFaultText });
    this.#owned = options.clients === undefined;
    this.#clients = options.clients ?? new McpClients(options);
    this.#caller = new ToolCaller((name) => this.#clients.find(name), { ...options, parser });
  }

  async reset(observation: Observation, { signal }: TransformContext): Promise<Observation> {
    this.#state = {};
    this.#specs = toolIndex(await this.#clients.tools(signal)).specs;
    return offerTools(observation, this.#specs);
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    const offered = offerTools(step, this.#specs);
    const reply = stepReply(step, context);
    if (reply === undefined) return offered;
    const answered = await this.#caller.answer(reply, {
      idPrefix: `mcp-${context.turn}`,
      state: this.#state,
      others: offeredByOthers(context.observation, this.#specs),
      answered: step.toolResults,
      signal: context.signal,
    });
    return answered === null ? offered : answeredStep(offered, answered);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#owned) await this.#clients[Symbol.asyncDispose]();
  }
}
