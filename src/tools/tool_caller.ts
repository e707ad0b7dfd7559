import { requireTimeout } from "../async/abort.ts";
import { errorMessage } from "../errors.ts";
import type { ContentPart, Message, ToolSpec } from "../message.ts";
import { openaiCalls } from "./parsers/openai_calls.ts";
import { pythonStr } from "./python_repr.ts";
import { resultJson } from "./result_text.ts";
import { tagCalls } from "./parsers/tag_calls.ts";
import { requireToolName, type Tool } from "./tool.ts";
import { toolSpec } from "./tool_arguments.ts";
import type { ParsedCall, ResultStyle, ToolCallParser, ToolResponse } from "./parsers/tool_call_parser.ts";
import { statusOfFault, type ToolFault, ToolParts, type ToolResult } from "./tool_result.ts";
import { type ToolOutcome, ToolRunner, type ToolRunnerOptions } from "./tool_runner.ts";

/** Options of a {@linkcode ToolCaller}. */
export interface ToolCallerOptions extends ToolRunnerOptions {
  /**
   * Parser for the calls in a message. Native `tool_calls` are always read, with any parser.
   * @default {@linkcode tagCalls}
   */
  parser?: ToolCallParser | undefined;
  /**
   * Format of a result that is not a string.
   * @default "json"
   */
  resultStyle?: ResultStyle | undefined;
  /**
   * Role of the messages with results.
   * @default "tool"
   */
  toolName?: string | undefined;
  /**
   * Maximum length of a result that the model reads, in characters. Truncation is marked.
   * @default 65_536
   */
  maxResultCharacters?: number | undefined;
}

/** Answers to the calls of a message, and the number of calls that did not run as they are in thoughts. */
export interface CallAnswers {
  /** Absent if no call is to be answered. */
  readonly responses?: CallResponses;
  readonly callsInThoughts: number;
}

/** Answers to the calls of a message. */
export interface CallResponses {
  readonly messages: readonly Message[];
  readonly toolResults: readonly ToolResult[];
  /** True if a tool that ends the episode succeeded. */
  readonly endsEpisode: boolean;
}

/** Context that the calls of a message share. */
export interface CallContext {
  /** Prefix of generated ids. */
  readonly idPrefix: string;
  readonly state: Record<string, unknown>;
  /** Names of tools that another transform offers and answers. */
  readonly foreignTools: ReadonlySet<string>;
  /** Results that earlier transforms gave in this step. */
  readonly earlierResults: readonly ToolResult[];
  readonly signal?: AbortSignal | undefined;
}

/** Names of the options of a {@linkcode ToolCaller}. */
export const TOOL_CALLER_OPTIONS: Readonly<Record<keyof ToolCallerOptions, true>> = {
  parser: true,
  resultStyle: true,
  toolName: true,
  maxResultCharacters: true,
  timeoutMs: true,
  rateLimits: true,
  stopOnError: true,
  passState: true,
  maxCalls: true,
  maxTotalCharacters: true,
};

const MAX_RESULT_CHARACTERS = 65_536;
/** Maximum size of the data of a part, in characters. A larger part is replaced by a description. */
const MAX_PART_CHARACTERS = 32 * 1024 * 1024;
const CUT = "\n... [truncated]";

/** Parses the calls of a message, runs them and renders the answers. */
export class ToolCaller {
  readonly #runner: ToolRunner;
  readonly #options: ToolCallerOptions;

  /**
   * @throws {RangeError} when a limit is out of range.
   */
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

  /** Answers the calls of a message. Rejects only when the signal is aborted. */
  async answer(message: Message, context: CallContext): Promise<CallAnswers> {
    const { parser = TAG_CALLS, toolName = "tool" } = this.#options;
    const activeParser = (message.tool_calls?.length ?? 0) > 0 ? NATIVE_CALLS : parser;
    const parsed = activeParser.parse(message);
    const { callsInThoughts = 0 } = parsed;
    const calls = parsed.calls
      .map((call, at) => ({ call, number: at + 1 }))
      .filter(({ call, number }) =>
        !context.foreignTools.has(call.name) && !isAnswered(call, number, context)
      );
    if (calls.length === 0) return { callsInThoughts };
    const { errorKeyFails } = activeParser;
    const outcomes = await this.#runner.run(calls, { ...context, errorKeyFails });
    const rendered = outcomes.map((outcome) => this.#render(outcome, activeParser));
    const responses = {
      messages: activeParser.render(rendered.map(({ answer }) => answer), toolName),
      toolResults: rendered.map(({ result }) => result),
      endsEpisode: outcomes.some(({ tool, fault }) => tool?.endsEpisode === true && fault === undefined),
    };
    return { responses, callsInThoughts };
  }

  #render(outcome: ToolOutcome, parser: ToolCallParser): RenderedOutcome {
    const { call, number, callId, attempted, durationMs, arguments: args } = outcome;
    const { maxResultCharacters = MAX_RESULT_CHARACTERS } = this.#options;
    const name = outcome.tool?.name ?? call.name;
    const { text, fault, value } = this.#outcomeText(outcome, name, parser);
    const truncated = text.length > maxResultCharacters;
    const parts = value instanceof ToolParts && value.hasMedia && !truncated ? shownParts(value) : undefined;
    const shown = truncated ? cutText(text, maxResultCharacters) : text;
    const answer: ToolResponse = {
      name,
      number,
      callId,
      attempted,
      text: shown,
      ok: fault === undefined,
      ...(call.callId !== undefined && { tag: call.callId }),
      ...(parts && { parts }),
    };
    const status = fault === undefined ? "ok" : statusOfFault(fault);
    const result: ToolResult = {
      tool: name,
      call: number,
      callId,
      status,
      text,
      durationMs,
      truncated,
      ...(args && { arguments: args }),
      ...(fault === undefined && { value: value instanceof ToolParts ? value.parts : value }),
    };
    return { answer, result };
  }

  #outcomeText(outcome: ToolOutcome, name: string, parser: ToolCallParser): OutcomeText {
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
    const json = resultJson(value); // throws for values that are not JSON, in every style
    if (parser.resultText) return parser.resultText(value);
    if (typeof value === "string") return value;
    return this.#options.resultStyle === "python-repr" ? pythonStr(value) : json;
  }
}

/**
 * Returns the tools by name, and the descriptions that a model reads.
 *
 * @throws {TypeError} when two tools have the same name, a name is invalid, or a schema cannot be described.
 * @throws {RangeError} when the time limit of a tool is out of range.
 */
export function indexTools(tools: Iterable<Tool>): { byName: ReadonlyMap<string, Tool>; specs: ToolSpec[] } {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    requireToolName(tool.name);
    if (tool.timeoutMs !== undefined) requireTimeout(tool.timeoutMs, `offer tool '${tool.name}'`);
    if (byName.has(tool.name)) {
      throw new TypeError(`Cannot offer tools as each name must be unique: '${tool.name}' occurs twice`);
    }
    byName.set(tool.name, tool);
  }
  return { byName, specs: [...byName.values()].map(toolSpec) };
}

/** Returns true if an earlier transform answered the call, under the call's name or with a server prefix. */
function isAnswered(
  { name }: ParsedCall,
  number: number,
  { earlierResults: answered }: CallContext,
): boolean {
  return answered.some(({ call, tool, code }) =>
    code === undefined && call === number && (tool === name || tool.endsWith(`.${name}`))
  );
}

interface RenderedOutcome {
  readonly answer: ToolResponse;
  readonly result: ToolResult;
}

interface OutcomeText {
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

/** Returns the first `length` characters and a mark. Never splits a character. */
function cutText(text: string, length: number): string {
  const prefix = text.slice(0, length);
  return (prefix.isWellFormed() ? prefix : prefix.replace(/[\ud800-\udbff]$/, "")) + CUT;
}
