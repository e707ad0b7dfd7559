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

/** What was thrown, in words: Emscripten throws objects that are no `Error`. */
export function thrownText(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const { name, message, errno } = thrown as { name?: unknown; message?: unknown; errno?: unknown };
  if (typeof errno === "number") return ERRNO_TEXT[errno] ?? `file system error ${errno}`;
  if (typeof message !== "string") return String(name ?? "unknown error");
  return thrown instanceof Error ? String(thrown) : message;
}
