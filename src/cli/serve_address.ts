import { UsageError } from "./usage_error.ts";

/** Where a server listens and who may ask. */
export interface ServeAddress {
  readonly hostname: string;
  /** The host as it stands in a URL. */
  readonly name: string;
  readonly tokens: readonly string[];
  /** The names that requests may call it by; any when there are none. */
  readonly hosts?: readonly string[];
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

const MAX_PORT = 65_535;

/**
 * Reads where to listen. On the loopback the server answers to loopback names alone, as a page of a stranger's
 * could else reach it by a name of its own; elsewhere the token decides.
 *
 * @throws {UsageError} when it is to be reached from outside without a token, a token is empty, or there is no such port.
 */
export function resolveServeAddress(
  flags: { host: string; port: number; token?: readonly string[] },
  environment: string | undefined,
): ServeAddress {
  if (flags.port > MAX_PORT) {
    throw new UsageError(
      `Cannot serve as 'port' must be at most ${MAX_PORT}: current value is ${flags.port}`,
    );
  }
  const hostname = flags.host.replace(/^\[(.*)\]$/, "$1");
  const tokens = [...flags.token ?? [], ...environment ? environment.split(",") : []];
  if (tokens.some((token) => token.trim() === "")) throw new UsageError("Cannot serve as a token is empty");
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  if (isLoopback(hostname)) return { hostname, name, tokens, hosts: [...LOOPBACK_NAMES, name] };
  if (tokens.length > 0) return { hostname, name, tokens };
  throw new UsageError(
    `Cannot serve at '${flags.host}' as an address that is no loopback needs a token: give --token or set PADDOCK_TOKEN`,
  );
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
