import type { SessionPool } from "../../sandbox/contract/pool.ts";
import { HttpServer, type HttpServerOptions, type RequestHandler } from "../../server/http/http_server.ts";
import type { ServeAddress } from "./address.ts";
import { errorMessage } from "../../errors.ts";
import { escapeControls } from "../../terminal_text.ts";
import { UnavailableError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";

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

/** Fails before the address is announced if no sandbox can start. */
export async function tryPool(pool: SessionPool, signal: AbortSignal): Promise<void> {
  await using _lease = await pool.acquire({ signal });
}

/**
 * Starts an HTTP server, whose internal errors are logged.
 *
 * @throws {Error} if the server cannot listen. The message names the address.
 */
export async function listen(
  handler: RequestHandler,
  { hostname, name, port }: Pick<ServeAddress, "hostname" | "name"> & { readonly port: number },
  options: Partial<HttpServerOptions> = {},
): Promise<HttpServer> {
  const onGraceOver = () => Promise.resolve();
  try {
    return await HttpServer.listen(handler, { onError: logError, onGraceOver, ...options, hostname, port });
  } catch (cause) {
    const url = `http://${name}:${port}`;
    const isInUse = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    if (!isInUse) throw new Error(`Cannot serve at ${url}: ${errorMessage(cause)}`, { cause });
    throw new UnavailableError(`Cannot serve at ${url}: the port is in use: give another --port`, { cause });
  }
}

/** Returns a signal that is aborted when stdin ends. The content of stdin is discarded. */
export function stdinEnd(): AbortSignal {
  const controller = new AbortController();
  const ended = () => controller.abort(new DOMException("stdin has ended", "AbortError"));
  currentIo().stdin.readable.pipeTo(new WritableStream()).then(ended, ended);
  return controller.signal;
}
