import type { Observation, Step } from "../envs/env.ts";
import { answerCalls, offerTools } from "../envs/tool_step.ts";
import { ArgumentTypeError } from "../errors.ts";
import { pickKnownOptions, requireKnownOptions } from "../options.ts";
import { refuseCheckpoint } from "../episode_checkpoint.ts";
import type { ToolSpec } from "../message.ts";
import { mcpFaultMessage } from "../tools/parsers/fault_messages.ts";
import { MCP_CLIENTS_OPTIONS, McpClients, type McpClientsOptions } from "../tools/mcp/mcp_clients.ts";
import { tagCalls } from "../tools/parsers/tag_calls.ts";
import { indexTools, TOOL_CALLER_OPTIONS, ToolCaller, type ToolCallerOptions } from "../tools/tool_caller.ts";
import { requireCallers, toolsByCaller } from "../tools/code_mode/shared_tools.ts";
import type { AllowedCaller, Tool } from "../tools/tool.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** Options of {@linkcode MCPToolTransform}: own servers, or shared clients. */
export type MCPToolTransformOptions =
  & ToolCallerOptions
  & {
    /**
     * Who may call the tools. With `"code"`, a `PythonInterpreter` after this transform lets code call them.
     * @default ["model"]
     */
    allowedCallers?: readonly AllowedCaller[] | undefined;
  }
  & (
    | McpClientsOptions & { clients?: never }
    /** Shared clients. The caller disposes them. */
    | { clients: McpClients; servers?: never }
  );

/**
 * Runs the MCP tools that the assistant calls in the newest message. The default syntax is
 * `<tool>server.tool`, a line end, JSON, `</tool>`.
 *
 * A reset starts the servers and offers their tools as `server.tool`. The reset rejects with an `McpError` when
 * a server cannot be started. The model reads later failures: a result with `isError`, a server that died (the
 * next call restarts the server), or a call that exceeded a time limit. Text content is passed unchanged; other
 * content is described.
 *
 * @example
 * ```ts ignore
 * import { ChatEnv, MCPToolTransform, TransformedEnv } from "@paddock/paddock";
 *
 * const servers = { time: { command: "uvx", args: ["mcp-server-time"] } };
 * await using env = new TransformedEnv(new ChatEnv(), [new MCPToolTransform({ servers })]);
 * const { tools } = await env.reset({ id: "1", query: "What time is it in Oslo?" });
 * ```
 */
export class MCPToolTransform implements Transform {
  readonly #clients: McpClients;
  readonly #owned: boolean;
  readonly #caller: ToolCaller;
  readonly #allowedCallers: readonly AllowedCaller[];
  #specs: readonly ToolSpec[] = [];
  #ofCode: readonly Tool[] = [];
  #state: Record<string, unknown> = {};

  /**
   * Checks the options. Servers start at the first reset.
   *
   * @throws {TypeError} when there are no servers, the definition of a server is invalid, or an option is unknown.
   * @throws {RangeError} when a limit is out of range.
   */
  constructor(options: MCPToolTransformOptions) {
    requireServers(options);
    requireKnownOptions("create MCPToolTransform", options, OPTION_KEYS); // TorchRL's, such as `toolSchemas`, would have no effect
    const parser = options.parser ?? tagCalls({ faultText: mcpFaultMessage });
    this.#allowedCallers = requireCallers(options.allowedCallers ?? ["model"]);
    this.#owned = options.clients === undefined;
    this.#clients = options.clients ?? new McpClients(pickKnownOptions(options, MCP_CLIENTS_OPTIONS));
    this.#caller = new ToolCaller((name) => this.#clients.find(name), { ...options, parser });
  }

  async reset(observation: Observation, { signal, sharedTools }: TransformContext): Promise<Observation> {
    this.#state = {};
    const { ofModel, ofCode } = toolsByCaller(await this.#clients.tools(signal), this.#allowedCallers);
    this.#specs = indexTools(ofModel).specs;
    this.#ofCode = ofCode;
    sharedTools?.add({ tools: ofCode, state: this.#state });
    return offerTools(observation, this.#specs);
  }

  async step(step: Step, context: TransformContext): Promise<Step> {
    context.sharedTools?.add({ tools: this.#ofCode, state: this.#state });
    if (!this.#allowedCallers.includes("model")) return step;
    return await answerCalls(step, context, {
      caller: this.#caller,
      specs: this.#specs,
      idPrefix: `mcp-${context.turn}`,
      state: this.#state,
    });
  }

  /** @throws {CheckpointError} always, since the state of MCP servers cannot be copied. */
  checkpoint(): never {
    return refuseCheckpoint("its tools must not be of MCP servers: their state cannot be copied");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#owned) await this.#clients[Symbol.asyncDispose]();
  }
}

type OptionKey = keyof ToolCallerOptions | keyof McpClientsOptions | "clients" | "allowedCallers";

const OPTION_KEYS: Readonly<Record<OptionKey, true>> = {
  servers: true,
  clients: true,
  allowedCallers: true,
  startTimeoutMs: true,
  detected: true,
  onWarning: true,
  ...TOOL_CALLER_OPTIONS,
};

/** Refuses options without servers, such as functions as `tools`, which TorchRL's `MCPToolTransform` takes. */
function requireServers(options: unknown): void {
  const { clients, servers, ...others } = Object(options);
  if (clients !== undefined || servers !== undefined) return;
  const found = Object.keys(others).join(", ");
  const remedy = "tools" in others
    ? ". Functions are the 'tools' of ToolTransform: describe each with tool({ name, description, parameters, run })"
    : "";
  throw new ArgumentTypeError(
    `Cannot create MCPToolTransform as it must have 'servers' or 'clients': found [${found}]${remedy}`,
  );
}
