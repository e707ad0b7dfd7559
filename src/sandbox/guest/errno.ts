/** Texts of a file system error. */
interface FileSystemError {
  readonly code: string;
  /** Text in shell messages. */
  readonly shellText: string;
  /**
   * Text in errors of host requests.
   *
   * @default shellText
   */
  readonly requestText?: string;
}

/** Errors of Emscripten's file system, by errno. */
const ERRORS: Readonly<Record<number, FileSystemError>> = {
  2: { code: "EACCES", shellText: "permission denied" },
  10: { code: "EBUSY", shellText: "resource busy or locked" },
  20: { code: "EEXIST", shellText: "file already exists", requestText: "the file exists" },
  28: { code: "EINVAL", shellText: "invalid argument" },
  31: { code: "EISDIR", shellText: "illegal operation on a directory", requestText: "it is a directory" },
  32: {
    code: "ELOOP",
    shellText: "too many levels of symbolic links",
    requestText: "too many symbolic links",
  },
  37: { code: "ENAMETOOLONG", shellText: "file name too long" },
  44: { code: "ENOENT", shellText: "no such file or directory" },
  51: { code: "ENOSPC", shellText: "no space left on device" },
  54: { code: "ENOTDIR", shellText: "not a directory" },
  55: { code: "ENOTEMPTY", shellText: "directory not empty" },
  63: { code: "EPERM", shellText: "operation not permitted" },
  69: { code: "EROFS", shellText: "read-only file system" },
  75: { code: "EXDEV", shellText: "cross-device link not permitted" },
};

/** An error of a file system operation, with its path. */
export class PathError extends Error {
  readonly code: string;
  readonly path: string;
  /** Text in shell messages, such as `Permission denied`. */
  readonly shellText: string;

  constructor({ code, text, operation, path }: Record<"code" | "text" | "operation" | "path", string>) {
    super(`${code}: ${text}, ${operation} '${path}'`);
    this.code = code;
    this.path = path;
    this.shellText = text.slice(0, 1).toUpperCase() + text.slice(1);
  }
}

/** Converts a value that Emscripten threw to an error with a code. Shell commands match its text. */
export function toPathError(thrown: unknown, operation: string, path: string): Error {
  const errno = (thrown as { errno?: unknown } | null)?.errno;
  if (typeof errno !== "number") return thrown instanceof Error ? thrown : new Error(String(thrown));
  const { code, shellText: text } = ERRORS[errno] ??
    { code: "EIO", shellText: `input/output error ${errno}` };
  return new PathError({ code, text, operation, path });
}

/** Numbers of the errors for a missing file: ENOENT and ENOTDIR. */
const MISSING: readonly unknown[] = [44, 54];

/** True if Emscripten's file system threw because the file does not exist. */
export function isMissingFile(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "errno" in thrown && MISSING.includes(thrown.errno);
}

/** Returns the exit code, from 0 to 255, if Emscripten threw to exit the program. */
export function exitCodeOf(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  const { name, status } = thrown as { name?: unknown; status?: unknown };
  const hasCode = name === "ExitStatus" && typeof status === "number" && status >= 0;
  return hasCode ? status & 255 : undefined;
}

/** Returns the text of a thrown value. Emscripten also throws objects that are not an `Error`. */
export function thrownText(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const { name, message, errno } = thrown as { name?: unknown; message?: unknown; errno?: unknown };
  if (typeof errno === "number") {
    const known = ERRORS[errno];
    return known?.requestText ?? known?.shellText ?? `file system error ${errno}`;
  }
  if (typeof message !== "string") return String(name ?? "unknown error");
  return thrown instanceof Error ? String(thrown) : message;
}
