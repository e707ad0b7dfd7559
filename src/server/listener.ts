import { listConnectedPorts } from "./connected_ports.ts";
import { MAX_CONNECTIONS } from "./limits.ts";

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
