import * as z from "zod";
import { CallTimeoutError, runWithTimeout } from "../../async/abort.ts";
import { checkJsonLimits, JSON_LIMITS, JsonLimitError } from "../../json.ts";
import { withRawIntegers, writeIntegers } from "../../numbers/exact_numbers.ts";
import type { HostTool, HostToolContext } from "../../sandbox/host_tool.ts";
import { checkArguments } from "../../tools/tool_arguments.ts";
import { MAX_SESSION_TOOLS_CHARACTERS } from "../../wire/limits.ts";
import {
  CALL_ID,
  type CallAnswer,
  type callEventSchema,
  type cancelEventSchema,
  type SessionToolSpec,
} from "../../wire/v1_tools.ts";
import type { Account } from "../admission/budget.ts";
import { ServerError } from "../http/http_errors.ts";
import { CALL_BYTES, MAX_CALL_CHECK_CHARACTERS, MAX_CALL_CHECKS, MEMORY_PER_BYTE } from "../limits.ts";
import { toCheckedSchema } from "./tool_schema.ts";

/** The way on which a streamed program's calls reach the client. */
export interface CallChannel {
  /** Sends the event `call`. */
  call(event: z.output<typeof callEventSchema>): void;
  /** Sends the event `cancel`. */
  cancel(event: z.output<typeof cancelEventSchema>): void;
  /** Memory of the owner, which waiting calls take. */
  readonly memory: Account;
}

interface PendingCall {
  readonly answered: PromiseWithResolvers<CallAnswer>;
  readonly delivered: Promise<void> | undefined;
}

/** The tools of a session's client. Sends the calls of programs to the client and receives its answers. */
export class SessionTools {
  readonly #tools: readonly CheckedTool[];
  readonly #pending = new Map<number, PendingCall>();
  /** Number of calls that were sent, which is also the number of the last one. */
  #sent = 0;

  /**
   * @param from the tools, or a session's tools that this one has too
   * @throws {ServerError} `invalid` if a tool is invalid.
   */
  constructor(from: readonly SessionToolSpec[] | SessionTools) {
    this.#tools = from instanceof SessionTools ? from.#tools : checkTools(from);
  }

  /** Returns the same tools for another session, whose calls are its own. */
  copy(): SessionTools {
    return new SessionTools(this);
  }

  /** The tools as the client stated them. */
  get specs(): SessionToolSpec[] {
    return this.#tools.map(({ spec }) => spec);
  }

  /** Names of the tools. */
  get names(): string[] {
    return this.#tools.map(({ spec }) => spec.name);
  }

  /** Returns the tools of one exec. Without a channel, each call fails. */
  toHostTools(channel: CallChannel | undefined): HostTool[] {
    return this.#tools.map((tool) => {
      const { name, description, parameters } = tool.spec;
      return {
        name,
        description,
        // The client's own schema is only shown to the program: `CheckedTool` checks arguments.
        parameters: z.looseObject({}).meta(parameters),
        exactIntegers: true,
        run: (args, context) => this.#run(tool, { args, channel, context }),
      };
    });
  }

  /** Returns the tools of an exec that waits at their calls. */
  toWaitingTools(): HostTool[] {
    return this.#tools.map((tool) => {
      const { name, description, parameters } = tool.spec;
      const checked = z.looseObject({}).superRefine((args, context) => {
        const fault = tool.fault(args, JSON.stringify(args, writeIntegers));
        if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
      });
      const exact = { exactIntegers: true };
      return { name, description, parameters: checked.meta(parameters), ...exact, run: () => undefined };
    });
  }

  /**
   * Answers a call. Resolves when the program has the answer or has ended.
   *
   * @throws {ServerError} `not_found` if there was no such call; `conflict` if it is answered or has ended.
   */
  async answer(callId: string, answer: CallAnswer): Promise<void> {
    const number = Number(callId.match(CALL_ID)?.[1] ?? Infinity);
    const pending = this.#pending.get(number);
    if (pending === undefined) {
      if (number > this.#sent) throw new ServerError("not_found", "There is no such call");
      throw new ServerError("conflict", "The call has been answered or has ended");
    }
    this.#pending.delete(number);
    pending.answered.resolve(answer);
    await pending.delivered;
  }

  async #run(tool: CheckedTool, { args, channel, context }: ToolCall): Promise<unknown> {
    const { name, timeoutMs } = tool.spec;
    if (channel === undefined) {
      throw new Error(
        `'${name}' can be called only by a program that is streamed: POST /v1/sessions/{id}/stream`,
      );
    }
    const exact = withRawIntegers(args) as Record<string, unknown>;
    const json = JSON.stringify(exact);
    const fault = tool.fault(args, json);
    if (fault === TOO_LARGE) throw new Error(`the arguments of '${name}' are ${TOO_LARGE}`);
    if (fault !== undefined) throw new Error(`wrong arguments for '${name}': ${fault}`);
    using _memory = channel.memory.take(CALL_BYTES + MEMORY_PER_BYTE * json.length);
    const number = ++this.#sent;
    const callId = `call_${number}`;
    const answered = Promise.withResolvers<CallAnswer>();
    this.#pending.set(number, { answered, delivered: context.delivered });
    try {
      channel.call({ callId, name, arguments: exact });
      const { value, error } = await runWithTimeout(() => answered.promise, {
        timeoutMs,
        signal: context.signal,
      });
      if (error === undefined) return value;
      throw new Error(error.type === undefined ? error.message : `${error.type}: ${error.message}`);
    } catch (error) {
      if (!(error instanceof CallTimeoutError)) throw error;
      channel.cancel({ callId });
      throw new Error(`the client did not answer the call of '${name}' within ${timeoutMs} ms`);
    } finally {
      this.#pending.delete(number);
    }
  }
}

function checkTools(specs: readonly SessionToolSpec[]): CheckedTool[] {
  const { length } = JSON.stringify(specs);
  if (length > MAX_SESSION_TOOLS_CHARACTERS) {
    throw new ServerError(
      "invalid",
      `Cannot offer tools as they must have at most ${MAX_SESSION_TOOLS_CHARACTERS} characters as JSON: found ${length}`,
    );
  }
  const names = specs.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) {
    throw new ServerError(
      "invalid",
      `Cannot offer tools as their names must be unique: '${twice}' occurs twice`,
    );
  }
  return specs.map((spec) => new CheckedTool(spec));
}

interface ToolCall {
  readonly args: Record<string, unknown>;
  readonly channel: CallChannel | undefined;
  readonly context: HostToolContext;
}

/** Fault of arguments whose check would take too long. */
const TOO_LARGE = "too large for its schema";

/** A tool whose calls are checked within a bounded time. */
class CheckedTool {
  readonly spec: SessionToolSpec;
  readonly #schema: Readonly<Record<string, unknown>>;
  readonly #characters: number;

  constructor(spec: SessionToolSpec) {
    this.spec = spec;
    this.#schema = toCheckedSchema(spec.name, spec.parameters);
    this.#characters = JSON.stringify(this.#schema).length;
  }

  /** Returns why the arguments, which are also given as JSON, do not match the schema; `undefined` if they do. */
  fault(args: Record<string, unknown>, json: string): string | undefined {
    const { name } = this.spec;
    if (json.length > MAX_CALL_CHECK_CHARACTERS / this.#characters) return TOO_LARGE;
    try {
      checkJsonLimits(json, { ...JSON_LIMITS, values: MAX_CALL_CHECKS / this.#characters });
    } catch (error) {
      if (error instanceof JsonLimitError) return TOO_LARGE;
      throw error;
    }
    const tool = { name, description: "", parameters: this.#schema, run: () => undefined };
    const checked = checkArguments(tool, args);
    return "wrong" in checked ? checked.wrong : "broken" in checked ? checked.broken : undefined;
  }
}
