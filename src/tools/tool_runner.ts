import { errorMessage, ToolError } from "../errors.ts";
import { RateLimiter } from "./rate_limiter.ts";
import type { Tool } from "./tool.ts";
import { checkArguments } from "./tool_arguments.ts";
import { type ParsedCall, UNNAMED } from "./tool_call_parser.ts";
import type { ToolFault } from "./tool_fault.ts";
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
  /** Calls that one message may make; 128 unless given. Those behind are refused. */
  maxCalls?: number | undefined;
}

/** What the calls of one message have in common. */
export interface RunContext {
  readonly state: Record<string, unknown>;
  /** How ids that have to be made begin. */
  readonly idPrefix: string;
  /** Whether a result `{ error: … }` counts as a failure. */
  readonly errorKeyFails?: boolean | undefined;
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
const DEFAULT_MAX_CALLS = 128;

/** Runs the calls of a message: checked, limited, each within its time. What a tool does never makes it reject. */
export class ToolRunner {
  readonly #find: (name: string) => Tool | undefined;
  readonly #options: ToolRunnerOptions;
  readonly #timeoutMs: number;

  /** @throws {RangeError} when a limit is none. */
  constructor(find: (name: string) => Tool | undefined, options: ToolRunnerOptions = {}) {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxCalls = DEFAULT_MAX_CALLS } = options;
    requireTimeout(timeoutMs, "run tools");
    if (!(maxCalls >= 1)) {
      throw new RangeError(`Cannot run tools as 'maxCalls' must be >= 1: current value is ${maxCalls}`);
    }
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
    const tool = this.#find(call.name);
    const fault = this.#faultBefore(numbered, tool);
    if (tool === undefined || fault !== undefined) {
      return { ...known, tool, fault: fault ?? { kind: "unknown_tool" } };
    }
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
    const end = await this.#call(tool, args, { ...context, callId: known.callId });
    return { ...known, tool, arguments: checked.arguments, durationMs: performance.now() - start, ...end };
  }

  async #call(
    tool: Tool,
    args: Record<string, unknown>,
    context: RunContext & { callId: string },
  ): Promise<{ value: unknown } | { fault: ToolFault }> {
    const { state, callId, signal } = context;
    const timeoutMs = tool.timeoutMs ?? this.#timeoutMs;
    try {
      const value = await withinTime((signal) => tool.run(args, { signal, callId, state }), {
        timeoutMs,
        signal,
      });
      return context.errorKeyFails && hasError(value)
        ? { fault: { kind: "error", reason: errorText(value.error), expected: true } }
        : { value };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TimeIsUp) return { fault: { kind: "timeout", timeoutMs } };
      const expected = error instanceof ToolError;
      return { fault: { kind: "error", reason: errorMessage(error), expected } };
    }
  }

  /** What is wrong with a call before its arguments are looked at. */
  #faultBefore({ call, number }: NumberedCall, tool: Tool | undefined): ToolFault | undefined {
    const { maxCalls = DEFAULT_MAX_CALLS } = this.#options;
    if (number > maxCalls) return { kind: "refused", reason: `a message may make ${maxCalls} calls` };
    if (tool === undefined && call.name !== UNNAMED) return { kind: "unknown_tool" };
    return call.fault === undefined ? undefined : { kind: "unreadable", reason: call.fault };
  }

  #limiter(name: string): RateLimiter | undefined {
    const { rateLimits } = this.#options;
    if (rateLimits === undefined || rateLimits instanceof RateLimiter) return rateLimits;
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
