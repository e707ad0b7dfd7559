import { z } from "zod";
import { closedObject, integer } from "./checks.ts";

const MIB = 1024 * 1024;

/** Bytes in a page of Wasm memory. */
export const WASM_PAGE_BYTES = 65_536;

/** What a sandbox may use up before it is stopped. */
export interface Limits {
  /** Wall time of an exec until it is interrupted, unless the exec names its own. */
  readonly timeoutMs: number;
  /** Time an interrupted program has to end before its process is killed. */
  readonly graceMs: number;
  /** The Wasm heap: all Python objects, the interpreter (30 MiB) included. */
  readonly memoryBytes: number;
  /** Output kept of an exec, stdout and stderr together; the rest is dropped. */
  readonly outputBytes: number;
  /** Contents of all files of a session. */
  readonly fileBytes: number;
  /** CPU time of an exec. */
  readonly cpuSeconds: number;
  /** Calls of host tools in an exec. */
  readonly hostToolCalls: number;
}

/** Checks the limits of a profile and fills in those it does not name. */
export const limitsSchema: z.ZodType<Limits> = closedObject({
  timeoutMs: integer(1, 24 * 3_600_000).default(10_000),
  graceMs: integer(1, 60_000).default(1_000),
  memoryBytes: wasmBytes(64 * MIB, 2048 * MIB).default(256 * MIB),
  outputBytes: integer(1, 1024 * MIB).default(MIB),
  fileBytes: integer(1, 1024 * MIB).default(64 * MIB),
  cpuSeconds: integer(1, 24 * 3_600).default(30),
  hostToolCalls: integer(1, 1_000_000).default(1_000),
});

function wasmBytes(min: number, max: number): z.ZodType<number> {
  const needs = `must be a multiple of ${WASM_PAGE_BYTES} from ${min} to ${max}`;
  return z.custom<number>((value) => {
    const bytes = Number(value);
    return typeof value === "number" && bytes % WASM_PAGE_BYTES === 0 && bytes >= min && bytes <= max;
  }, { error: needs });
}
