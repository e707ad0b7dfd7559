/** An error at a boundary of an episode: recorded on it, never fatal to its siblings. */
export abstract class EpisodeError extends Error {
  /** The boundary that failed, as it is written into trajectories. */
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

/** A sandbox could not be started, or broke in a way the guest's code does not explain. */
export class SandboxError extends EpisodeError {
  override readonly boundary = "sandbox";
}

/** A tool failed in a way the model may mend: the message is shown to it. */
export class ToolError extends EpisodeError {
  override readonly boundary = "tool";
}

/**
 * Why a policy could not answer: its server `refused` the request, was `unreachable`, was `unavailable` (too
 * busy, or broken), met the `timeout`, gave a `bad_answer`, or `aborted` its reply.
 */
export type PolicyFault = "refused" | "unreachable" | "unavailable" | "timeout" | "bad_answer" | "aborted";

/** The policy could not answer. */
export class PolicyError extends EpisodeError {
  override readonly boundary = "policy";
  /** Why, where a server is behind it. */
  readonly fault: PolicyFault | undefined;

  constructor(message: string, options: ErrorOptions & { fault?: PolicyFault } = {}) {
    super(message, options);
    this.fault = options.fault;
  }
}

/** A server of the Model Context Protocol could not be started, died, or answered what is no answer. */
export class McpError extends EpisodeError {
  override readonly boundary = "mcp";
}

/** The simulated user of an episode could not answer. */
export class UserError extends EpisodeError {
  override readonly boundary = "user";
}

/** An env did not do what it did before, so an episode that was saved cannot go on. */
export class EnvError extends EpisodeError {
  override readonly boundary = "env";
}

/** What reads the calls in a reply broke on it; what a model writes never makes one of ours do so. */
export class ParserError extends EpisodeError {
  override readonly boundary = "parser";
}

/** The tokens of an episode could not be kept: template, tokenizer and server do not agree on a turn. */
export class TokenError extends EpisodeError {
  override readonly boundary = "tokens";
}

/** A row of a dataset could not be read, or is no task. */
export class DatasetError extends EpisodeError {
  override readonly boundary = "dataset";
}

/** A grader could not give a score; the score is then `null`, never 0. */
export class GraderError extends EpisodeError {
  override readonly boundary = "grader";
}

/** Returns the message of an error, or its name if that is empty; the text of any other thrown value. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? `${error.message || error.name}` : String(error);
  } catch { // a foreign value can throw while it is converted
    return "an error that has no text";
  }
}
