import * as z from "zod";
import { errorMessage } from "../../errors.ts";
import type { HostTool, HostToolContext } from "../../sandbox/host_tool.ts";
import type { Tool } from "../tool.ts";
import { indexTools } from "../tool_caller.ts";
import { type CodeCall, statusOfFault, type ToolFault, ToolParts, type ToolStatus } from "../tool_result.ts";
import { type ToolOutcome, ToolRunner, type ToolRunnerOptions } from "../tool_runner.ts";
import { CallRecords } from "./call_records.ts";
import { type CodeToolSpec, pythonStubs, withPythonNames } from "./python_stubs.ts";

/** Limits of the tools that code calls. */
export type CodeToolLimits = Pick<ToolRunnerOptions, "timeoutMs" | "rateLimits">;

/** The tools of one block, and the records of their calls. */
export interface BlockTools {
  readonly tools: readonly HostTool[];
  /** Ends the recording of calls, and returns the records in the order of their starts. */
  endCalls(): CodeCall[];
}

/** Context of the calls of one block. */
export interface BlockContext {
  /** Prefix of the ids of calls. */
  readonly idPrefix: string;
  /** State of the episode that all tools share. */
  readonly state: Record<string, unknown>;
}

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
    return { tools, endCalls: () => records.end() };
  }

  async #run(
    name: string,
    args: Record<string, unknown>,
    { records, state, signal }: BlockContext & Pick<HostToolContext, "signal"> & { records: CallRecords },
  ): Promise<unknown> {
    const open = records.open(name, args);
    try {
      const call = { name, arguments: args, callId: open.callId };
      const context = { state, idPrefix: open.callId, signal };
      const [outcome] = await this.#runner.run([{ call, number: 1 }], context);
      const value = valueOf(name, outcome);
      records.close(open, { status: "ok", result: JSON.stringify(value) ?? "null" });
      return value;
    } catch (error) {
      const status = signal.aborted ? "interrupted" : error instanceof CallFault ? error.status : "error";
      records.close(open, { status, result: errorMessage(error) });
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
