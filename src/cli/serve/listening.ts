import { errorMessage } from "../../errors.ts";
import { escapeControls } from "../../terminal_text.ts";
import { UnavailableError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";

/** Returns the error of a server that cannot listen. The message names the address. */
export function listenError(url: string, cause: unknown): Error {
  const isInUse = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
  if (isInUse) {
    return new UnavailableError(`Cannot serve at ${url}: the port is in use: give another --port`, { cause });
  }
  return new Error(`Cannot serve at ${url}: ${errorMessage(cause)}`, { cause });
}

/** Logs an internal error, which clients do not see, to stderr. */
export function logError(error: unknown): void {
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  writeText(currentIo().stderr, `${escapeControls(text)}\n`).catch(() => {}); // stderr is closed
}

/** Resolves when the signal is aborted. */
export async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}
