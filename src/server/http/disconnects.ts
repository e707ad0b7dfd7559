import type { MiddlewareHandler } from "hono";
import { listConnections } from "./connections.ts";
import type { AppEnv } from "./context.ts";

const POLL_MS = 250;

/** Request without a response yet. */
interface Pending {
  /** Remote port of the client. */
  readonly port: number;
  readonly disconnect: AbortController;
}

/**
 * Detects clients that disconnect before their response. Deno reports disconnects only for requests that arrive in
 * one small chunk. Therefore this class polls the kernel's connection table every 250 ms while a response is pending.
 * Linux only: other systems have no such table.
 */
export class DisconnectWatcher implements AsyncDisposable {
  readonly #port: number;
  readonly #pending = new Set<Pending>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** @param port The port that the server listens on. */
  constructor(port: number) {
    this.#port = port;
  }

  /** Aborts `disconnect` when the client at `port` disconnects. Disposing the returned object ends the watch. */
  watch(port: number, disconnect: AbortController): Disposable {
    const pending = { port, disconnect };
    this.#pending.add(pending);
    this.#schedulePoll();
    return { [Symbol.dispose]: () => void this.#pending.delete(pending) };
  }

  /** Stops polling and waits until a running poll has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#polling;
  }

  #schedulePoll(): void {
    if (this.#isClosed || this.#pending.size === 0) return;
    this.#timer ??= setTimeout(() => this.#polling = this.#poll(), POLL_MS);
  }

  async #poll(): Promise<void> {
    const before = [...this.#pending]; // a client that connects during the read may not be listed
    const connected = before.length === 0 ? undefined : await listConnections(this.#port);
    const ports = connected && new Set(connected.map(({ port }) => port));
    for (const { port, disconnect } of before) {
      if (ports?.has(port) === false) {
        disconnect.abort(new DOMException("The client has disconnected", "AbortError"));
      }
    }
    this.#timer = undefined;
    this.#schedulePoll();
  }
}

/** Sets the signal of a route, which aborts when the client disconnects before the response. */
export function watchDisconnect(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const disconnect = new AbortController();
    const signals = [c.req.raw.signal];
    if (c.env?.disconnected) signals.push(c.env.disconnected);
    const onAbort = () => disconnect.abort(new DOMException("The client has disconnected", "AbortError"));
    for (const signal of signals) signal.addEventListener("abort", onAbort);
    c.set("signal", disconnect.signal);
    try {
      await next();
    } finally {
      // The request's own signal also aborts after each response.
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
    }
  };
}
