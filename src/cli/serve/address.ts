import { UsageError } from "../cli_errors.ts";

/** Listening address and access rules of a server. */
export interface ServeAddress {
  readonly hostname: string;
  /** Host as written in a URL. */
  readonly name: string;
  readonly tokens: readonly string[];
  /** Accepted values of the `Host` header. @default any */
  readonly hosts?: readonly string[];
}

/** Names of this machine for itself, as in the header `Host`. */
export const LOOPBACK_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

const MAX_PORT = 65_535;

/** Characters of a token that make guessing impossible. */
const MIN_TOKEN_CHARACTERS = 16;

/**
 * Returns the address to listen on. On loopback, the server accepts only loopback host names: otherwise any web page could
 * reach the server through the page's own domain name (DNS rebinding). On other addresses a token is required that cannot
 * be guessed.
 *
 * @throws {UsageError} if a non-loopback address has no token, a token is short or cannot be sent, or the port is too
 * large.
 */
export function resolveServeAddress(
  flags: { host: string; port: number; token?: readonly string[]; metricsToken?: string },
  environment: string | undefined,
): ServeAddress {
  if (flags.port > MAX_PORT) {
    throw new UsageError(
      `Cannot serve as 'port' must be at most ${MAX_PORT}: current value is ${flags.port}`,
    );
  }
  const hostname = flags.host.replace(/^\[(.*)\]$/, "$1");
  const tokens = [...flags.token ?? [], ...environment ? environment.split(",") : []];
  for (const token of tokens.toSorted((one, other) => one.trim().length - other.trim().length)) {
    requireToken(token);
  }
  if (flags.metricsToken !== undefined) requireToken(flags.metricsToken);
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  if (isLoopback(hostname)) return { hostname, name, tokens, hosts: [...LOOPBACK_NAMES, name] };
  if (tokens.length > 0) return { hostname, name, tokens };
  throw new UsageError(
    `Cannot serve at '${flags.host}' as a non-loopback address needs a token: give --token or set PADDOCK_TOKEN. ${MAKE_TOKEN}`,
  );
}

/**
 * Checks that a token can be sent in a header and cannot be guessed. Messages do not repeat the token.
 *
 * @throws {UsageError} otherwise.
 */
function requireToken(token: string): void {
  const fault = token.trim() === ""
    ? "one is empty"
    : token.length < MIN_TOKEN_CHARACTERS
    ? `one has ${token.length}`
    : !/^[\x21-\x7e]+$/.test(token)
    ? "one has a space, or a character that is not ASCII"
    : undefined;
  if (fault === undefined) return;
  throw new UsageError(
    `Cannot serve as a token must have at least ${MIN_TOKEN_CHARACTERS} visible ASCII characters: ${fault}. ${MAKE_TOKEN}`,
  );
}

const MAKE_TOKEN = "`openssl rand -hex 32` prints a new one";

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
