import * as z from "zod";
import { ArgumentTypeError, errorMessage } from "../errors.ts";
import { parseExact } from "../numbers/exact_numbers.ts";
import type { ToolAnswer } from "../sandbox/contract/exec.ts";
import type { HostToolContext } from "../sandbox/host_tool.ts";
import { encodeToolValue } from "../sandbox/tool_value.ts";
import { MAX_TOOL_ERROR_CHARACTERS } from "../wire/limits.ts";
import type { CallAnswer, callEventSchema, sessionToolSchema } from "../wire/v1_tools.ts";
import type { ClientTool } from "./client_options.ts";
import { emptyResponse } from "./responses.ts";
import type { ServerApi } from "./server_api.ts";

/** The tools of a session. */
export class ClientTools {
  /** Descriptions of the tools, for the request that opens the session. */
  readonly specs: z.input<typeof sessionToolSchema>[];
  readonly #tools: ReadonlyMap<string, ClientTool>;

  constructor(tools: readonly ClientTool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.specs = tools.map(({ name, description, parameters, timeoutMs }) => ({
      name,
      description,
      parameters: isZod(parameters) ? z.toJSONSchema(parameters, { io: "input" }) : parameters,
      ...(timeoutMs !== undefined && { timeoutMs }),
    }));
  }

  /** Runs a call and returns the answer to it. It never rejects. */
  async answer(
    { name, arguments: args }: z.output<typeof callEventSchema>,
    context: HostToolContext,
  ): Promise<CallAnswer> {
    try {
      const tool = this.#tools.get(name);
      if (tool === undefined) throw new TypeError(`the client has no tool '${name}'`);
      const parsed = isZod(tool.parameters) ? parseArguments(tool.parameters, args) : args;
      return toWireAnswer({ value: await tool.run(parsed, context) });
    } catch (error) {
      return toErrorAnswer(error);
    }
  }
}

/**
 * Returns an answer as JSON carries it, whose integers have all of their digits.
 *
 * @throws {TypeError} if its value is no JSON, such as bytes.
 */
export function toWireAnswer(answer: ToolAnswer): CallAnswer {
  if ("error" in answer && answer.error !== undefined) return { error: answer.error };
  const { json, media } = encodeToolValue((answer as { value?: unknown }).value);
  if (media.length === 0) return { value: parseExact(json) ?? JSON.parse(json) };
  throw new ArgumentTypeError("Cannot answer call as its value must be JSON for a server: found bytes");
}

/** The calls of one streamed program. Disposing it aborts those that still run. */
export class RunningCalls implements Disposable {
  readonly #api: ServerApi;
  /** Path of the session. */
  readonly #path: string;
  readonly #tools: ClientTools;
  readonly #running = new Map<string, AbortController>();

  constructor(api: ServerApi, { path, tools }: { path: string; tools: ClientTools }) {
    this.#api = api;
    this.#path = path;
    this.#tools = tools;
  }

  /** Runs a call in the background and sends its answer. */
  start(call: z.output<typeof callEventSchema>): void {
    const abort = new AbortController();
    this.#running.set(call.callId, abort);
    this.#run(call, abort.signal).finally(() => this.#running.delete(call.callId));
  }

  /** Aborts a call that the server no longer waits for. */
  cancel(callId: string): void {
    this.#running.get(callId)?.abort(new DOMException("The call took too long", "TimeoutError"));
  }

  [Symbol.dispose](): void {
    for (const abort of this.#running.values()) {
      abort.abort(new DOMException("The program that made the call has ended", "AbortError"));
    }
  }

  async #run(call: z.output<typeof callEventSchema>, signal: AbortSignal): Promise<void> {
    const answer = await this.#tools.answer(call, { signal });
    if (signal.aborted) return;
    const send = (answer: CallAnswer) =>
      this.#api.post(`${this.#path}/calls/${call.callId}`, answer, {
        action: `answer the call of '${call.name}'`,
        schema: emptyResponse,
      });
    try {
      await send(answer);
    } catch (error) {
      if (signal.aborted) return;
      // The server refuses the value, such as one that is too large. If it also refuses this, the call is over.
      await send(toErrorAnswer(error)).catch(() => {});
    }
  }
}

function isZod(parameters: ClientTool["parameters"]): parameters is z.ZodObject {
  return parameters instanceof z.ZodType;
}

function parseArguments(schema: z.ZodObject, args: Record<string, unknown>): Record<string, unknown> {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  throw new TypeError(z.prettifyError(parsed.error));
}

function toErrorAnswer(error: unknown): CallAnswer {
  const type = error instanceof Error ? { type: error.name.slice(0, 256) } : {};
  return { error: { ...type, message: errorMessage(error).slice(0, MAX_TOOL_ERROR_CHARACTERS) } };
}
