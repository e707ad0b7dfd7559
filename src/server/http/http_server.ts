import { MAX_CONNECTIONS } from "../limits.ts";
import { DisconnectWatcher, listConnectedPorts } from "./disconnects.ts";
import { withReadTimeout } from "./response_stream.ts";

/** Handles a request. `disconnected` aborts when the client disconnects before the response. */
export type RequestHandler = (request: Request, disconnected: AbortSignal) => Response | Promise<Response>;

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
  constructor(fetch: RequestHandler, options: HttpServerOptions) {
    const { readMs = 60_000 } = options;
    this.#options = options;
    this.#listener = new Listener(
      async (request, { remoteAddr: { port } }) => await this.#handle(fetch, request, { port, readMs }),
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

  async #handle(
    fetch: RequestHandler,
    request: Request,
    { port, readMs }: { port: number; readMs: number },
  ): Promise<Response> {
    const disconnect = new AbortController();
    const watch = this.#disconnectWatcher.watch(port, disconnect);
    try {
      const response = await fetch(request, disconnect.signal);
      return await withReadTimeout(response, { readMs, disconnected: disconnect.signal, watch });
    } catch (error) {
      watch[Symbol.dispose]();
      throw error;
    }
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

/** Options of {@linkcode Listener}. */
export interface ListenerOptions {
  hostname: string;
  /** Port; 0 selects a free one. */
  port: number;
  /**
   * Maximum number of connections. Above it, connections without a pending response are closed.
   *
   * @default 8_192
   */
  maxConnections?: number | undefined;
  /** Called when there were too many connections. */
  onError?: ((error: unknown) => void) | undefined;
}

/** One `Deno.serve` instance, from its start until its last response. */
interface Generation {
  readonly server: Deno.HttpServer<Deno.NetAddr>;
  readonly cut: AbortController;
}

const POLL_MS = 2_000;
const RETRY_MS = 1;

/**
 * Listens for requests with a bounded number of connections. `Deno.serve` limits neither connections nor the time of
 * a request's head, and it ends when no file descriptor is left. Above the limit, this class shuts the current
 * server down, which closes idle connections, unfinished requests and upgraded sockets but completes pending
 * responses, and starts a new server on the same port.
 */
export class Listener {
  readonly port: number;
  readonly #handler: Deno.ServeHandler<Deno.NetAddr>;
  readonly #options: ListenerOptions;
  readonly #generations = new Map<Generation, Promise<void>>();
  #newest: Generation;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #polling: Promise<void> = Promise.resolve();
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** @throws {Deno.errors.AddrInUse} if the port is in use. */
  constructor(handler: Deno.ServeHandler<Deno.NetAddr>, options: ListenerOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#newest = this.#listen(options.port);
    this.port = this.#newest.server.addr.port;
    this.#schedulePoll();
  }

  /** Accepts no further requests and waits for all pending responses. */
  async shutdown(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#retryTimer);
    await this.#polling;
    this.#newest.server.shutdown();
    await Promise.all(this.#generations.values());
  }

  /** Closes all connections at once. */
  closeConnections(): void {
    for (const { cut } of this.#generations.keys()) cut.abort();
  }

  #listen(port: number): Generation {
    const cut = new AbortController();
    const { hostname } = this.#options;
    const server = Deno.serve({ hostname, port, signal: cut.signal, onListen() {} }, this.#handler);
    const generation = { server, cut };
    this.#generations.set(generation, this.#ended(generation));
    return generation;
  }

  /** Resolves after the last response of a generation. Replaces a generation that failed. */
  async #ended(generation: Generation): Promise<void> {
    const { server } = generation;
    try {
      await server.finished;
    } catch (error) {
      this.#replace(error);
      await server.shutdown();
    }
    this.#generations.delete(generation);
  }

  #schedulePoll(): void {
    this.#timer = setTimeout(() => this.#polling = this.#poll(), POLL_MS);
  }

  async #poll(): Promise<void> {
    const { maxConnections = MAX_CONNECTIONS } = this.#options;
    const open = (await listConnectedPorts(this.port))?.length ?? 0;
    if (this.#isClosed) return;
    if (open > maxConnections) {
      this.#replace(new Error(`Too many connections: ${open} are open, the limit is ${maxConnections}`));
    }
    this.#schedulePoll();
  }

  /** Replaces the newest generation. */
  #replace(reason: unknown): void {
    if (this.#isClosed) return;
    this.#options.onError?.(reason);
    this.#newest.server.shutdown();
    this.#listenAgain();
  }

  /** Retries until the previous server has released the port. */
  #listenAgain(): void {
    if (this.#isClosed) return;
    try {
      this.#newest = this.#listen(this.port);
    } catch {
      this.#retryTimer = setTimeout(() => this.#listenAgain(), RETRY_MS);
    }
  }
}
