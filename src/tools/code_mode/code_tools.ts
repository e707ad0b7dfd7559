import * as z from "zod";
import { jsonLength } from "../../json.ts";
import type { HostTool, HostToolContext } from "../../sandbox/host_tool.ts";
import type { Tool } from "../tool.ts";
import { indexTools } from "../tool_caller.ts";
import { type CodeCall, statusOfFault, type ToolFault, ToolParts, type ToolStatus } from "../tool_result.ts";
import { type ToolOutcome, ToolRunner, type ToolRunnerOptions } from "../tool_runner.ts";
import { type CodeToolSpec, pythonStubs, withPythonNames } from "./python_stubs.ts";

/** Limits of the tools that code calls. */
export type CodeToolLimits = Pick<ToolRunnerOptions, "timeoutMs" | "rateLimits">;

/** The tools of one block, and the records of their calls. */
export interface BlockTools {
  readonly tools: readonly HostTool[];
  /** Calls so far that have ended, in the order of their starts. */
  calls(): CodeCall[];
}

/** Context of the calls of one block. */
export interface BlockContext {
  /** Prefix of the ids of calls. */
  readonly idPrefix: string;
  /** State of the episode that all tools share. */
  readonly state: Record<string, unknown>;
}

/** Maximum length of a recorded result, in characters. */
const MAX_RESULT_CHARACTERS = 4_096;
/** Maximum size of the recorded arguments and results of a block, in characters. */
const MAX_RECORD_CHARACTERS = 1024 * 1024;
/** Number of calls of a block of which each is recorded. */
const MAX_RECORDS = 10_000;

/** Tools that a model calls from inside its Python code. */
export class CodeTools {
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #runner: ToolRunner;
  /** The tools, as a model may be told of them. */
  readonly specs: readonly CodeToolSpec[];

  /**
   * @throws {TypeError} when two tools have the same name, or a tool cannot be described.
   * @throws {RangeError} when a limit is out of range.
   */
  constructor(tools: Iterable<Tool>, limits: CodeToolLimits = {}) {
    const { byName, specs } = indexTools(tools);
    this.#byName = byName;
    this.specs = withPythonNames(specs);
    this.#runner = new ToolRunner((name) => byName.get(name), { ...limits, maxTotalCharacters: Infinity });
  }

  /** True if there is no tool. */
  get isEmpty(): boolean {
    return this.#byName.size === 0;
  }

  /** Returns the tools of a block. */
  forBlock(context: BlockContext): BlockTools {
    const records = new CallRecords(context.idPrefix);
    const tools = this.specs.map(({ name, pythonName, description, parameters }): HostTool => ({
      name: pythonName,
      description,
      // The schema is only shown to the program: the runner checks arguments.
      parameters: z.looseObject({}).meta(parameters),
      run: (args, { signal }) => this.#run(name, args, { ...context, signal, records }),
    }));
    return { tools, calls: () => records.all() };
  }

  async #run(
    name: string,
    args: Record<string, unknown>,
    { records, state, signal }: BlockContext & Pick<HostToolContext, "signal"> & { records: CallRecords },
  ): Promise<unknown> {
    const record = records.begin(name);
    try {
      const call = { name, arguments: args, callId: record.callId };
      const context = { state, idPrefix: record.callId, signal };
      const [outcome] = await this.#runner.run([{ call, number: 1 }], context);
      const value = valueOf(name, outcome);
      record.end(args, { status: "ok", result: JSON.stringify(value) ?? "null" });
      return value;
    } catch (error) {
      const { status, message } = error instanceof CallFault
        ? error
        : { status: "error", message: String(error) } as const;
      record.end(args, { status: signal.aborted ? "timeout" : status, result: message });
      throw error;
    }
  }
}

/** Returns what the program gets of a call. */
function valueOf(name: string, outcome: ToolOutcome | undefined): unknown {
  const fault = outcome?.fault;
  if (fault !== undefined) throw new CallFault(name, fault);
  const value = outcome?.value;
  if (!(value instanceof ToolParts)) return value ?? null;
  return value.hasMedia ? value.parts : value.text;
}

/** Failure of a call. Python raises its message as a `ToolError`. */
class CallFault extends Error {
  readonly status: ToolStatus;

  constructor(name: string, fault: ToolFault) {
    super(faultText(name, fault));
    this.status = statusOfFault(fault);
  }
}

function faultText(name: string, fault: ToolFault): string {
  switch (fault.kind) {
    case "unknown_tool":
      return `no tool '${name}' is granted to this block`;
    case "unreadable":
    case "bad_arguments":
      return `wrong arguments for '${name}': ${fault.reason}`;
    case "timeout":
      return `'${name}' gave no result within ${fault.timeoutMs} ms`;
    case "error":
      return fault.reason;
    case "refused":
      return `'${name}' was not run: ${fault.reason}`;
  }
}

/** The calls of a block. */
class CallRecords {
  readonly #idPrefix: string;
  readonly #records: (CodeCall | undefined)[] = [];
  #count = 0;
  #characters = 0;

  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix;
  }

  /** Returns the calls that have ended. */
  all(): CodeCall[] {
    return this.#records.filter((record) => record !== undefined);
  }

  /** Begins the record of a call. */
  begin(tool: string) {
    const call = ++this.#count;
    const callId = `${this.#idPrefix}-${call}`;
    const startedAt = performance.now();
    const isRecorded = call <= MAX_RECORDS;
    if (isRecorded) this.#records[call - 1] = undefined;
    return {
      callId,
      end: (args: Record<string, unknown>, { status, result }: { status: ToolStatus; result: string }) => {
        if (!isRecorded) return;
        const cut = result.slice(0, MAX_RESULT_CHARACTERS).toWellFormed();
        const room = MAX_RECORD_CHARACTERS - this.#characters - cut.length;
        const size = jsonLength(args, { most: room });
        const fits = size <= room;
        if (fits) this.#characters += size + cut.length;
        this.#records[call - 1] = {
          caller: "code",
          call,
          callId,
          tool,
          status,
          durationMs: performance.now() - startedAt,
          ...(fits && { arguments: args, result: cut }),
          truncated: !fits || cut.length < result.length,
        };
      },
    };
  }
}

/** Returns the text that tells a model of its tools: how it calls them, and their stubs. */
export function describeCodeTools(specs: readonly CodeToolSpec[]): string {
  const [first] = specs;
  return [
    `Your Python code can call these functions after \`from paddock import tools\`, as in \`tools.${first?.pythonName}(...)\`. ` +
    "They are called by position or by name, return Python values, and raise `paddock.ToolError` when they fail. " +
    "Inside `async` code, `await tools.NAME.call_async(...)` lets calls run at the same time.",
    `~~~python\n${pythonStubs(specs)}\n~~~`,
  ].join("\n\n");
}
