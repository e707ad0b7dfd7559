/**
 * Failures, of which there are three kinds.
 *
 * 1. The model's code failed: no error. A program that raises, exits or exceeds a limit has a result whose `status`
 * says so, and the episode continues.
 * 2. A boundary failed: an {@linkcode EpisodeError}, with a class for each `boundary`. The episode records the error
 * with the `cause` and ends; sibling episodes continue. {@linkcode attributeErrors} converts foreign errors where the
 * boundary is crossed. A score that could not be computed is `null`.
 * 3. The caller is wrong: a `TypeError`, `RangeError` or `SyntaxError` before anything starts.
 *
 * Of the third kind are {@linkcode ArgumentTypeError} and {@linkcode ArgumentRangeError}, for options that a request
 * may also have sent. Calls of a session throw a {@linkcode GuestFileError} or {@linkcode CheckpointError}, which have
 * a `code`, or a {@linkcode SessionClosedError}.
 *
 * Code decides by class or `code`, never by the text of a message. `src/wire/error_codes.ts` maps codes to HTTP
 * statuses.
 *
 * @module
 */

/** An error at a boundary of an episode, which is recorded on the episode and never fails sibling episodes. */
export abstract class EpisodeError extends Error {
  /** The boundary that failed, as written in trajectories. */
  abstract readonly boundary:
    | "sandbox"
    | "tool"
    | "policy"
    | "grader"
    | "mcp"
    | "dataset"
    | "user"
    | "parser"
    | "tokens"
    | "env";

  override get name(): string {
    return this.constructor.name;
  }
}

/**
 * The error of a sandbox that could not be started, or that failed for a reason other than the guest's code.
 */
export class SandboxError extends EpisodeError {
  override readonly boundary = "sandbox";
}

/**
 * The error of a session on a node that has stopped or cannot be reached. Whether a call that was running has had an
 * effect is unknown, and the session's state is lost.
 */
export class SandboxLostError extends SandboxError {}

/** The error of a call that found no free session in time, or too many others waiting. */
export class PoolFullError extends SandboxError {
  /** Milliseconds after which a session is likely to be free. */
  readonly retryAfterMs: number;

  constructor(message: string, options: ErrorOptions & { retryAfterMs: number }) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The error of a tool that the model can correct: the model is shown the message. */
export class ToolError extends EpisodeError {
  override readonly boundary = "tool";
}

/**
 * The reason a policy could not reply: the server `refused` the request, was `unreachable`, was `unavailable`
 * (overloaded or failing), exceeded the `timeout`, sent a malformed response (`bad_answer`), or `aborted` the reply;
 * or the prompt exceeds the context of the model (`context_overflow`).
 */
export type PolicyFault =
  | "refused"
  | "unreachable"
  | "unavailable"
  | "timeout"
  | "bad_answer"
  | "aborted"
  | "context_overflow";

/** The error of a policy that could not reply. */
export class PolicyError extends EpisodeError {
  override readonly boundary = "policy";
  /** The reason, if the policy uses a server. */
  readonly fault: PolicyFault | undefined;
  /** HTTP status of the server's response, if any. */
  readonly status: number | undefined;
  /** Milliseconds after which the server takes the request, if the response said so. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: ErrorOptions & {
      fault?: PolicyFault;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, options);
    this.fault = options.fault;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * The error of a Model Context Protocol server that could not be started, exited, or sent an invalid
 * response.
 */
export class McpError extends EpisodeError {
  override readonly boundary = "mcp";
}

/** The error of a simulated user that could not reply. */
export class UserError extends EpisodeError {
  override readonly boundary = "user";
}

/**
 * The error of an env that behaves differently on replay, so that a saved episode cannot be resumed, of an episode
 * that is too long to be saved, or of a transform in a file that failed.
 */
export class EnvError extends EpisodeError {
  override readonly boundary = "env";
}

/**
 * The error of a tool call parser that threw. The parsers of this package never throw, whatever a model
 * writes.
 */
export class ParserError extends EpisodeError {
  override readonly boundary = "parser";
}

/** The error of an episode's token record: template, tokenizer and server disagree about a turn. */
export class TokenError extends EpisodeError {
  override readonly boundary = "tokens";
}

/** The error of a dataset row that could not be read, or that does not describe a task. */
export class DatasetError extends EpisodeError {
  override readonly boundary = "dataset";
}

/** The error of a grader that could not compute a score. The score is then `null`, never 0. */
export class GraderError extends EpisodeError {
  override readonly boundary = "grader";
}

/** An argument of a caller has the wrong type or form. The message may be shown to the caller. */
export class ArgumentTypeError extends TypeError {
  readonly code = "invalid";
}

/** An argument of a caller is out of range. The message may be shown to the caller. */
export class ArgumentRangeError extends RangeError {
  readonly code = "invalid";
}

/** True if the caller is wrong, and the message is written for the caller. */
export function isArgumentError(error: unknown): error is ArgumentTypeError | ArgumentRangeError {
  return error instanceof ArgumentTypeError || error instanceof ArgumentRangeError;
}

/** A session was used after disposal, or after the lease had ended. */
export class SessionClosedError extends Error {
  override readonly name = "SessionClosedError";
  readonly code = "session_closed";
}

/** Codes of {@linkcode WaitingExecError}. */
export type WaitingExecErrorCode = "exec_waiting" | "exec_not_waiting";

/**
 * A session was used while an exec waits for the answer to a call (`exec_waiting`), or an answer came for a call that
 * does not wait (`exec_not_waiting`). The session is unchanged.
 */
export class WaitingExecError extends Error {
  override readonly name = "WaitingExecError";
  readonly code: WaitingExecErrorCode;

  constructor(message: string, { code }: { code: WaitingExecErrorCode }) {
    super(message);
    this.code = code;
  }
}

/** Codes of {@linkcode GuestFileError}. */
export const GUEST_FILE_ERROR_CODES = [
  "file_not_found",
  "file_is_directory",
  "file_forbidden",
  "file_unreadable",
  "file_unwritable",
] as const;

/**
 * Why the guest did not read or write a file: there is no file at the path (`file_not_found`), the path is no plain
 * file or cannot be read (`file_unreadable`), or cannot be written (`file_unwritable`). Of an absolute path, a
 * directory has `file_is_directory`, and a file whose mode forbids the access `file_forbidden`.
 */
export type GuestFileErrorCode = (typeof GUEST_FILE_ERROR_CODES)[number];

/** A file of a session could not be read or written. The message is the guest's and may be shown to the caller. */
export class GuestFileError extends Error {
  override readonly name = "GuestFileError";
  readonly code: GuestFileErrorCode;

  constructor(message: string, options: ErrorOptions & { code: GuestFileErrorCode }) {
    super(message, options);
    this.code = options.code;
  }
}

/** Codes of {@linkcode CheckpointError}. */
export const CHECKPOINT_ERROR_CODES = [
  "checkpoint_refused",
  "checkpoint_foreign",
  "checkpoint_damaged",
  "checkpoint_truncated",
  "checkpoint_other_format",
  "checkpoint_other_image",
  "checkpoint_other_profile",
  "checkpoint_other_owner",
  "checkpoint_too_large",
] as const;

/**
 * Why a checkpoint was not made or restored: the session has a part that no checkpoint has (`checkpoint_refused`),
 * another host or another key signed it (`checkpoint_foreign`), bytes were changed (`checkpoint_damaged`) or the end
 * is missing (`checkpoint_truncated`), another version wrote the checkpoint (`checkpoint_other_format`), the
 * checkpoint is bound to another base image, profile or owner, or the state exceeds the limits of the profile
 * (`checkpoint_too_large`).
 */
export type CheckpointErrorCode = (typeof CHECKPOINT_ERROR_CODES)[number];

/**
 * A checkpoint could not be made or restored. Nothing of the state has run. The message may be shown to the caller.
 */
export class CheckpointError extends Error {
  override readonly name = "CheckpointError";
  readonly code: CheckpointErrorCode;

  constructor(message: string, options: ErrorOptions & { code: CheckpointErrorCode }) {
    super(message, options);
    this.code = options.code;
  }
}

/** Returns the message of an error, or the name for an empty message; the text of any other thrown value. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? `${error.message || error.name}` : String(error);
  } catch { // a foreign value can throw during the conversion
    return "an error that has no text";
  }
}

/** Options of {@linkcode attributeErrors}. */
export interface BoundaryOptions {
  /** The class of the boundary, in which other errors are wrapped. */
  error: new (message: string, options: ErrorOptions) => EpisodeError;
  /** The start of the error message: `Cannot acquire session`. */
  failure: string;
  /** Once aborted, every error is taken as the cancellation and rethrown unchanged. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs code across a boundary. An `EpisodeError` is rethrown unchanged; any other error is wrapped in the
 * boundary's class.
 */
export async function attributeErrors<T>(run: () => T | Promise<T>, options: BoundaryOptions): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof EpisodeError || options.signal?.aborted) throw cause;
    const reason = errorMessage(cause);
    throw new options.error(`${options.failure}: ${reason}`, { cause });
  }
}

/** The failure that ended an episode. Plain data. */
export interface EpisodeFailure {
  /** The boundary that failed; `env` for an error that belongs to no boundary. */
  readonly boundary: EpisodeError["boundary"];
  readonly name: string;
  readonly message: string;
  /** Why the policy's server gave no reply. */
  readonly fault?: PolicyFault;
}

/** Converts an error to the plain data that is recorded on a trajectory. */
export function toEpisodeFailure(cause: unknown): EpisodeFailure {
  const boundary = cause instanceof EpisodeError ? cause.boundary : "env";
  const { name, message } = cause instanceof Error ? cause : { name: typeof cause, message: String(cause) };
  const fault = cause instanceof PolicyError ? cause.fault : undefined;
  return { boundary, name, message, ...(fault && { fault }) };
}
