/** What the connections of a session may do, as the host sends it to the broker. */
export interface EgressPolicy {
  /** Rules as in {@linkcode parseNetworkRule}. */
  readonly allow: readonly string[];
  /**
   * Methods of requests.
   *
   * @default all
   */
  readonly methods?: readonly string[] | undefined;
  /** Number of connections that are open at the same time. */
  readonly maxConnections: number;
  /** Milliseconds in which a connection must be established, and a handshake of TLS must end. */
  readonly timeoutMs: number;
}

/** Settings of a test, whose servers run on this machine. No file and no option of a program has them. */
export interface NetworkTrial {
  /** Addresses of names, in place of those that resolvers return. Names that are not listed here do not resolve. */
  readonly names?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Addresses that count as addresses of the public internet. */
  readonly addresses?: readonly string[] | undefined;
  /** Certificates of authorities in PEM format, which are trusted beside those of Deno. */
  readonly certificates?: readonly string[] | undefined;
}

/** The error of a connection that is refused or has failed. `code` is the name of an error of Linux. */
export class EgressError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
