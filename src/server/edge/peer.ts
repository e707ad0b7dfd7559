import { ServerError } from "../server_error.ts";

/** Who sent a request, as `Deno.serve` tells. */
export interface Peer {
  readonly remoteAddr: Deno.Addr;
}

const NEAR = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;

/** The refusal of whoever is not on the server's own host, or is not known to be; none for who is. */
export function requireNear(peer: Peer | undefined): ServerError | undefined {
  const address = peer?.remoteAddr;
  if (address !== undefined && "hostname" in address && NEAR.test(address.hostname)) return undefined;
  return new ServerError(
    "forbidden",
    "A server without a token answers its own host alone: set one by edgeApp({ token })",
  );
}
