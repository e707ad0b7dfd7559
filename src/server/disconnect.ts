import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./app_env.ts";

/** Sets the signal of a route, which aborts when the client disconnects before the response. */
export function watchDisconnect(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const disconnect = new AbortController();
    const signals = [c.req.raw.signal];
    if (c.env?.disconnected) signals.push(c.env.disconnected);
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
