/** The errors of Emscripten's file system that a request of the host can meet, by number. */
const ERRNO_TEXT: Readonly<Record<number, string>> = {
  2: "permission denied",
  20: "the file exists",
  31: "it is a directory",
  32: "too many symbolic links",
  44: "no such file or directory",
  51: "no space left on device",
  54: "not a directory",
  69: "read-only file system",
};

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
  if (typeof errno === "number") return ERRNO_TEXT[errno] ?? `file system error ${errno}`;
  if (typeof message !== "string") return String(name ?? "unknown error");
  return thrown instanceof Error ? String(thrown) : message;
}
