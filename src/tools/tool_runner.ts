import { CallTimeoutError, requireTimeout, runWithTimeout } from "../async/abort.ts";
import { ArgumentRangeError, errorMessage, ToolError } from "../errors.ts";
import { RateLimiter } from "./rate_limiter.ts";
import type { Tool } from "./tool.ts";
import { checkArguments } from "./tool_arguments.ts";
import { type ParsedCall, UNNAMED } from "./parsers/tool_call_parser.ts";
import type { ToolFault } from "./tool_result.ts";

/** Options of a {@linkcode ToolRunner}. */
export interface ToolRunnerOptions {
  /**
   * Maximum duration of a call, in milliseconds. A tool's own `timeoutMs` overrides it.
   * @default 10_000
   */
  timeoutMs?: number | undefined;
  /** Rate limiter for all calls, or for calls of the named tools. */
  rateLimits?: RateLimiter | Readonly<Record<string, RateLimiter>> | undefined;
  /**
   * If true, runs the calls of a message in order and stops after the first failure.
   * @default false
   */
  stopOnError?: boolean | undefined;
  /**
   * If true, passes the episode's state to each tool as the argument `_state` as well.
   * @default false
   */
  passState?: boolean | undefined;
  /**
   * Maximum number of calls in one message. Further calls are refused.
   * @default 128
   */
  maxCalls?: number | undefined;
}

/** Context that the calls of one message share. */
export interface RunContext {
  readonly state: Record<string, unknown>;
  /** Prefix of generated ids. */
  readonly idPrefix: string;
  /** If true, a result `{ error: … }` counts as a failure. */
  readonly errorKeyFails?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A call with its position in the message, from 1. */
export interface NumberedCall {
  readonly call: ParsedCall;
  readonly number: number;
}

/** Outcome of a call. */
export interface ToolOutcome extends NumberedCall {
  /** Tool that was found. */
  readonly tool?: Tool | undefined;
  readonly callId: string;
  /** Arguments that the tool received. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  /** False if the call was skipped because an earlier call failed. */
  readonly attempted: boolean;
  readonly durationMs: number;
  readonly value?: unknown;
  /** Reason of the failure, if it failed. */
  readonly fault?: ToolFault | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_CALLS = 128;

/**
 * Runs the calls of a message: checks arguments, applies rate limits and time limits. Errors of tools become
 * outcomes and never reject.
 */
export class ToolRunner {
  readonly #find: (name: string) => Tool | undefined;
  readonly #options: ToolRunnerOptions;
  readonly #timeoutMs: number;

  /**
   * @throws {RangeError} when a limit is out of range.
   */
  constructor(find: (name: string) => Tool | undefined, options: ToolRunnerOptions = {}) {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxCalls = DEFAULT_MAX_CALLS } = options;
    requireTimeout(timeoutMs, "run tools");
    if (!(maxCalls >= 1)) {
      throw new ArgumentRangeError(
        `Cannot run tools as 'maxCalls' must be >= 1: current value is ${maxCalls}`,
      );
    }
    this.#find = find;
    this.#options = options;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns the outcomes in the order of the calls. Rejects only when the signal is aborted. */
  async run(calls: readonly NumberedCall[], context: RunContext): Promise<ToolOutcome[]> {
    if (!this.#options.stopOnError) return await Promise.all(calls.map((call) => this.#run(call, context)));
    const outcomes: ToolOutcome[] = [];
    for (const call of calls) {
      const failed = outcomes.some(({ fault }) => fault !== undefined);
      outcomes.push(failed ? skippedOutcome(call, context) : await this.#run(call, context));
    }
    return outcomes;
  }

  async #run(numbered: NumberedCall, context: RunContext): Promise<ToolOutcome> {
    const { signal } = context;
    const { call } = numbered;
    const common = { ...numbered, callId: idOf(numbered, context), attempted: true, durationMs: 0 };
    const tool = this.#find(call.name);
    const fault = this.#faultBefore(numbered, tool);
    if (tool === undefined || fault !== undefined) {
      return { ...common, tool, fault: fault ?? { kind: "unknown_tool" } };
    }
    const checked = checkArguments(tool, call.arguments);
    if ("broken" in checked) return { ...common, tool, fault: unexpectedError(checked.broken) };
    if ("wrong" in checked) {
      return { ...common, tool, fault: { kind: "bad_arguments", reason: checked.wrong } };
    }
    using turn = await this.#limiter(tool.name)?.acquire({ signal });
    if (turn === null) {
      return { ...common, tool, fault: { kind: "refused", reason: "too many calls are waiting" } };
    }
    const args = this.#options.passState
      ? { ...checked.arguments, _state: context.state }
      : checked.arguments;
    const start = performance.now();
    const end = await this.#call(tool, args, { ...context, callId: common.callId });
    return { ...common, tool, arguments: checked.arguments, durationMs: performance.now() - start, ...end };
  }

  async #call(
    tool: Tool,
    args: Record<string, unknown>,
    context: RunContext & { callId: string },
  ): Promise<{ value: unknown } | { fault: ToolFault }> {
    const { state, callId, signal } = context;
    const timeoutMs = tool.timeoutMs ?? this.#timeoutMs;
    try {
      const value = await runWithTimeout((signal) => tool.run(args, { signal, callId, state }), {
        timeoutMs,
        signal,
      });
      return context.errorKeyFails && hasError(value)
        ? { fault: { kind: "error", reason: errorText(value.error), expected: true } }
        : { value };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof CallTimeoutError) return { fault: { kind: "timeout", timeoutMs } };
      const expected = error instanceof ToolError;
      return { fault: { kind: "error", reason: errorMessage(error), expected } };
    }
  }

  /** Returns the fault of a call that can be found without its arguments. */
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

function skippedOutcome(numbered: NumberedCall, context: RunContext): ToolOutcome {
  const fault: ToolFault = { kind: "refused", reason: "an earlier call of the message failed" };
  return { ...numbered, callId: idOf(numbered, context), attempted: false, durationMs: 0, fault };
}

function idOf({ call, number }: NumberedCall, { idPrefix }: RunContext): string {
  return call.callId ?? `${idPrefix}-${number}`;
}

function unexpectedError(reason: string): ToolFault {
  return { kind: "error", reason, expected: false };
}

function hasError(value: unknown): value is { error: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "error") &&
    (value as { error: unknown }).error !== null;
}

function errorText(error: unknown): string {
  return typeof error === "string" ? error : JSON.stringify(error) ?? String(error);
}
