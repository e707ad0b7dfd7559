import type { Context } from "hono";

/** What every route of the server finds in its context. */
export interface AppEnv {
  Bindings: {
    /** Aborted when whatever listens for requests finds that whoever asked has gone. */
    gone?: AbortSignal;
  };
  Variables: {
    /** Who asks, as the token tells; the same for everybody where no token is needed. */
    owner: string;
    /** Aborted when whoever asked has gone, or the answer is not to wait for them. */
    signal: AbortSignal;
  };
}

/** The context of a request to the server. */
export type AppContext = Context<AppEnv>;
