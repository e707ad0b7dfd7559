import { errorMessage } from "../errors.ts";
import type { ContentPart, Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import { openaiCalls } from "./openai_calls.ts";
import { pythonStr } from "./python_repr.ts";
import { resultJson } from "./result_json.ts";
import { tagCalls } from "./tag_calls.ts";
import { requireToolName, type Tool } from "./tool.ts";
import { toolSpec } from "./tool_arguments.ts";
import type { ParsedCall, ResultStyle, ToolAnswer, ToolCallParser } from "./tool_call_parser.ts";
import { faultStatus, type ToolFault } from "./tool_fault.ts";
import { ToolParts } from "./tool_parts.ts";
import type { ToolResult } from "./tool_result.ts";
import { type ToolOutcome, ToolRunner, type ToolRunnerOptions } from "./tool_runner.ts";
import { requireTimeout } from "./within_time.ts";

/** How the calls of a message are read, run and answered. */
export interface ToolCallerOptions extends ToolRunnerOptions {
  /**
   * How the model writes calls; {@linkcode tagCalls} unless given. A message that has `tool_calls` is read by
   * these, whatever the parser.
   */
  parser?: ToolCallParser | undefined;
  /** How a result that is no text is written; `json` unless given. */
  resultStyle?: ResultStyle | undefined;
  /** The role of the messages that carry results; `tool` unless given. */
  toolName?: string | undefined;
  /** Characters of a result that the model is shown; 65,536 unless given. What is cut off is marked. */
  maxResultCharacters?: number | undefined;
}

/** The answers to one message. */
export interface AnsweredCalls {
  readonly messages: readonly Message[];
  readonly toolResults: readonly ToolResult[];
  /** True when a tool that ends the episode went well. */
  readonly ended: boolean;
}

/** What the calls of one message have in common. */
export interface AnswerContext {
  /** How ids that have to be made begin. */
  readonly idPrefix: string;
  readonly state: Record<string, unknown>;
  /** Names of tools that somebody else offers and answers for. */
  readonly others: ReadonlySet<string>;
  /** What has been answered in this step already. */
  readonly answered: readonly ToolResult[];
  readonly signal?: AbortSignal | undefined;
}

const MAX_RESULT_CHARACTERS = 65_536;
/** A part with more data is described in place of being shown. */
const MAX_PART_CHARACTERS = 32 * 1024 * 1024;
const CUT = "\n... [truncated]";

/** Reads the calls of a message, has them run, and words the answers. */
export class ToolCaller {
  readonly #runner: ToolRunner;
  readonly #options: ToolCallerOptions;

  /** @throws {RangeError} when a limit is none. */
  constructor(find: (name: string) => Tool | undefined, options: ToolCallerOptions = {}) {
    const { maxResultCharacters = 1 } = options;
    if (!(maxResultCharacters >= 1)) {
      throw new RangeError(
        `Cannot call tools as 'maxResultCharacters' must be >= 1: current value is ${maxResultCharacters}`,
      );
    }
    this.#runner = new ToolRunner(find, options);
    this.#options = options;
  }

  /** Answers the calls of a message; `null` when there are none. Rejects only when the signal is aborted. */
  async answer(message: Message, context: AnswerContext): Promise<AnsweredCalls | null> {
    const { parser = TAG_CALLS, toolName = "tool" } = this.#options;
    const reader = (message.tool_calls?.length ?? 0) > 0 ? NATIVE_CALLS : parser;
    const calls = reader.parse(message).calls
      .map((call, at) => ({ call, number: at + 1 }))
      .filter(({ call, number }) => !context.others.has(call.name) && !isAnswered(call, number, context));
    if (calls.length === 0) return null;
    const { errorKeyFails } = reader;
    const outcomes = await this.#runner.run(calls, { ...context, errorKeyFails });
    const told = outcomes.map((outcome) => this.#tell(outcome, reader));
    return {
      messages: reader.render(told.map(({ answer }) => answer), toolName),
      toolResults: told.map(({ result }) => result),
      ended: outcomes.some(({ tool, fault }) => tool?.endsEpisode === true && fault === undefined),
    };
  }

  #tell(outcome: ToolOutcome, parser: ToolCallParser): Told {
    const { call, number, callId, tried, durationMs, arguments: args } = outcome;
    const { maxResultCharacters = MAX_RESULT_CHARACTERS } = this.#options;
    const name = outcome.tool?.name ?? call.name;
    const { text, fault, value } = this.#worded(outcome, name, parser);
    const cut = text.length > maxResultCharacters;
    const parts = value instanceof ToolParts && value.mixed && !cut ? shownParts(value) : undefined;
    const shown = cut ? cutText(text, maxResultCharacters) : text;
    const answer: ToolAnswer = {
      name,
      number,
      callId,
      tried,
      text: shown,
      ok: fault === undefined,
      ...(call.callId !== undefined && { tag: call.callId }),
      ...(parts && { parts }),
    };
    const status = fault === undefined ? "ok" : faultStatus(fault);
    const result: ToolResult = {
      tool: name,
      call: number,
      callId,
      status,
      text,
      durationMs,
      truncated: cut,
      ...(args && { arguments: args }),
      ...(fault === undefined && { value: value instanceof ToolParts ? value.parts : value }),
    };
    return { answer, result };
  }

  #worded(outcome: ToolOutcome, name: string, parser: ToolCallParser): Worded {
    const { fault, value } = outcome;
    if (fault !== undefined) return { text: parser.faultText(fault, name), fault };
    try {
      return { text: this.#resultText(value, parser), value };
    } catch (error) {
      const reason = `its result must be JSON: ${errorMessage(error)}`;
      const broken: ToolFault = { kind: "error", reason, expected: false };
      return { text: parser.faultText(broken, name), fault: broken };
    }
  }

  #resultText(value: unknown, parser: ToolCallParser): string {
    if (value instanceof ToolParts) return value.text;
    const json = resultJson(value); // throws at what is no JSON, in every style
    if (parser.resultText) return parser.resultText(value);
    if (typeof value === "string") return value;
    return this.#options.resultStyle === "python-repr" ? pythonStr(value) : json;
  }
}

/**
 * The tools by name, and what a model is told of them.
 *
 * @throws {TypeError} when two have one name, when a name cannot be called, or a schema cannot be told.
 * @throws {RangeError} when a tool's time limit is none.
 */
export function toolIndex(tools: Iterable<Tool>): { byName: ReadonlyMap<string, Tool>; specs: ToolSpec[] } {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    requireToolName(tool.name);
    if (tool.timeoutMs !== undefined) requireTimeout(tool.timeoutMs, `offer tool '${tool.name}'`);
    if (byName.has(tool.name)) {
      throw new TypeError(`Cannot offer tools as each name must be there once: '${tool.name}' is twice`);
    }
    byName.set(tool.name, tool);
  }
  return { byName, specs: [...byName.values()].map(toolSpec) };
}

/** Whether an earlier transform took the call for its own, under its name or with a server's before it. */
function isAnswered({ name }: ParsedCall, number: number, { answered }: AnswerContext): boolean {
  return answered.some(({ call, tool, code }) =>
    code === undefined && call === number && (tool === name || tool.endsWith(`.${name}`))
  );
}

interface Told {
  readonly answer: ToolAnswer;
  readonly result: ToolResult;
}

interface Worded {
  readonly text: string;
  readonly fault?: ToolFault;
  readonly value?: unknown;
}

const TAG_CALLS = tagCalls();
const NATIVE_CALLS = openaiCalls();

function shownParts({ parts }: ToolParts): readonly ContentPart[] {
  return parts.map((part) =>
    (part.data?.length ?? 0) <= MAX_PART_CHARACTERS
      ? part
      : { type: "text", text: new ToolParts([part]).text }
  );
}

/** The first `length` characters, no character cut in two, and a mark. */
function cutText(text: string, length: number): string {
  const kept = text.slice(0, length);
  return (kept.isWellFormed() ? kept : kept.replace(/[\ud800-\udbff]$/, "")) + CUT;
}
