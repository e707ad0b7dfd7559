import * as z from "zod";
import type { ExecOptions } from "../contract/exec.ts";
import type { HostTool } from "../host_tool.ts";
import type { EncodedInput } from "./exec_inputs.ts";
import type { GuestLink } from "../guest_link.ts";
import type { Limits } from "../profile/schema.ts";
import { encodeExec, encodeText, FrameKind } from "../protocol.ts";

const MIN_MEMORY_BYTES = 64 * 1024 * 1024;

/** Limits the memory of the next exec or command line, if `bytes` is below the limit of the profile. */
export function limitMemory(link: GuestLink, bytes: number | undefined, limits: Limits): void {
  if (bytes === undefined || bytes >= limits.memoryBytes) return;
  const payload = new Uint8Array(4);
  new DataView(payload.buffer).setUint32(0, Math.max(MIN_MEMORY_BYTES, Math.floor(bytes)), true);
  link.send(FrameKind.limit, payload);
}

/** True if the guest rewinds after an exec. Files that are to be read must be read before. */
export function rewindsWithExec(
  { then, fetchFiles = [] }: Pick<ExecOptions, "then" | "fetchFiles">,
): boolean {
  return then === "rewind" && fetchFiles.length === 0;
}

/** Options of an exec, whose inputs are encoded for the guest. */
export type EncodedOptions = Omit<ExecOptions, "inputs"> & { readonly inputs: readonly EncodedInput[] };

/** Returns the contents of the frames that follow an `exec` frame: its stdin, and its inputs. */
export function inputContents({ stdin, inputs }: EncodedOptions): Uint8Array[] {
  return [...(stdin ? [encodeText(stdin)] : []), ...inputs.map(({ contents }) => contents)];
}

/** Returns the payload of an `exec` frame. */
export function execRequest(
  code: string,
  options: EncodedOptions,
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

/** Schemas of tools as JSON Schema, which takes zod 25 µs each. A zod schema never changes. */
const jsonSchemas = new WeakMap<HostTool["parameters"], object>();

/** Returns the description of a tool that is sent to the guest. */
function toolSpec({ name, description, parameters, python = {} }: HostTool): object {
  const { checksArguments: checked, alias, module } = python;
  return {
    name,
    description,
    parameters: jsonSchemas.getOrInsertComputed(
      parameters,
      () => z.toJSONSchema(parameters, { io: "input" }),
    ),
    checked,
    alias,
    module,
  };
}
