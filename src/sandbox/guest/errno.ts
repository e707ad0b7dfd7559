/** An error of Emscripten's file system. */
interface FileSystemError {
  readonly code: string;
  /** Its text in the shell. */
  readonly words: string;
  /** Its text in an error of a request, if that is another one. */
  readonly text?: string;
}

/** Errors of Emscripten's file system, by number. */
const ERRORS: Readonly<Record<number, FileSystemError>> = {
  2: { code: "EACCES", words: "permission denied" },
  10: { code: "EBUSY", words: "resource busy or locked" },
  20: { code: "EEXIST", words: "file already exists", text: "the file exists" },
  28: { code: "EINVAL", words: "invalid argument" },
  31: { code: "EISDIR", words: "illegal operation on a directory", text: "it is a directory" },
  32: { code: "ELOOP", words: "too many levels of symbolic links", text: "too many symbolic links" },
  37: { code: "ENAMETOOLONG", words: "file name too long" },
  44: { code: "ENOENT", words: "no such file or directory" },
  51: { code: "ENOSPC", words: "no space left on device" },
  54: { code: "ENOTDIR", words: "not a directory" },
  55: { code: "ENOTEMPTY", words: "directory not empty" },
  63: { code: "EPERM", words: "operation not permitted" },
  69: { code: "EROFS", words: "read-only file system" },
  75: { code: "EXDEV", words: "cross-device link not permitted" },
};

/** A refusal of the file system. */
export class PathError extends Error {
  readonly code: string;
  readonly path: string;
  /** As a shell tells it, such as `Permission denied`. */
  readonly words: string;

  constructor({ code, words, operation, path }: Record<"code" | "words" | "operation" | "path", string>) {
    super(`${code}: ${words}, ${operation} '${path}'`);
    this.code = code;
    this.path = path;
    this.words = words.slice(0, 1).toUpperCase() + words.slice(1);
  }
}

/** What Emscripten threw, as an error with a code, in the words that the shell's commands look for. */
export function pathError(thrown: unknown, operation: string, path: string): Error {
  const errno = (thrown as { errno?: unknown } | null)?.errno;
  if (typeof errno !== "number") return thrown instanceof Error ? thrown : new Error(String(thrown));
  const { code, words } = ERRORS[errno] ?? { code: "EIO", words: `input/output error ${errno}` };
  return new PathError({ code, words, operation, path });
}

/** Errors of Emscripten's file system that mean that there is no file at a path: ENOENT and ENOTDIR. */
const MISSING: readonly unknown[] = [44, 54];

/** True if Emscripten's file system threw because there is no file at a path. */
export function isMissingFile(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "errno" in thrown && MISSING.includes(thrown.errno);
}

/** Returns the exit code, from 0 to 255, with which Emscripten ended the program; undefined for any other end. */
export function exitCodeOf(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  const { name, status } = thrown as { name?: unknown; status?: unknown };
  const hasCode = name === "ExitStatus" && typeof status === "number" && status >= 0;
  return hasCode ? status & 255 : undefined;
}

/** What was thrown, in words: Emscripten throws objects that are no `Error`. */
export function thrownText(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const { name, message, errno } = thrown as { name?: unknown; message?: unknown; errno?: unknown };
  if (typeof errno === "number") {
    const known = ERRORS[errno];
    return known?.text ?? known?.words ?? `file system error ${errno}`;
  }
  if (typeof message !== "string") return String(name ?? "unknown error");
  return thrown instanceof Error ? String(thrown) : message;
}
