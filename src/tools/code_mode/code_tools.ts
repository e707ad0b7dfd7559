import * as z from "zod";
import { errorMessage } from "../../errors.ts";
import type { HostTool, HostToolContext } from "../../sandbox/host_tool.ts";
import { type EncodedToolValue, encodeToolValue, ToolMedia } from "../../sandbox/tool_value.ts";
import type { ContentPart } from "../../message.ts";
import type { Tool } from "../tool.ts";
import { indexTools } from "../tool_caller.ts";
import { type CodeCall, statusOfFault, type ToolFault, ToolParts, type ToolStatus } from "../tool_result.ts";
import { type ToolOutcome, ToolRunner } from "../tool_runner.ts";
import {
  CallGate,
  type CheckedLimits,
  checkLimits,
  type CodeToolLimits,
  TotalTimeError,
} from "./call_limits.ts";
import { CallRecords } from "./call_records.ts";
import { type CodeToolNames, type CodeToolSpec, withPythonNames } from "./python_names.ts";

/** The tools of a block, and the records of their calls. */
export interface BlockTools {
  readonly tools: readonly HostTool[];
  /** Ends the recording of calls, and returns the records in the order of their starts. */
  endCalls(): CodeCall[];
}

/** Context of the calls of a block. */
export interface BlockContext {
  /** Prefix of the ids of calls. */
  readonly idPrefix: string;
  /** Returns the state of the episode that a tool shares with others. */
  readonly stateOf: (tool: string) => Record<string, unknown>;
}

/** Options of {@linkcode CodeTools}. */
export interface CodeToolsOptions {
  readonly limits?: CodeToolLimits | undefined;
  /** @default "tools" */
  readonly names?: CodeToolNames | undefined;
}

/** Tools that a model calls from inside Python code. */
export class CodeTools {
  readonly #runner: ToolRunner;
  readonly #limits: CheckedLimits;
  /** What a program is told of the tools; the runner checks arguments. */
  readonly #schemas: readonly z.ZodObject[];
  /** The tools, as a model may be told of them. */
  readonly specs: readonly CodeToolSpec[];

  /**
   * @throws {TypeError} when two tools have the same name, or a tool cannot be described.
   * @throws {RangeError} when a limit is out of range.
   */
  constructor(tools: Iterable<Tool>, { limits = {}, names }: CodeToolsOptions = {}) {
    const { byName, specs } = indexTools(tools);
    const { timeoutMs, rateLimits } = limits;
    this.specs = withPythonNames(specs, names).map((spec) => {
      const { checksItself = false, checksInSandbox = !checksItself } = byName.get(spec.name) ?? {};
      return { ...spec, isChecked: checksInSandbox };
    });
    this.#schemas = this.specs.map(({ parameters }) => z.looseObject({}).meta(parameters));
    this.#limits = checkLimits(limits);
    this.#runner = new ToolRunner((name) => byName.get(name), {
      timeoutMs,
      rateLimits,
      maxTotalCharacters: Infinity,
    });
  }

  /** Returns the tools of a block. */
  forBlock({ idPrefix, stateOf }: BlockContext): BlockTools {
    const records = new CallRecords(idPrefix);
    const gate = new CallGate(this.#limits);
    const block = { records, gate, stateOf };
    const tools = this.specs.map((spec, at): HostTool => ({
      name: spec.pythonName,
      description: spec.description,
      parameters: this.#schemas[at] ?? z.looseObject({}),
      exactIntegers: true,
      python: { checksArguments: spec.isChecked, alias: spec.alias, module: spec.module },
      run: (args, { signal, argumentsText }) =>
        this.#run(spec.name, args, { ...block, signal, argumentsText }),
    }));
    const endCalls = () => {
      gate[Symbol.dispose]();
      return records.end();
    };
    return { tools, endCalls };
  }

  async #run(name: string, args: Record<string, unknown>, block: RunningBlock): Promise<EncodedToolValue> {
    const { records, signal } = block;
    const open = records.open(name, args);
    try {
      const outcome = await this.#call(name, args, { ...block, callId: open.callId });
      const value = this.#encode(name, outcome);
      records.close(open, { status: "ok", result: value.json, media: value.media });
      return value;
    } catch (error) {
      const status = signal.aborted ? "interrupted" : error instanceof CallFault ? error.status : "error";
      records.close(open, { status, result: errorMessage(error) });
      throw error;
    }
  }

  async #call(
    name: string,
    args: Record<string, unknown>,
    { gate, stateOf, signal, argumentsText, callId }: RunningBlock & { callId: string },
  ): Promise<ToolOutcome | undefined> {
    const refusal = gate.count();
    if (refusal !== undefined) throw new CallFault(name, { kind: "refused", reason: refusal });
    const either = gate.signalWith(signal);
    try {
      using _turn = await gate.enter(either);
      const call = { name, arguments: args, callId };
      const [outcome] = await this.#runner.run([{ call, number: 1 }], {
        state: stateOf(name),
        idPrefix: callId,
        argumentsText,
        signal: either,
      });
      return outcome;
    } catch (error) {
      if (!(error instanceof TotalTimeError)) throw error;
      throw new CallFault(name, { kind: "timeout", timeoutMs: this.#limits.maxTotalMs }, error.message);
    }
  }

  /** Returns what the program gets of a call. */
  #encode(name: string, outcome: ToolOutcome | undefined): EncodedToolValue {
    const fault = outcome?.fault;
    if (fault !== undefined) throw new CallFault(name, fault);
    const { maxResultBytes } = this.#limits;
    const encoded = encodeToolValue(toValue(outcome?.value));
    const bytes = encoded.json.length > maxResultBytes || 3 * encoded.json.length <= maxResultBytes
      ? encoded.json.length
      : new TextEncoder().encode(encoded.json).length;
    if (bytes <= maxResultBytes) return encoded;
    const reason =
      `the result of '${name}' must have at most ${maxResultBytes} bytes as JSON: it has ${bytes} or more`;
    throw new CallFault(name, { kind: "error", reason, expected: true });
  }
}

/** What the calls of a block share. */
interface RunningBlock
  extends Pick<BlockContext, "stateOf">, Pick<HostToolContext, "signal" | "argumentsText"> {
  readonly records: CallRecords;
  readonly gate: CallGate;
}

/** Returns the value of a result for Python: media as data, where present, and else a description. */
function toValue(value: unknown): unknown {
  if (!(value instanceof ToolParts)) return value ?? null;
  if (!value.hasMedia) return value.text;
  const parts = value.parts.map(toPart);
  return parts.length === 1 ? parts[0] : parts;
}

function toPart(part: ContentPart): unknown {
  const { data, mime_type: mimeType } = part;
  return part.type === "text" || data === undefined || mimeType === undefined
    ? new ToolParts([part]).text
    : new ToolMedia(data, mimeType);
}

/** Failure of a call. Python raises the message as a `ToolError`. */
class CallFault extends Error {
  readonly status: ToolStatus;

  constructor(name: string, fault: ToolFault, message: string = faultText(name, fault)) {
    super(message);
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
