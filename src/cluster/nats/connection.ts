import { errorMessage, SandboxError } from "../../errors.ts";
import { loadTransport, type NatsConnection, type NatsConnectionOptions } from "./client.ts";

/** Address of a NATS system, and NATS' own credentials. */
export interface NatsOptions {
  /**
   * URLs of the NATS servers, such as `nats://127.0.0.1:4222` or `tls://nats.example.org`. A URL may have a user or a
   * token.
   */
  servers: string | readonly string[];
  /** Contents of a credentials file, with a JWT and the seed of its NKey. */
  credentials?: Uint8Array | undefined;
  /** Seed of an NKey. */
  nkeySeed?: Uint8Array | undefined;
  /** Token of the connection, if the servers require a token. */
  token?: string | undefined;
  /** Certificates in PEM: of the authorities that are trusted, and the client's own. */
  tls?: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined } | undefined;
}

/** Names of the options of a connection. */
export const NATS_OPTIONS: Readonly<Record<keyof NatsOptions, true>> = {
  servers: true,
  credentials: true,
  nkeySeed: true,
  token: true,
  tls: true,
};

/** Default milliseconds until the first connection must stand. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Milliseconds between two attempts to connect again. The attempts never end. */
const RECONNECT_MS = 250;
/** Milliseconds between two pings of NATS; after two without an answer the connection is taken as lost. */
const PING_MS = 5_000;

/**
 * Connects to NATS. This function loads the client of NATS, so that programs without a cluster need no client. The
 * client connects again by itself, however often the connection breaks.
 *
 * @throws {SandboxError} if no server can be reached, or a server refuses the credentials.
 */
export async function connectNats(options: NatsOptions, name: string): Promise<NatsConnection> {
  const { servers, credentials, nkeySeed, token, tls } = options;
  const nats = await loadTransport();
  addEventListener("error", ignoreLateSocketError); // once, however many connections there are
  const urls = (typeof servers === "string" ? servers.split(",") : [...servers]).map((url) => url.trim());
  const settings: NatsConnectionOptions = {
    servers: urls.map(withoutUser),
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    timeout: CONNECT_TIMEOUT_MS,
    ...userOf(urls[0] ?? ""),
    ...(credentials && { authenticator: nats.credsAuthenticator(credentials) }),
    ...(nkeySeed && { authenticator: nats.nkeyAuthenticator(nkeySeed) }),
    ...(token !== undefined && { token }),
    ...(tls && { tls: withoutUndefined(tls) }),
  };
  try {
    return await nats.connect(settings);
  } catch (cause) {
    const shown = urls.map(withoutUser).join(", ");
    throw new SandboxError(
      `Cannot join cluster as NATS must accept a connection at ${shown}: ${errorMessage(cause)}`,
      { cause },
    );
  }
}

/** Errors of a socket whose other end is gone. */
const SOCKET_ERRORS: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "ETIMEDOUT"]);

/**
 * Keeps the process alive after an error of a socket that nothing listens to. The client of NATS removes the listeners
 * of a socket before the end of the socket, so that a reset by a server that refuses or is killed would end the
 * process.
 */
export function ignoreLateSocketError(event: ErrorEvent): void {
  const { code, syscall } = (event.error ?? {}) as { code?: unknown; syscall?: unknown };
  if (SOCKET_ERRORS.has(code) && (syscall === "read" || syscall === "write")) event.preventDefault();
}

/** Returns a URL without user and password, which NATS' client does not read. */
function withoutUser(text: string): string {
  return text.replace(/^([a-z]+:\/\/)[^/@]*@/, "$1");
}

/** Returns the credentials of a URL: a user and a password, or a token alone. */
function userOf(text: string): { user?: string; pass?: string; token?: string } {
  const url = URL.parse(text.includes("://") ? text : `nats://${text}`);
  if (!url?.username) return {};
  const user = decodeURIComponent(url.username);
  return url.password === "" ? { token: user } : { user, pass: decodeURIComponent(url.password) };
}

function withoutUndefined<T extends object>(value: T): { [Key in keyof T]: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as {
    [Key in keyof T]: NonNullable<T[Key]>;
  };
}
