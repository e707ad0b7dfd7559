import * as z from "zod";
import type { ExecOptions } from "./contract/exec.ts";
import type { HostTool } from "./host_tool.ts";
import { type BinaryType, inputsTooLarge, MAX_INPUT_BYTES, toBinaryInput } from "./exec_inputs.ts";
import type { GuestLink } from "./guest_link.ts";
import type { Limits } from "./profile/schema.ts";
import { encodeExec, FrameKind } from "./protocol.ts";

const MIN_MEMORY_BYTES = 64 * 1024 * 1024;

/** Limits the memory of the next exec or command line, if `bytes` is below the limit of the profile. */
export function limitMemory(link: GuestLink, bytes: number | undefined, limits: Limits): void {
  if (bytes === undefined || bytes >= limits.memoryBytes) return;
  const payload = new Uint8Array(4);
  new DataView(payload.buffer).setUint32(0, Math.max(MIN_MEMORY_BYTES, Math.floor(bytes)), true);
  link.send(FrameKind.limit, payload);
}

/** An input as it is sent to the guest. */
export interface EncodedInput {
  readonly name: string;
  readonly type: BinaryType | "json";
  readonly contents: Uint8Array;
}

/**
 * Returns copies of inputs that {@linkcode checkInputs} accepts, as they are sent to the guest.
 *
 * @throws {ArgumentRangeError} if their JSON is too large.
 */
export function encodeInputs(inputs: Readonly<Record<string, unknown>> = {}): EncodedInput[] {
  let bytes = 0;
  return Object.entries(inputs).map(([name, value]) => {
    const { type, contents } = toBinaryInput(value) ?? {
      type: "json" as const,
      contents: new TextEncoder().encode(JSON.stringify(value)),
    };
    bytes += contents.length;
    if (bytes > MAX_INPUT_BYTES) throw inputsTooLarge();
    return { name, type, contents };
  });
}

/** True if the guest rewinds after an exec. Files that are to be read must be read before. */
export function rewindsWithExec(
  { then, fetchFiles = [] }: Pick<ExecOptions, "then" | "fetchFiles">,
): boolean {
  return then === "rewind" && fetchFiles.length === 0;
}

/** Returns the payload of an `exec` frame. */
export function execRequest(
  code: string,
  options: Omit<ExecOptions, "inputs"> & { inputs: readonly EncodedInput[] },
  limits: Limits,
): Uint8Array<ArrayBuffer> {
  const { stdin, argv, cell, inputs, tools = [] } = options;
  const { hostToolCalls: calls, outputBytes: valueCap } = limits;
  const head = { calls, valueCap, rewinds: rewindsWithExec(options), hasStdin: !!stdin };
  if (!argv && !cell && inputs.length === 0 && tools.length === 0) return encodeExec(code, head);
  const extras = {
    script: argv,
    ...(cell && { cell }),
    inputs: inputs.map(({ name, type }) => [name, type]),
    tools: tools.map(toolSpec),
  };
  return encodeExec(code, { ...head, extras });
}

/** Returns the description of a tool that is sent to the guest. */
function toolSpec({ name, description, parameters, python = {} }: HostTool): object {
  const { checksArguments: checked, alias, module } = python;
  return {
    name,
    description,
    parameters: z.toJSONSchema(parameters, { io: "input" }),
    checked,
    alias,
    module,
  };
}
