import { ToolError } from "../errors.ts";
import type { RateLimiter } from "./rate_limiter.ts";
import type { Tool } from "./tool.ts";
import { checkArguments } from "./tool_arguments.ts";
import type { ParsedCall } from "./tool_call_parser.ts";
import { thrownText, type ToolFault } from "./tool_fault.ts";
import { requireTimeout, TimeIsUp, withinTime } from "./within_time.ts";

/** How calls are run. */
export interface ToolRunnerOptions {
  /** Milliseconds that a call may take, unless its tool says otherwise; 10,000 unless given. */
  timeoutMs?: number | undefined;
  /** Limits for all calls, or for those of the tools that are named. */
  rateLimits?: RateLimiter | Readonly<Record<string, RateLimiter>> | undefined;
  /** Runs the calls of a message one after the other, and none behind one that failed. */
  stopOnError?: boolean | undefined;
  /** Gives each tool the episode's state as the argument `_state` too. */
  passState?: boolean | undefined;
  /** Whether a result `{ error: … }` counts as a failure. */
  errorKeyFails?: boolean | undefined;
}

/** What the calls of one message have in common. */
export interface RunContext {
  readonly state: Record<string, unknown>;
  /** How ids that have to be made begin. */
  readonly idPrefix: string;
  readonly signal?: AbortSignal | undefined;
}

/** A call, and which of its message's calls it is, from 1. */
export interface NumberedCall {
  readonly call: ParsedCall;
  readonly number: number;
}

/** What became of a call. */
export interface ToolOutcome extends NumberedCall {
  /** The tool that was found. */
  readonly tool?: Tool | undefined;
  readonly callId: string;
  /** The arguments as the tool got them. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  /** False for a call that was never tried, as one before it failed. */
  readonly tried: boolean;
  readonly durationMs: number;
  readonly value?: unknown;
  /** Set when it went wrong. */
  readonly fault?: ToolFault | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Runs the calls of a message: checked, limited, each within its time. What a tool does never makes it reject. */
export class ToolRunner {
  readonly #find: (name: string) => Tool | undefined;
  readonly #options: ToolRunnerOptions;
  readonly #timeoutMs: number;

  /** @throws {RangeError} when the time limit is none. */
  constructor(find: (name: string) => Tool | undefined, options: ToolRunnerOptions = {}) {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    requireTimeout(timeoutMs, "run tools");
    this.#find = find;
    this.#options = options;
    this.#timeoutMs = timeoutMs;
  }

  /** Gives the outcomes in the order of the calls; rejects when the signal is aborted, and only then. */
  async run(calls: readonly NumberedCall[], context: RunContext): Promise<ToolOutcome[]> {
    if (!this.#options.stopOnError) return await Promise.all(calls.map((call) => this.#run(call, context)));
    const outcomes: ToolOutcome[] = [];
    for (const call of calls) {
      const failed = outcomes.some(({ fault }) => fault !== undefined);
      outcomes.push(failed ? untried(call, context) : await this.#run(call, context));
    }
    return outcomes;
  }

  async #run(numbered: NumberedCall, context: RunContext): Promise<ToolOutcome> {
    const { signal } = context;
    const { call } = numbered;
    const known = { ...numbered, callId: idOf(numbered, context), tried: true, durationMs: 0 };
    if (call.fault !== undefined) return { ...known, fault: { kind: "unreadable", reason: call.fault } };
    const tool = this.#find(call.name);
    if (tool === undefined) return { ...known, fault: { kind: "unknown_tool" } };
    const checked = checkArguments(tool, call.arguments);
    if ("broken" in checked) return { ...known, tool, fault: unexpected(checked.broken) };
    if ("wrong" in checked) {
      return { ...known, tool, fault: { kind: "bad_arguments", reason: checked.wrong } };
    }
    using turn = await this.#limiter(tool.name)?.acquire({ signal });
    if (turn === null) {
      return { ...known, tool, fault: { kind: "refused", reason: "too many calls are waiting" } };
    }
    const args = this.#options.passState
      ? { ...checked.arguments, _state: context.state }
      : checked.arguments;
    const start = performance.now();
    const end = await this.#call(tool, args, { state: context.state, callId: known.callId, signal });
    return { ...known, tool, arguments: checked.arguments, durationMs: performance.now() - start, ...end };
  }

  async #call(
    tool: Tool,
    args: Record<string, unknown>,
    context: { state: Record<string, unknown>; callId: string; signal: AbortSignal | undefined },
  ): Promise<{ value: unknown } | { fault: ToolFault }> {
    const { state, callId, signal } = context;
    const timeoutMs = tool.timeoutMs ?? this.#timeoutMs;
    try {
      const value = await withinTime((signal) => tool.run(args, { signal, callId, state }), {
        timeoutMs,
        signal,
      });
      return this.#options.errorKeyFails && hasError(value)
        ? { fault: { kind: "error", reason: errorText(value.error), expected: true } }
        : { value };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TimeIsUp) return { fault: { kind: "timeout", timeoutMs } };
      const expected = error instanceof ToolError;
      return { fault: { kind: "error", reason: thrownText(error), expected } };
    }
  }

  #limiter(name: string): RateLimiter | undefined {
    const { rateLimits } = this.#options;
    if (rateLimits === undefined || "acquire" in rateLimits) return rateLimits as RateLimiter | undefined;
    return Object.hasOwn(rateLimits, name) ? rateLimits[name] : undefined;
  }
}

function untried(numbered: NumberedCall, context: RunContext): ToolOutcome {
  const fault: ToolFault = { kind: "refused", reason: "an earlier call of the message failed" };
  return { ...numbered, callId: idOf(numbered, context), tried: false, durationMs: 0, fault };
}

function idOf({ call, number }: NumberedCall, { idPrefix }: RunContext): string {
  return call.callId ?? `${idPrefix}-${number}`;
}

function unexpected(reason: string): ToolFault {
  return { kind: "error", reason, expected: false };
}

function hasError(value: unknown): value is { error: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "error") &&
    (value as { error: unknown }).error !== null;
}

function errorText(error: unknown): string {
  return typeof error === "string" ? error : JSON.stringify(error) ?? String(error);
}
