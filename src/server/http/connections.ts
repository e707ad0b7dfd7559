import type { Socket } from "node:net";
import { MAX_ADDRESS_CONNECTIONS, MAX_CONNECTIONS, MAX_QUIET_CONNECTIONS, REPORT_MS } from "../limits.ts";

/** Limits of the connections of a server. */
export interface ConnectionLimits {
  /**
   * Connections at once.
   *
   * @default 8_192
   */
  maxConnections?: number | undefined;
  /**
   * Connections at once with a refused last request.
   *
   * @default 256
   */
  maxQuiet?: number | undefined;
  /**
   * Connections at once from a single address that have sent no authenticated request. Loopback addresses are exempt.
   *
   * @default 1_024
   */
  maxPerAddress?: number | undefined;
  /** Further addresses that are exempt from `maxPerAddress`: the addresses of proxies, which their clients share. */
  trustedProxies?: readonly string[] | undefined;
  /** Called when a connection is closed because there are too many, at most once a minute. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * State of a connection, in the order in which connections are closed when there are too many: the last request was
 * refused; no whole request has arrived yet; the last request is answered; a request is being handled, or the
 * connection is a WebSocket. Busy connections are never closed.
 */
type State = "refused" | "new" | "idle" | "busy";

/** Open connection to the server. */
export interface Connection {
  readonly socket: Socket;
  /** Address of the client. */
  readonly address: string;
  state: State;
  /** Requests that have arrived and are not answered. */
  pending: number;
  /** Resolves when the last of these requests is answered. */
  last: Promise<void>;
}

/** The open connections of a server. Above a limit, the connection that has been quiet for longest is closed. */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Map<Socket, Connection>();
  /** The connections of each state, in the order in which they have entered the state. */
  readonly #inState: Readonly<Record<State, Set<Connection>>> = {
    refused: new Set(),
    new: new Set(),
    idle: new Set(),
    busy: new Set(),
  };
  /** Number of connections of each address that have sent no authenticated request. */
  readonly #unknown = new Map<string, number>();
  #reportedAt = -Infinity;
  #isClosing = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Adds a connection, which leaves when closed. */
  open(socket: Socket): void {
    const address = normalAddress(socket.remoteAddress ?? "");
    const connection: Connection = { socket, address, state: "new", pending: 0, last: Promise.resolve() };
    this.#open.set(socket, connection);
    this.#enter(connection, "new");
    socket.once("close", () => this.#remove(connection));
    this.#limitAddress(connection);
    const { maxConnections = MAX_CONNECTIONS } = this.#limits;
    if (this.#open.size <= maxConnections) return;
    this.#close(this.#quietest() ?? connection, `the limit of connections is ${maxConnections}`);
  }

  /** Returns a connection; `undefined` if closed. */
  get(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** Records that a whole request has arrived, which is not interrupted. */
  begin(connection: Connection): void {
    this.#move(connection, "busy");
  }

  /** Records that a request is answered without having been accepted. */
  refuse(connection: Connection): void {
    const { maxQuiet = MAX_QUIET_CONNECTIONS } = this.#limits;
    this.#move(connection, "refused");
    if (this.#isClosing) return void connection.socket.end();
    const { refused } = this.#inState;
    const [oldest] = refused;
    if (refused.size > maxQuiet && oldest) {
      this.#close(oldest, `the limit of connections whose request was refused is ${maxQuiet}`);
    }
  }

  /** Records that an accepted request is answered. */
  release(connection: Connection): void {
    this.#move(connection, "idle");
    if (this.#isClosing) connection.socket.end();
  }

  /** Closes the connections without a request, and each other connection after the response. */
  closeQuiet(): void {
    this.#isClosing = true;
    for (const { pending, socket } of this.#open.values()) if (pending === 0) socket.destroy();
  }

  /** Closes all connections. */
  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Closes the oldest unauthenticated connection of an address that has too many. */
  #limitAddress({ address }: Connection): void {
    const { maxPerAddress = MAX_ADDRESS_CONNECTIONS, trustedProxies = [] } = this.#limits;
    if ((this.#unknown.get(address) ?? 0) <= maxPerAddress) return;
    if (isLoopbackAddress(address) || trustedProxies.includes(address)) return;
    for (const connections of [this.#inState.refused, this.#inState.new]) {
      for (const connection of connections) {
        if (connection.address !== address) continue;
        const limit = `the limit of connections of ${address} without an authenticated request`;
        return this.#close(connection, `${limit} is ${maxPerAddress}`);
      }
    }
  }

  #quietest(): Connection | undefined {
    const { refused, new: fresh, idle } = this.#inState;
    for (const connections of [refused, fresh, idle]) {
      for (const connection of connections) return connection;
    }
  }

  #close(connection: Connection, reason: string): void {
    this.#remove(connection);
    connection.socket.destroy();
    if (performance.now() - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = performance.now();
    this.#limits.onError?.(new Error(`Closed a connection from ${connection.address}: ${reason}`));
  }

  #move(connection: Connection, state: State): void {
    if (!this.#open.has(connection.socket)) return;
    this.#leave(connection);
    this.#enter(connection, state);
  }

  #remove(connection: Connection): void {
    if (this.#open.delete(connection.socket)) this.#leave(connection);
  }

  #enter(connection: Connection, state: State): void {
    connection.state = state;
    this.#inState[state].add(connection);
    if (isUnknown(connection)) this.#count(connection, 1);
  }

  #leave(connection: Connection): void {
    this.#inState[connection.state].delete(connection);
    if (isUnknown(connection)) this.#count(connection, -1);
  }

  #count({ address }: Connection, change: number): void {
    const count = (this.#unknown.get(address) ?? 0) + change;
    if (count === 0) this.#unknown.delete(address);
    else this.#unknown.set(address, count);
  }
}

function isUnknown({ state }: Connection): boolean {
  return state === "new" || state === "refused";
}

/** Returns an IPv4 address that is written as an IPv6 address in the usual notation. */
function normalAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, "");
}

/** True for an address of the server's own host. */
function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^127(\.\d{1,3}){3}$/.test(address);
}
