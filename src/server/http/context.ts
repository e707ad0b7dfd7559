import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { Account } from "../admission/budget.ts";

/** Connection on which a request arrived. */
export interface RequestConnection {
  /** Aborted when the client disconnects before the whole response has arrived. */
  readonly disconnected: AbortSignal;
  /** Address of the client. */
  readonly address: string;
  /** Records that the request is authenticated and complete. Connections without such a request are limited. */
  accept(): void;
  /**
   * Calls back once when the response is sent or the client has disconnected, with the sent bytes of the response,
   * including the head.
   */
  readonly whenSent?: ((callback: (bytes: number) => void) => void) | undefined;
  /** Sets the milliseconds that the client may take to read a part of the response. */
  readonly readWithin?: ((ms: number) => void) | undefined;
  /** Closes the connection of a client that does not read the response. */
  readonly disconnect?: (() => void) | undefined;
  /** Reads the body of the request. Without this function, the body is read from the request itself. */
  readonly readBody?: BodyReader | undefined;
  /**
   * Completes the handshake of a WebSocket. The bytes of unfinished messages count as waiting data of the owner.
   *
   * @throws {ServerError} `malformed` if the request is not such a handshake.
   */
  readonly upgrade?: ((memory: Account) => WebSocket) | undefined;
}

/**
 * Calls back with the pieces of a body until it ends or the signal aborts. A callback that throws ends the reading.
 * Rejects if the client disconnects first.
 */
export type BodyReader = (
  onPiece: (piece: Uint8Array<ArrayBuffer>) => void,
  signal: AbortSignal,
) => Promise<void>;

/**
 * Access of a request without a token of the server to a part of what an owner has. A peer's grant says to which part.
 */
export interface RequestGrant {
  /** Owner of the part; the empty string if the part has ended. */
  readonly owner: string;
  /** False if the part has ended: the request then counts as a request without a token. */
  readonly isLive: boolean;
}

/** Context values of every route. */
export interface AppEnv {
  /** Connection of the request; empty without a socket. */
  Bindings: Partial<RequestConnection>;
  Variables: {
    /** Owner of the request, from the token; the empty string if no token is required. */
    owner: string;
    /** True if the request has the operator's token, which opens `/metrics` only. */
    isOperator: boolean;
    /** Access to a part; `undefined` for a request that may use all that the owner has. */
    grant: RequestGrant | undefined;
    /** Memory of the owner for data that waits. */
    memory: Account;
    /** True if the bytes of the response count elsewhere, so that the response is sent as the client reads. */
    isCounted?: boolean;
    /** True if the request has a valid token or needs none on any route. */
    isAuthenticated: boolean;
    /** Aborted when the client disconnects or the request is cancelled. */
    signal: AbortSignal;
  };
}

/** The context of a request to the server. */
export type AppContext = Context<AppEnv>;

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Returns the method of a request; `other` for a method that HTTP does not define, since clients may send any text.
 */
export function methodOf({ req: { method } }: AppContext): string {
  return METHODS.has(method) ? method : "other";
}

/** Returns the template of a request's route, such as `/v1/sessions/{id}`; `other` without a route. */
export function routeOf(c: AppContext): string {
  const route = matchedRoutes(c).find(({ path }) => !path.includes("*"));
  return route?.path.replace(/\/:(\w+)(\{[^}]*\})?/g, "/{$1}") ?? "other";
}

/** Sets the signal of a route, which aborts when the client disconnects before the response. */
export function watchDisconnect(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const disconnect = new AbortController();
    const signals = new Set([c.req.raw.signal, c.env?.disconnected ?? c.req.raw.signal]);
    const onAbort = () => disconnect.abort(new DOMException("The client has disconnected", "AbortError"));
    for (const signal of signals) signal.addEventListener("abort", onAbort);
    c.set("signal", disconnect.signal);
    try {
      await next();
    } finally {
      // The request's own signal also aborts after each response.
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
    }
  };
}
