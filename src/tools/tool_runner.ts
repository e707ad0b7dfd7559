import { CallTimeoutError, requireTimeout, runWithTimeout } from "../async/abort.ts";
import { ArgumentRangeError, errorMessage, ToolError } from "../errors.ts";
import { RateLimiter } from "./rate_limiter.ts";
import type { Tool } from "./tool.ts";
import { checkArguments, type CheckedArguments, hasParameter, toolSpec } from "./tool_arguments.ts";
import { typedArguments } from "./typed_arguments.ts";
import { type ParsedCall, UNNAMED } from "./parsers/tool_call_parser.ts";
import type { ToolFault } from "./tool_result.ts";

/** Options of a {@linkcode ToolRunner}. */
export interface ToolRunnerOptions {
  /**
   * Maximum duration of a call, in milliseconds. A tool's own `timeoutMs` overrides this limit.
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
   * Maximum number of calls in a message. A single refusal answers all further calls.
   * @default 128
   */
  maxCalls?: number | undefined;
  /**
   * Maximum size of the results of a message together, in characters. Further results are dropped.
   * @default 67_108_864
   */
  maxTotalCharacters?: number | undefined;
}

/** Context that the calls of a message share. */
export interface RunContext {
  readonly state: Record<string, unknown>;
  /** Prefix of generated ids. */
  readonly idPrefix: string;
  /** JSON of the arguments of the only call, if JavaScript would write a number differently. */
  readonly argumentsText?: string | undefined;
  /** If true, a result `{ error: … }` counts as a failure. */
  readonly errorKeyFails?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A call with the call's position in the message, from 1. */
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
  /** Reason of the failure, if the call failed. */
  readonly fault?: ToolFault | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_CALLS = 128;
const DEFAULT_TOTAL_CHARACTERS = 64 * 1024 * 1024;

/**
 * Runs the calls of a message: checks arguments, applies rate limits and time limits. Errors of tools become
 * outcomes and never reject.
 */
export class ToolRunner {
  readonly #find: (name: string) => Tool | undefined;
  readonly #options: ToolRunnerOptions;
  readonly #timeoutMs: number;
  readonly #maxCalls: number;
  readonly #maxCharacters: number;

  /**
   * @throws {RangeError} when a limit is out of range.
   */
  constructor(find: (name: string) => Tool | undefined, options: ToolRunnerOptions = {}) {
    const {
      timeoutMs = DEFAULT_TIMEOUT_MS,
      maxCalls = DEFAULT_MAX_CALLS,
      maxTotalCharacters = DEFAULT_TOTAL_CHARACTERS,
    } = options;
    requireTimeout(timeoutMs, "run tools");
    for (const [name, value] of Object.entries({ maxCalls, maxTotalCharacters })) {
      if (value >= 1) continue;
      throw new ArgumentRangeError(`Cannot run tools as '${name}' must be >= 1: current value is ${value}`);
    }
    this.#find = find;
    this.#options = options;
    this.#timeoutMs = timeoutMs;
    this.#maxCalls = maxCalls;
    this.#maxCharacters = maxTotalCharacters;
  }

  /**
   * Returns the outcomes in the order of the calls, with a single outcome for all calls beyond `maxCalls`. Rejects only
   * when the signal is aborted.
   */
  async run(calls: readonly NumberedCall[], context: RunContext): Promise<ToolOutcome[]> {
    const last = calls.at(-1)?.number ?? 0;
    const refused = calls.find(({ number }) => number > this.#maxCalls);
    const allowed = calls.filter(({ number }) => number <= this.#maxCalls);
    const outcomes = await this.#runAll(allowed, context);
    if (refused !== undefined) {
      const others = refused.number < last ? `: calls ${refused.number} to ${last} were not run` : "";
      const reason = `a message may make ${this.#maxCalls} calls${others}`;
      outcomes.push(refusedOutcome(refused, { ...context, reason, attempted: true }));
    }
    return outcomes;
  }

  async #runAll(calls: readonly NumberedCall[], context: RunContext): Promise<ToolOutcome[]> {
    const limit = this.#maxCharacters;
    let characters = 0;
    const run = async (call: NumberedCall): Promise<ToolOutcome> => {
      const outcome = await this.#run(call, context);
      const length = limit === Infinity ? 0 : lengthOf(outcome.value);
      if (characters + length > limit) {
        const reason = `the results of a message may have ${limit} characters together: this one is dropped`;
        return { ...outcome, value: undefined, fault: { kind: "error", reason, expected: true } };
      }
      characters += length;
      return outcome;
    };
    if (!this.#options.stopOnError) return await Promise.all(calls.map(run));
    const outcomes: ToolOutcome[] = [];
    for (const call of calls) {
      const failed = outcomes.some(({ fault }) => fault !== undefined);
      const reason = "an earlier call of the message failed";
      outcomes.push(
        failed ? refusedOutcome(call, { ...context, reason, attempted: false }) : await run(call),
      );
    }
    return outcomes;
  }

  async #run(numbered: NumberedCall, context: RunContext): Promise<ToolOutcome> {
    const { signal } = context;
    const { call } = numbered;
    const common = { ...numbered, callId: idOf(numbered, context), attempted: true, durationMs: 0 };
    const tool = this.#find(call.name);
    const fault = faultBefore(call, tool);
    if (tool === undefined || fault !== undefined) {
      return { ...common, tool, fault: fault ?? { kind: "unknown_tool" } };
    }
    const checked = checkCall(tool, call);
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
    const { state, callId, argumentsText, signal } = context;
    const timeoutMs = tool.timeoutMs ?? this.#timeoutMs;
    try {
      const value = await runWithTimeout(
        (signal) => tool.run(args, { signal, callId, state, argumentsText }),
        {
          timeoutMs,
          signal,
        },
      );
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

  #limiter(name: string): RateLimiter | undefined {
    const { rateLimits } = this.#options;
    if (rateLimits === undefined || rateLimits instanceof RateLimiter) return rateLimits;
    return Object.hasOwn(rateLimits, name) ? rateLimits[name] : undefined;
  }
}

/** Checks the arguments of a call, after texts got the types of the tool's schema if the call has only texts. */
function checkCall(tool: Tool, { arguments: args, hasTextArguments }: ParsedCall): CheckedArguments {
  if (!hasTextArguments) return checkArguments(tool, args);
  try {
    return checkArguments(tool, typedArguments(args, toolSpec(tool).parameters));
  } catch (error) {
    return { broken: errorMessage(error) }; // the schema cannot be written as JSON Schema
  }
}

/** Returns the fault of a call that can be found without its arguments. */
function faultBefore(call: ParsedCall, tool: Tool | undefined): ToolFault | undefined {
  if (tool === undefined && call.name !== UNNAMED) return { kind: "unknown_tool" };
  if (call.fault === undefined || (tool !== undefined && takesRaw(tool, call))) return undefined;
  return { kind: "unreadable", reason: call.fault };
}

/** True if a parser gives the text of unreadable arguments, and the tool has a parameter for that text. */
function takesRaw(tool: Tool, { arguments: args }: ParsedCall): boolean {
  return Object.hasOwn(args, "raw") && hasParameter(tool, "raw");
}

function refusedOutcome(
  numbered: NumberedCall,
  { reason, attempted, ...context }: RunContext & { reason: string; attempted: boolean },
): ToolOutcome {
  const fault: ToolFault = { kind: "refused", reason };
  return { ...numbered, callId: idOf(numbered, context), attempted, durationMs: 0, fault };
}

/** Returns the size of a result in characters; 0 for a value that is not JSON, which is refused later. */
function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
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
