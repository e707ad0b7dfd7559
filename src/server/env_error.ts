import { EpisodeError, SandboxError } from "../errors.ts";
import { ServerError, sessionError } from "./server_error.ts";

/**
 * What an env threw, as whoever asked may see it: what a session, or the server, has worded for them stands as the
 * cause of what a transform made of it.
 */
export function envError(error: unknown): ServerError {
  const chain = [...causes(error)];
  const told = chain.find((cause) => cause instanceof ServerError);
  if (told !== undefined) return told;
  const broken = chain.find((cause) => cause instanceof SandboxError);
  if (broken !== undefined || !(error instanceof EpisodeError)) return sessionError(broken ?? error);
  return new ServerError("invalid", error.message, { cause: error });
}

function* causes(error: unknown): Generator<unknown> {
  for (let cause = error; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined) {
    yield cause;
  }
}
