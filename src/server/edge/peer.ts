import { ServerError } from "../server_error.ts";

/** Sender of a request, as `Deno.serve` reports it. */
export interface Peer {
  readonly remoteAddr: Deno.Addr;
}

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;

/** Returns an error unless the sender is known to be on the server's own host. */
export function requireLoopback(peer: Peer | undefined): ServerError | undefined {
  const address = peer?.remoteAddr;
  if (address !== undefined && "hostname" in address && LOOPBACK.test(address.hostname)) return undefined;
  return new ServerError(
    "forbidden",
    "A server without a token serves its own host only: set a token with edgeApp({ token })",
  );
}
