/** Where Linux lists the connections of this host, by address family. */
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** A connection of a table: its port here, its port there, its state. */
const ROW = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]{2}) /gm;
const ESTABLISHED = "01";
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
    for (const { port, gone } of before) {
      if (connected?.has(port) === false) {
        gone.abort(new DOMException("Whoever asked has gone", "AbortError"));
      }
    }
    this.#timer = undefined;
    this.#rest();
  }
}

/** The ports of whoever is connected to a port of this host; `undefined` where that is not told. */
async function connectedPorts(port: number): Promise<Set<number> | undefined> {
  const tables = await Promise.all(TABLES.map((path) => Deno.readTextFile(path).catch(() => undefined)));
  if (tables[0] === undefined) return undefined;
  const rows = tables.flatMap((table = "") => [...table.matchAll(ROW)]);
  const own = rows.filter(([, here = "", , state]) => state === ESTABLISHED && parseInt(here, 16) === port);
  return new Set(own.map(([, , there = ""]) => parseInt(there, 16)));
}
