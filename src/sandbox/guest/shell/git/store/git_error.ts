/** An error that ends a command of git. */
export class GitError extends Error {
  readonly exitCode: number;
  /** What precedes the message on its line, such as `fatal`. Empty for a message that has its own form. */
  readonly kind: "fatal" | "error" | "";

  constructor(message: string, { kind = "fatal", exitCode = kind === "fatal" ? 128 : 1 }: {
    kind?: GitError["kind"];
    exitCode?: number;
  } = {}) {
    super(message);
    this.kind = kind;
    this.exitCode = exitCode;
  }
}

/** Ends a command with `fatal: message` and exit code 128. */
export function fatal(message: string): never {
  throw new GitError(message);
}

/** Ends a command with `error: message`. */
export function fails(message: string, exitCode = 1): never {
  throw new GitError(message, { kind: "error", exitCode });
}

/** Refuses a part of git that the sandbox lacks, by its name. */
export function refuse(what: string): never {
  throw new GitError(`${what} is not available in the sandbox`);
}
