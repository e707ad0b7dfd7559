import { MAX_ADDRESS_CONNECTIONS, MAX_CONNECTIONS, MAX_QUIET_CONNECTIONS, QUIET_MS } from "../limits.ts";

/** Limits of the connections of a server. */
export interface ConnectionLimits {
  /**
   * Connections at once.
   *
   * @default 8_192
   */
  maxConnections?: number | undefined;
  /**
   * Connections at once that keep the server waiting: their first request was refused, or did not arrive with its body
   * within 40 s.
   *
   * @default 256
   */
  maxQuiet?: number | undefined;
  /**
   * Connections at once from one address that have sent no authenticated request. Loopback addresses are exempt.
   *
   * @default 1_024
   */
  maxPerAddress?: number | undefined;
  /** Further addresses that are exempt from `maxPerAddress`: those of proxies, whose clients share them. */
  trustedProxies?: readonly string[] | undefined;
}

/** Open connection to the server. */
export interface OpenConnection {
  /** Remote address, as the kernel writes it. */
  readonly address: string;
  /** Remote port. */
  readonly port: number;
}

/** A limit that is exceeded. */
export interface Excess {
  readonly reason: string;
  /** True if many connections wait for the rest of a refused request. */
  readonly isStuck: boolean;
}

/** Finds out whether a server has too many connections, from the kernel's list and the requests that arrived. */
export class ConnectionWatch {
  readonly #limits: ConnectionLimits;
  /** Ports of connections whose last request was accepted, and of those whose last request was refused. */
  readonly #accepted = new Set<number>();
  readonly #refused = new Set<number>();
  /** Time at which each connection that was never accepted was first listed, by address and port. */
  #firstSeen = new Map<string, number>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Records that a request of the client at `port` is authenticated and complete. */
  accept(port: number): void {
    this.#refused.delete(port);
    this.#accepted.add(port);
  }

  /** Records that a request of the client at `port` was refused. */
  refuse(port: number): void {
    this.#accepted.delete(port);
    this.#refused.add(port);
  }

  /** Number of open connections whose last request was refused. */
  get refused(): number {
    return this.#refused.size;
  }

  /**
   * Returns the limit that the open connections exceed; `undefined` if they exceed none.
   *
   * @param now Monotonic time in milliseconds.
   */
  findExcess(open: readonly OpenConnection[], now: number): Excess | undefined {
    const { maxConnections = MAX_CONNECTIONS, maxQuiet = MAX_QUIET_CONNECTIONS } = this.#limits;
    this.#forget(open);
    const pending = open.filter(({ port }) => !this.#accepted.has(port));
    this.#firstSeen = new Map(pending.map((connection) => {
      const key = `${connection.address} ${connection.port}`;
      return [key, this.#firstSeen.get(key) ?? now];
    }));
    const isStuck = this.#refused.size > maxQuiet;
    if (open.length > maxConnections) {
      return { reason: `${open.length} are open, the limit is ${maxConnections}`, isStuck };
    }
    const quiet = pending.filter(({ address, port }) =>
      this.#refused.has(port) || now - (this.#firstSeen.get(`${address} ${port}`) ?? now) > QUIET_MS
    );
    if (quiet.length > maxQuiet) {
      return { reason: `${quiet.length} sent no accepted request, the limit is ${maxQuiet}`, isStuck };
    }
    const reason = this.#findAddress(pending);
    return reason === undefined ? undefined : { reason, isStuck };
  }

  #findAddress(pending: readonly OpenConnection[]): string | undefined {
    const { maxPerAddress = MAX_ADDRESS_CONNECTIONS, trustedProxies = [] } = this.#limits;
    if (pending.length <= maxPerAddress) return undefined;
    for (const [written, { length }] of Map.groupBy(pending, (connection) => connection.address)) {
      const address = parseAddress(written);
      if (length <= maxPerAddress || isLoopbackAddress(address) || trustedProxies.includes(address)) continue;
      return `${address} has ${length} without an authenticated request, the limit is ${maxPerAddress}`;
    }
  }

  /** Forgets connections that are closed. */
  #forget(open: readonly OpenConnection[]): void {
    const ports = new Set(open.map(({ port }) => port));
    for (const known of [this.#accepted, this.#refused]) {
      for (const port of known) if (!ports.has(port)) known.delete(port);
    }
  }
}

/** True for an address of the server's own host. */
export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(address);
}

/** Files in which Linux lists the connections of this host, one per address family. */
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Row of a table: local port, remote address, remote port, state. */
const ROW = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]{2}) /gm;
const ESTABLISHED = "01";

/**
 * Returns the connections to a local port, or `undefined` on systems other than Linux, which do not list connections.
 */
export async function listConnections(port: number): Promise<OpenConnection[] | undefined> {
  const tables = await Promise.all(TABLES.map((path) => Deno.readTextFile(path).catch(() => undefined)));
  if (tables[0] === undefined) return undefined;
  const rows = tables.flatMap((table = "") => [...table.matchAll(ROW)]);
  const own = rows.filter(([, local = "", , , state]) =>
    state === ESTABLISHED && parseInt(local, 16) === port
  );
  return own.map(([, , address = "", remote = ""]) => ({ address, port: parseInt(remote, 16) }));
}

/** Returns an address of the kernel's table, whose 32-bit words are little-endian, in the usual notation. */
export function parseAddress(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Uint8Array.fromHex(word)].reverse());
  const last = bytes.slice(-4).join(".");
  if (bytes.length === 4 || bytes.slice(0, 12).join() === IPV4_IN_IPV6) return last;
  const groups = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("").match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

/** First 12 bytes of an IPv4 address that is written as an IPv6 address. */
const IPV4_IN_IPV6 = "0,0,0,0,0,0,0,0,0,0,255,255";
