import { DisconnectWatcher } from "./departures.ts";
import { withReadTimeout } from "./impatient.ts";
import { Listener } from "./listener.ts";

/** Handles a request. `disconnected` aborts when the client disconnects before the response. */
export type Fetch = (request: Request, disconnected: AbortSignal) => Response | Promise<Response>;

/** Options of {@linkcode HttpServer}. */
export interface HttpServerOptions {
  hostname: string;
  /** Port; 0 selects a free one. */
  port: number;
  /**
   * Milliseconds that running requests may take after the server begins to stop; then they are aborted.
   *
   * @default 5_000
   */
  graceMs?: number | undefined;
  /**
   * Milliseconds that a client may take to read the next chunk of a response; then its connection is closed.
   *
   * @default 60_000
   */
  readMs?: number | undefined;
  /**
   * Maximum number of connections. Above it, connections without a pending response are closed.
   *
   * @default 8_192
   */
  maxConnections?: number | undefined;
  /** Called when there were too many connections. */
  onError?: ((error: unknown) => void) | undefined;
  /** Called after the grace period; ends what the remaining requests wait for. */
  onGraceOver: () => Promise<void>;
}

/** Time for the remaining responses after the grace period. */
const FLUSH_MS = 1_000;

/** Serves a request handler at an address until disposed. */
export class HttpServer implements AsyncDisposable {
  readonly #listener: Listener;
  readonly #options: HttpServerOptions;
  readonly #disconnectWatcher: DisconnectWatcher;
  #stopped: Promise<void> | undefined;

  /** @throws {Deno.errors.AddrInUse} if the port is in use. */
  constructor(fetch: Fetch, options: HttpServerOptions) {
    const { readMs = 60_000 } = options;
    this.#options = options;
    this.#listener = new Listener(
      async (request, { remoteAddr }) =>
        await withReadTimeout(await this.#handle(fetch, request, remoteAddr), readMs),
      options,
    );
    this.#disconnectWatcher = new DisconnectWatcher(this.port);
  }

  /** Port that the server listens on. */
  get port(): number {
    return this.#listener.port;
  }

  /** Accepts no further requests, waits for running ones during the grace period, then aborts the rest. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #handle(fetch: Fetch, request: Request, { port }: { port: number }): Promise<Response> {
    const disconnect = new AbortController();
    using _watch = this.#disconnectWatcher.watch(port, disconnect);
    return await fetch(request, disconnect.signal);
  }

  async #stop(): Promise<void> {
    await using _watcher = this.#disconnectWatcher;
    const { graceMs = 5_000, onGraceOver } = this.#options;
    const ended = this.#listener.shutdown();
    await resolvesWithin(graceMs, ended);
    await onGraceOver();
    if (!await resolvesWithin(FLUSH_MS, ended)) this.#listener.closeConnections();
    await ended;
  }
}

/** Waits for a promise for at most `ms`. Returns true if it resolved in time. */
async function resolvesWithin(ms: number, ended: Promise<unknown>): Promise<boolean> {
  const timeout = Promise.withResolvers<false>();
  const timer = setTimeout(() => timeout.resolve(false), ms);
  const hasEnded = await Promise.race([ended.then(() => true), timeout.promise]);
  clearTimeout(timer);
  return hasEnded;
}
