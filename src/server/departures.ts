import { connectedPorts } from "./connected_ports.ts";

const LOOK_MS = 250;

/** A request that has no answer yet. */
interface Pending {
  /** Whoever asked has this port. */
  readonly port: number;
  readonly gone: AbortController;
}

/**
 * Notices clients that go away before they are answered. Deno tells of those alone whose request came in one small
 * piece, so the kernel is asked, four times a second as long as an answer takes longer than that. Where there is
 * no such table, as there is on Linux alone, nobody is noticed.
 */
export class Departures implements AsyncDisposable {
  readonly #port: number;
  readonly #pending = new Set<Pending>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> = Promise.resolve();
  #over = false;

  /** @param port The port that the server listens on. */
  constructor(port: number) {
    this.#port = port;
  }

  /** Aborts `gone` when the client at that port goes away, until what comes back is disposed. */
  watch(port: number, gone: AbortController): Disposable {
    const pending = { port, gone };
    this.#pending.add(pending);
    this.#rest();
    return { [Symbol.dispose]: () => void this.#pending.delete(pending) };
  }

  /** Looks no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #rest(): void {
    if (this.#over || this.#pending.size === 0) return;
    this.#timer ??= setTimeout(() => this.#looking = this.#look(), LOOK_MS);
  }

  async #look(): Promise<void> {
    const before = [...this.#pending]; // who comes while the tables are read may not stand in them
    const connected = before.length === 0 ? undefined : await connectedPorts(this.#port);
    const ports = connected && new Set(connected);
    for (const { port, gone } of before) {
      if (ports?.has(port) === false) {
        gone.abort(new DOMException("Whoever asked has gone", "AbortError"));
      }
    }
    this.#timer = undefined;
    this.#rest();
  }
}
