import { MAX_POLITE_REFUSALS } from "../limits.ts";
import { type ConnectionLimits, ConnectionWatch, listConnections } from "./connections.ts";
import type { RequestConnection } from "./context.ts";
import { DisconnectWatcher } from "./disconnects.ts";
import { errorResponse, ServerError } from "./errors.ts";
import { discardBody } from "./request_limits.ts";
import { closeAfter, ConnectionClosed, withReadTimeout } from "./response_stream.ts";

/** Handles a request. */
export type RequestHandler = (
  request: Request,
  connection: RequestConnection,
) => Response | Promise<Response>;

/** Options of {@linkcode HttpServer}. */
export interface HttpServerOptions extends ListenerOptions {
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
    this.#options = options;
    this.#listener = new Listener(
      async (request, { remoteAddr }) => await this.#handle(fetch, request, remoteAddr),
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

  async #handle(fetch: RequestHandler, request: Request, client: Deno.NetAddr): Promise<Response> {
    const { hostname: address, port } = client;
    const { readMs = 60_000 } = this.#options;
    const connections = this.#listener.watch;
    const disconnect = new AbortController();
    const { signal: disconnected } = disconnect;
    const watch = this.#disconnectWatcher.watch(port, disconnect);
    let isAccepted = false;
    const accept = () => {
      isAccepted = true;
      connections.accept(port);
    };
    try {
      const handled = await fetch(request, { disconnected, address, accept });
      const response = await withReadTimeout(handled, { readMs, disconnected, watch });
      if (isAccepted || response.status === 101) return response;
      return await this.#refuse(request, response, port);
    } catch (error) {
      watch[Symbol.dispose]();
      throw error;
    }
  }

  /** Sends the response to a refused request. Its connection is closed if its body does not arrive. */
  async #refuse({ body, bodyUsed }: Request, response: Response, port: number): Promise<Response> {
    const connections = this.#listener.watch;
    const isPolite = connections.refused < MAX_POLITE_REFUSALS;
    connections.refuse(port);
    if (body === null || bodyUsed) return response;
    return isPolite && await discardBody(body) ? response : closeAfter(response);
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

/** Options of {@linkcode Listener}. Above one of the limits, connections without a pending response are closed. */
export interface ListenerOptions extends ConnectionLimits {
  hostname: string;
  /** Port; 0 selects a free one. */
  port: number;
  /** Called when there were too many connections, or a request handler threw. */
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
 * a request's head and body, it cannot close one connection, and it ends when no file descriptor is left. Above a
 * limit, this class shuts the current server down, which closes idle connections, unfinished requests and upgraded
 * sockets but completes pending responses, and starts a new server on the same port.
 */
export class Listener {
  readonly port: number;
  /** Records which connections have sent an accepted request. */
  readonly watch: ConnectionWatch;
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
    this.watch = new ConnectionWatch(options);
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
    const onError = (error: unknown) => this.#respondToError(error);
    const server = Deno.serve({ hostname, port, signal: cut.signal, onListen() {}, onError }, this.#handler);
    const generation = { server, cut };
    this.#generations.set(generation, this.#ended(generation));
    return generation;
  }

  /** Reports an error of the handler, such as a lack of file descriptors, and returns the response to it. */
  #respondToError(error: unknown): Response {
    if (!(error instanceof ConnectionClosed)) this.#options.onError?.(error);
    return errorResponse(
      new ServerError("unavailable", "The server cannot handle the request now", { retryAfter: 1 }),
    );
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
    const open = await listConnections(this.port) ?? [];
    if (this.#isClosed) return;
    const excess = this.watch.findExcess(open, performance.now());
    if (excess) this.#replace(new Error(`Too many connections: ${excess.reason}`), excess);
    this.#schedulePoll();
  }

  /**
   * Replaces the newest generation. `isStuck` also ends its pending responses: a shutdown does not close a connection
   * whose body is still awaited.
   */
  #replace(reason: unknown, { isStuck = false } = {}): void {
    if (this.#isClosed) return;
    this.#options.onError?.(reason);
    if (isStuck) this.#newest.cut.abort();
    else this.#newest.server.shutdown();
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
