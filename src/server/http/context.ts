import type { Context } from "hono";
import type { Account } from "../budget.ts";

/** Connection on which a request arrived. */
export interface RequestConnection {
  /** Aborted when the client disconnects before the response. */
  readonly disconnected: AbortSignal;
  /** Address of the client. */
  readonly address: string;
  /** Records that the request is authenticated and complete. Connections without such a request are limited. */
  accept(): void;
}

/** Context values of every route. */
export interface AppEnv {
  /** Connection of the request; empty without a socket. */
  Bindings: Partial<RequestConnection>;
  Variables: {
    /** Owner of the request, from its token; the empty string if no token is required. */
    owner: string;
    /** True if the request has the operator's token, which opens `/metrics` only. */
    isOperator: boolean;
    /** Memory of the owner for data that waits. */
    memory: Account;
    /** True if the request has a valid token or needs none on any route. */
    isAuthenticated: boolean;
    /** Aborted when the client disconnects or the request is cancelled. */
    signal: AbortSignal;
  };
}

/** The context of a request to the server. */
export type AppContext = Context<AppEnv>;
