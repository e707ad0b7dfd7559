import { EpisodeError, SandboxError } from "../errors.ts";
import { ServerError, toPublicError } from "./server_error.ts";

/**
 * Converts an error of an env into one that may be sent to the client. The first public error in its chain of causes
 * is used, since transforms wrap the errors of sessions.
 */
export function toEnvError(error: unknown): ServerError {
  const chain = [...causes(error)];
  const publicError = chain.find((cause) => cause instanceof ServerError);
  if (publicError !== undefined) return publicError;
  const sandboxError = chain.find((cause) => cause instanceof SandboxError);
  if (sandboxError !== undefined || !(error instanceof EpisodeError)) {
    return toPublicError(sandboxError ?? error);
  }
  return new ServerError("invalid", error.message, { cause: error });
}

function* causes(error: unknown): Generator<unknown> {
  for (let cause = error; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined) {
    yield cause;
  }
}
