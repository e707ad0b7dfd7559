import * as z from "zod";
import {
  ArgumentRangeError,
  ArgumentTypeError,
  CHECKPOINT_ERROR_CODES,
  CheckpointError,
  errorMessage,
  GUEST_FILE_ERROR_CODES,
  GuestFileError,
  SandboxError,
  SandboxLostError,
  SessionClosedError,
} from "../errors.ts";
import type { ExecOptions, ExecResult } from "../sandbox/contract/exec.ts";
import { EXEC_FIELDS } from "../sandbox/contract/exec_fields.ts";
import { parseUntrustedJson } from "../json.ts";
import { ServerError } from "../server/http/http_errors.ts";
import { execResponse } from "../client/responses.ts";
import type { CallOf, CallReply } from "./calls.ts";
import { MessageError } from "./nats/message.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Nothing took a message: no slot is free, or the node with the free slot takes no more work. */
export class NoReceiverError extends SandboxError {}

/** No node has reported in time that the node has taken a call. */
export class UnansweredError extends NoReceiverError {}

/** A node has no slot for a session, or is draining. */
export class NoSlotError extends SandboxError {}

/** A session that has checkpoints is no longer on the session's node. The node has done nothing for the call. */
export class NotDoneError extends SandboxLostError {}

/** Another caller has used a shared session since. */
export class SessionInUseError extends SandboxError {}

/** Fields of an `exec` call from the options of the call, and the parts of the message. */
export function toExecCall(
  code: string,
  options: ExecOptions,
): { head: Omit<CallOf<"run">, "op" | "caller" | "call" | "owner" | "seed">; parts: Uint8Array[] } {
  const { onOutput, onDisplay } = options;
  const parts: Uint8Array[] = [];
  const fields = EXEC_FIELDS.toMessage(options, { add: (bytes) => parts.push(bytes) - 1 });
  const follows = [...onOutput ? ["output" as const] : [], ...onDisplay ? ["display" as const] : []];
  return { head: { code, ...fields, ...(follows.length > 0 && { follows }) }, parts };
}

/**
 * Returns the options of an `exec` call, without functions.
 *
 * @throws {MessageError} if a part is missing or an input is invalid.
 */
export function fromExecCall(call: CallOf<"exec" | "run">, parts: readonly Uint8Array[]): ExecOptions {
  return EXEC_FIELDS.fromMessage(call, {
    bytes: (at) => partAt(parts, at),
    json: (at) => parseInput(partAt(parts, at)),
  });
}

/** Returns the part at a position. */
export function partAt(parts: readonly Uint8Array[], at: number): Uint8Array {
  const found = parts[at];
  if (found === undefined) throw new MessageError(`part ${at} is missing`);
  return found;
}

function parseInput(contents: Uint8Array): unknown {
  try {
    return parseUntrustedJson(decoder.decode(contents));
  } catch (cause) {
    throw new MessageError("an input must be JSON", { cause });
  }
}

/** Returns the reply with the result of a program, and the parts of the message. */
export function toResultReply(
  { files, ...result }: ExecResult,
): { head: CallReply & { kind: "result" }; parts: Uint8Array[] } {
  if (files === undefined) return { head: { kind: "result", result }, parts: [] };
  return { head: { kind: "result", result, files: Object.keys(files) }, parts: Object.values(files) };
}

/** Returns the result of a program. */
export function fromResultReply(
  { result, files }: CallReply & { kind: "result" },
  parts: readonly Uint8Array[],
): ExecResult {
  const parsed = z.parse(execResponse, result);
  if (files === undefined) return parsed;
  return { ...parsed, files: Object.fromEntries(files.map((path, at) => [path, partAt(parts, at).slice()])) };
}

/** Returns the reply with an error. Messages of unexpected errors stay on the node. */
export function toErrorReply(error: unknown): CallReply & { kind: "error" } {
  const message = errorMessage(error);
  if (error instanceof ArgumentRangeError) return { kind: "error", code: "argument_range", message };
  if (error instanceof ArgumentTypeError) return { kind: "error", code: "argument_type", message };
  if (error instanceof SessionClosedError) return { kind: "error", code: "session_closed", message };
  if (error instanceof MessageError) return { kind: "error", code: "invalid", message };
  if (error instanceof GuestFileError) {
    return { kind: "error", code: "guest_file", message, reason: error.code };
  }
  if (error instanceof CheckpointError) {
    return { kind: "error", code: "checkpoint", message, reason: error.code };
  }
  if (error instanceof NoSlotError) return { kind: "error", code: "no_slot", message };
  if (error instanceof NotDoneError) return { kind: "error", code: "moved", message };
  if (error instanceof SessionInUseError) return { kind: "error", code: "in_use", message };
  if (error instanceof ServerError) return { kind: "error", code: "busy", message };
  if (error instanceof SandboxError) return { kind: "error", code: "sandbox", message };
  if (error instanceof DOMException && error.name === "AbortError") {
    return { kind: "error", code: "aborted", message: "the call was aborted" };
  }
  return { kind: "error", code: "internal", message: "the node failed: see its log" };
}

/** Returns the error of a reply, as a session of this process would throw it. */
export function fromErrorReply({ code, message, reason }: CallReply & { kind: "error" }): Error {
  if (code === "no_slot") return new NoReceiverError(message);
  if (code === "in_use") return new SessionInUseError(message);
  if (code === "moved") return new NotDoneError(message);
  if (code === "argument_range") return new ArgumentRangeError(message);
  if (code === "argument_type") return new ArgumentTypeError(message);
  if (code === "session_closed") return new SessionClosedError(message);
  const fileCode = GUEST_FILE_ERROR_CODES.find((known) => known === reason);
  if (code === "guest_file" && fileCode) return new GuestFileError(message, { code: fileCode });
  const checkpointCode = CHECKPOINT_ERROR_CODES.find((known) => known === reason);
  if (code === "checkpoint" && checkpointCode) return new CheckpointError(message, { code: checkpointCode });
  if (code === "aborted") return new SandboxLostError("Cannot finish call as its node has stopped it");
  return new SandboxError(`The node refused the call: ${message}`);
}
