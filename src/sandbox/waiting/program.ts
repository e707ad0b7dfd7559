import * as z from "zod";
import { fromBase64, toBase64 } from "../../base64.ts";
import { ArgumentRangeError } from "../../errors.ts";
import { type EncodedOptions, execRequest, inputContents } from "../exec/exec_request.ts";
import type { Limits } from "../profile/schema.ts";
import { CallJournal, journalSchema, parseRecord } from "./journal.ts";

/** Maximum size of the code, the stdin and the inputs of a program that can wait, in bytes. */
const MAX_PROGRAM_BYTES: number = 4 * 1024 * 1024;

/** A program that can run again from its start. */
export interface WaitingProgram {
  /** Payload of its `exec` frame. */
  readonly request: Uint8Array;
  /** Contents of its stdin and its inputs. */
  readonly inputs: readonly Uint8Array[];
  /** Seed of its `os.urandom`. */
  readonly entropySeed: number;
  /** Names of its tools. */
  readonly tools: readonly string[];
  readonly timeoutMs?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly fetchFiles?: readonly string[] | undefined;
}

/** A program, and what it has done until it waited. */
export interface WaitingState {
  readonly program: WaitingProgram;
  readonly journal: CallJournal;
  /** Milliseconds that it has run. */
  readonly ranMs: number;
}

/**
 * Returns the program of an exec.
 *
 * @throws {ArgumentRangeError} if it is too large.
 */
export function toProgram(
  code: string,
  options: EncodedOptions,
  { entropySeed, limits }: { entropySeed: number; limits: Limits },
): WaitingProgram {
  const { tools = [], timeoutMs, memoryBytes, fetchFiles } = options;
  const request = execRequest(code, options, limits);
  const inputs = inputContents(options);
  const bytes = inputs.reduce((sum, { length }) => sum + length, request.length);
  if (bytes > MAX_PROGRAM_BYTES) {
    throw new ArgumentRangeError(
      `Cannot exec with 'suspendAt' as code, stdin and inputs must have at most ${MAX_PROGRAM_BYTES} bytes ` +
        `together: current value has ${bytes}`,
    );
  }
  const names = tools.map(({ name }) => name);
  return { request, inputs, entropySeed, tools: names, timeoutMs, memoryBytes, fetchFiles };
}

const recordSchema = z.strictObject({
  request: z.base64(),
  inputs: z.array(z.base64()),
  entropySeed: z.int(),
  tools: z.array(z.string()),
  timeoutMs: z.number().optional(),
  memoryBytes: z.number().optional(),
  fetchFiles: z.array(z.string()).optional(),
  journal: journalSchema,
  ranMs: z.number().nonnegative(),
});

/** Returns a program and its journal as bytes, for a checkpoint. */
export function toRecord({ program, journal, ranMs }: WaitingState): Uint8Array<ArrayBuffer> {
  const record = {
    ...program,
    ranMs,
    request: toBase64(program.request),
    inputs: program.inputs.map(toBase64),
    journal,
  };
  return new TextEncoder().encode(JSON.stringify(record));
}

/**
 * Reads a program and its journal from the bytes of a checkpoint, which was authenticated.
 *
 * @throws {CheckpointError} if they are damaged.
 */
export function fromRecord(bytes: Uint8Array): WaitingState {
  const { journal, ranMs, request, inputs, ...rest } = parseRecord(recordSchema, bytes);
  const program = { ...rest, request: fromBase64(request), inputs: inputs.map(fromBase64) };
  return { program, ranMs, journal: new CallJournal(journal) };
}
