import type { TlsResult } from "../packets.ts";
import type { Exchange, ExchangeMatch } from "./exchange.ts";

/** A secret with its value, as the host sends it to the broker. */
export interface EgressSecret {
  /** Text that programs have in place of the value. */
  readonly placeholder: string;
  readonly value: string;
  /** Names of hosts that get the value. */
  readonly hosts: readonly string[];
  /** Places of requests where the value is filled in: `header:NAME`, `query`. */
  readonly in: readonly string[];
}

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
  /**
   * `record`: exchanges are sent to the host. `replay`: responses come from the fixtures of the host.
   *
   * @default exchanges are not looked at
   */
  readonly fixtures?: "record" | "replay" | undefined;
  /** Parts of requests that count in fixtures. */
  readonly match?: ExchangeMatch | undefined;
}

/** Settings of a test, whose servers run on this machine. No file and no option of a program has them. */
export interface NetworkTrial {
  /** Addresses of names, in place of those that resolvers return. Names that are not listed here do not resolve. */
  readonly names?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Addresses that count as addresses of the public internet. */
  readonly addresses?: readonly string[] | undefined;
  /** Certificates of authorities in PEM format, which are trusted beside Deno's. */
  readonly certificates?: readonly string[] | undefined;
}

/** First message of the host to the broker. */
export interface BrokerBoot {
  readonly trial?: NetworkTrial | undefined;
  /** Fixtures of a replay. */
  readonly exchanges: readonly Exchange[];
  /** Secrets with their values. No packet and no error has a value. */
  readonly secrets: readonly EgressSecret[];
}

/** Returns why a handshake with a name cannot begin; `undefined` if it can. */
export function handshakeRefusal(
  hostname: unknown,
  { host, isUsed }: { host: string; isUsed: boolean },
): TlsResult | undefined {
  if (isUsed) return { error: "TLS must begin before any other data (STARTTLS is not supported)" };
  if ((hostname ?? host) === host) return undefined;
  const error =
    `the certificate is checked for '${host}', the host of the connection, and not for '${hostname}'`;
  return { error, isCertificate: true };
}

/** The error of a connection that is refused or has failed. `code` is the name of an error of Linux. */
export class EgressError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
