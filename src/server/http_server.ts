import { Departures } from "./departures.ts";
import { impatient } from "./impatient.ts";
import { Listener } from "./listener.ts";

/** Answers a request; the signal is aborted when whoever asked goes away before the answer. */
export type Fetch = (request: Request, gone: AbortSignal) => Response | Promise<Response>;

/** Where a {@linkcode HttpServer} listens, and how it stops. */
export interface HttpServerOptions {
  hostname: string;
  /** 0 is any that is free. */
  port: number;
  /** Milliseconds that requests have to end when the server stops; what is left is cut short. */
  graceMs?: number | undefined;
  /** Milliseconds that a reader may take over the next piece of an answer; a slower one is cut off. */
  readMs?: number | undefined;
  /** Connections at once; with more, those that are not waiting for an answer are closed. */
  maxConnections?: number | undefined;
  /** Told when connections were too many. */
  onFault?: ((error: unknown) => void) | undefined;
  /** Called when that time is over: ends whatever requests wait for. */
  onGraceOver: () => Promise<void>;
}

/** How long answers may take to leave when what they waited for has ended. */
const LEAVE_MS = 1_000;

/** Serves a function of requests at an address, until disposed. */
export class HttpServer implements AsyncDisposable {
  readonly #listener: Listener;
  readonly #options: HttpServerOptions;
  readonly #departures: Departures;
  #stopped: Promise<void> | undefined;

  /** @throws {Deno.errors.AddrInUse} when somebody else listens there. */
  constructor(fetch: Fetch, options: HttpServerOptions) {
    const { readMs = 60_000 } = options;
    this.#options = options;
    this.#listener = new Listener(
      async (request, { remoteAddr }) =>
        await impatient(await this.#answer(fetch, request, remoteAddr), readMs),
      options,
    );
    this.#departures = new Departures(this.port);
  }

  /** The port that it listens on. */
  get port(): number {
    return this.#listener.port;
  }

  /** Takes no further request, lets those there are end within the grace, and cuts short what is left. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #answer(fetch: Fetch, request: Request, { port }: { port: number }): Promise<Response> {
    const gone = new AbortController();
    using _watch = this.#departures.watch(port, gone);
    return await fetch(request, gone.signal);
  }

  async #stop(): Promise<void> {
    await using _departures = this.#departures;
    const { graceMs = 5_000, onGraceOver } = this.#options;
    const ended = this.#listener.shutdown();
    await within(graceMs, ended);
    await onGraceOver();
    if (!await within(LEAVE_MS, ended)) this.#listener.cut();
    await ended;
  }
}

/** Waits for an end, or for as long as it may take; says whether it came. */
async function within(ms: number, ended: Promise<unknown>): Promise<boolean> {
  const over = Promise.withResolvers<false>();
  const timer = setTimeout(() => over.resolve(false), ms);
  const came = await Promise.race([ended.then(() => true), over.promise]);
  clearTimeout(timer);
  return came;
}
