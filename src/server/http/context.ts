import type { Context } from "hono";
import type { Account } from "../budget.ts";

/** Context values of every route. */
export interface AppEnv {
  Bindings: {
    /** Aborted when the listener detects that the client has disconnected. */
    disconnected?: AbortSignal;
  };
  Variables: {
    /** Owner of the request, from its token; the empty string if no token is required. */
    owner: string;
    /** True if the request has the operator's token, which opens `/metrics` only. */
    isOperator: boolean;
    /** Memory of the owner for data that waits. */
    memory: Account;
    /** Aborted when the client disconnects or the request is cancelled. */
    signal: AbortSignal;
  };
}

/** The context of a request to the server. */
export type AppContext = Context<AppEnv>;
