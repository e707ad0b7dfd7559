import { MAX_TIMER_MS } from "../../async/abort.ts";
import { ToolError } from "../../errors.ts";
import { isLargeInteger, parseExact } from "../../numbers/exact_numbers.ts";
import type { ToolRecord, Trajectory } from "../../rollout/trajectory.ts";
import { type CodeToolNames, type CodeToolSpec, isCodeToolSpec } from "../../tools/code_mode/python_names.ts";
import type { Tool, ToolContext } from "../../tools/tool.ts";
import type { CodeCall } from "../../tools/tool_result.ts";
import { withMedia } from "../../sandbox/tool_value.ts";
import { UsageError } from "../cli_errors.ts";

/** A call of code that differs from the recorded one. */
export interface CallDifference {
  /** Position of the block in its message, from 1. */
  readonly block: number;
  /** Position of the recorded call in its block, or of the first further one, from 1. */
  readonly call: number;
  /** The calls as `search({"query":"x"})`, or `(no call)`. */
  readonly recorded: string;
  readonly replayed: string;
}

type NamedCall = Pick<CodeCall, "tool" | "arguments">;

/**
 * Returns tools that answer the calls of code from the record of an episode. Calls whose result is not in the record are
 * answered by `tools`. A call that the record does not have fails.
 *
 * @throws {UsageError} if the record lacks the description of a tool, or a result that no tool of `tools` can give.
 */
export function recordedTools(
  { task, info = {}, toolResults }: Pick<Trajectory, "task" | "info" | "toolResults">,
  tools: readonly Tool[],
): { readonly tools: Tool[]; readonly toolNames: CodeToolNames } {
  const calls = toolResults.flatMap((record) => record.calls ?? []);
  const recorded = Array.isArray(info.codeTools) ? info.codeTools.filter(isCodeToolSpec) : undefined;
  const specs: readonly (Tool | CodeToolSpec)[] = recorded ?? tools;
  const start = `Cannot replay the episode of task '${task.id}'`;
  const remedy = "give --tool FILE or --mcp FILE";
  const unknown = calls.find(({ tool }) => !specs.some(({ name }) => name === tool));
  if (unknown !== undefined) {
    throw new UsageError(
      `${start} as its code calls '${unknown.tool}', which the row does not describe: ${remedy}`,
    );
  }
  const cut = calls.find((call) => isCut(call) && !tools.some(({ name }) => name === call.tool));
  if (cut !== undefined) {
    throw new UsageError(`${start} as the row has not all of the result of '${cut.tool}': ${remedy}`);
  }
  const answers = new RecordedAnswers(toolResults, tools);
  const answering = specs.map((spec): Tool => ({
    ...spec,
    checksItself: true,
    checksInSandbox: "isChecked" in spec ? spec.isChecked : undefined,
    timeoutMs: MAX_TIMER_MS, // a call that was interrupted waits for the end of its block
    run: (args, context) => answers.answer({ tool: spec.name, arguments: args }, context),
  }));
  return { tools: answering, toolNames: namesOf(recorded ?? []) };
}

function namesOf(specs: readonly CodeToolSpec[]): CodeToolNames {
  if (specs.some(({ module }) => module !== undefined)) return "modules";
  return specs.some(({ alias }) => alias !== undefined) ? "functions" : "tools";
}

function isCut({ result, truncated, status }: CodeCall): boolean {
  return status !== "interrupted" && (result === undefined || truncated);
}

/** Answers of recorded calls, by block. */
class RecordedAnswers {
  readonly #left: ReadonlyMap<string, CodeCall[]>;
  readonly #tools: ReadonlyMap<string, Tool>;

  constructor(records: readonly ToolRecord[], tools: readonly Tool[]) {
    this.#left = new Map(records.map(({ callId, calls = [] }) => [callId, [...calls]]));
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  async answer(call: NamedCall, context: ToolContext): Promise<unknown> {
    const block = context.callId.replace(/-\d+$/, "");
    const record = takeRecord(this.#left.get(block) ?? [], call);
    if (record === undefined) throw new ToolError(`the record has no such call of '${call.tool}' here`);
    if (record.status === "interrupted") return await untilAborted(context.signal);
    if (isCut(record)) return await this.#tools.get(call.tool)?.run({ ...call.arguments }, context);
    const { status, result = "null", media = [] } = record;
    if (status !== "ok") throw new ToolError(result);
    return withMedia(parseExact(result) ?? JSON.parse(result), media);
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/**
 * Takes the record of a call from the records that are left: the first one, or one that began before those in front of it
 * had ended, as the order of calls at the same time is not fixed.
 */
function takeRecord(left: CodeCall[], call: NamedCall): CodeCall | undefined {
  const wanted = keyOf(call);
  let firstEndMs = Infinity;
  for (const [at, record] of left.entries()) {
    const { startMs, durationMs } = record;
    if ((startMs ?? Infinity) > firstEndMs) return undefined;
    if (record.tool === call.tool && (record.arguments === undefined || keyOf(record) === wanted)) {
      left.splice(at, 1);
      return record;
    }
    firstEndMs = Math.min(firstEndMs, startMs === undefined ? -Infinity : startMs + durationMs);
  }
  return undefined;
}

/** Returns the first call of a turn that differs from the recorded one, in its tool or its arguments. */
export function firstOtherCall(
  recorded: readonly ToolRecord[],
  replayed: readonly ToolRecord[],
): CallDifference | undefined {
  for (const { callId, call: block, calls = [] } of recorded) {
    const found = replayed.find((other) => other.callId === callId)?.calls ?? [];
    const left = [...calls];
    for (const call of found) {
      if (takeRecord(left, call) !== undefined) continue;
      return {
        block,
        call: left[0]?.call ?? calls.length + 1,
        recorded: describeCall(left[0]),
        replayed: describeCall(call),
      };
    }
    const [missing] = left;
    if (missing !== undefined) {
      return {
        block,
        call: missing.call,
        recorded: describeCall(missing),
        replayed: describeCall(undefined),
      };
    }
  }
  return undefined;
}

function describeCall(call: NamedCall | undefined): string {
  if (call === undefined) return "(no call)";
  return `${call.tool}(${call.arguments === undefined ? "…" : jsonOf(call.arguments)})`;
}

/** Returns a text that calls of the same tool with the same arguments have, whatever the order of keys. */
function keyOf({ tool, arguments: args }: NamedCall): string {
  return JSON.stringify([tool, jsonOf(args, true)]);
}

/** Large integers are text, as in a row that was read. */
function jsonOf(value: unknown, isSorted = false): string {
  return JSON.stringify(value, (_key, member) => {
    if (typeof member === "bigint" || isLargeInteger(member)) return String(BigInt(member));
    if (!isSorted || typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => a < b ? -1 : 1));
  });
}
