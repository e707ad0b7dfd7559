/** Errors of Emscripten's file system by number, as a shell's commands know them. */
const CODES: Readonly<Record<number, readonly [string, string]>> = {
  2: ["EACCES", "permission denied"],
  10: ["EBUSY", "resource busy or locked"],
  20: ["EEXIST", "file already exists"],
  28: ["EINVAL", "invalid argument"],
  31: ["EISDIR", "illegal operation on a directory"],
  32: ["ELOOP", "too many levels of symbolic links"],
  37: ["ENAMETOOLONG", "file name too long"],
  44: ["ENOENT", "no such file or directory"],
  51: ["ENOSPC", "no space left on device"],
  54: ["ENOTDIR", "not a directory"],
  55: ["ENOTEMPTY", "directory not empty"],
  63: ["EPERM", "operation not permitted"],
  69: ["EROFS", "read-only file system"],
  75: ["EXDEV", "cross-device link not permitted"],
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
  const [code, words] = CODES[errno] ?? ["EIO", `input/output error ${errno}`];
  return new PathError({ code, words, operation, path });
}
