import { connectedPorts } from "./connected_ports.ts";

/** Where a {@linkcode Listener} listens, and how much it bears. */
export interface ListenerOptions {
  hostname: string;
  /** 0 is any that is free. */
  port: number;
  /** Connections at once; with more, those that are not waiting for an answer are closed. */
  maxConnections?: number | undefined;
  /** Told when connections were too many. */
  onFault?: ((error: unknown) => void) | undefined;
}

/** A server of Deno's, from when it listens until its last request is answered. */
interface Generation {
  readonly server: Deno.HttpServer<Deno.NetAddr>;
  readonly cut: AbortController;
}

/** Each costs some 10 kB and an open file. */
const MAX_CONNECTIONS = 8192;
const LOOK_MS = 2_000;
const AGAIN_MS = 1;

/**
 * Listens for requests. Deno has no limit of connections, none of the time that a request's head may take, and
 * ends a server that may open no more files, so whoever opens connections and says nothing would end it. Here, as
 * soon as there are too many, the server is let go, which closes what is idle or half said and answers what was
 * asked, and another one listens in its place. Sockets that were upgraded are closed, too.
 */
export class Listener {
  readonly port: number;
  readonly #handler: Deno.ServeHandler<Deno.NetAddr>;
  readonly #options: ListenerOptions;
  readonly #generations = new Map<Generation, Promise<void>>();
  #newest: Generation;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> = Promise.resolve();
  #again: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  /** @throws {Deno.errors.AddrInUse} when somebody else listens there. */
  constructor(handler: Deno.ServeHandler<Deno.NetAddr>, options: ListenerOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#newest = this.#listen(options.port);
    this.port = this.#newest.server.addr.port;
    this.#rest();
  }

  /** Takes no further request, and waits until those there are have been answered. */
  async shutdown(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#again);
    await this.#looking;
    this.#newest.server.shutdown();
    await Promise.all(this.#generations.values());
  }

  /** Answers nobody any more. */
  cut(): void {
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

  /** Resolves when a generation has answered its last request; one that failed is followed by another. */
  async #ended(generation: Generation): Promise<void> {
    const { server } = generation;
    try {
      await server.finished;
    } catch (error) {
      this.#renew(error);
      await server.shutdown();
    }
    this.#generations.delete(generation);
  }

  #rest(): void {
    this.#timer = setTimeout(() => this.#looking = this.#look(), LOOK_MS);
  }

  async #look(): Promise<void> {
    const { maxConnections = MAX_CONNECTIONS } = this.#options;
    const open = (await connectedPorts(this.port))?.length ?? 0;
    if (this.#over) return;
    if (open > maxConnections) this.#renew(new Error(`${open} connections are open, which is too many`));
    this.#rest();
  }

  /** Puts another generation in the place of the newest. */
  #renew(reason: unknown): void {
    if (this.#over) return;
    this.#options.onFault?.(reason);
    this.#newest.server.shutdown();
    this.#listenAgain();
  }

  /** The port is free a little after whoever listened there has been told to end. */
  #listenAgain(): void {
    if (this.#over) return;
    try {
      this.#newest = this.#listen(this.port);
    } catch {
      this.#again = setTimeout(() => this.#listenAgain(), AGAIN_MS);
    }
  }
}
