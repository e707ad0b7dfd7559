import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./app_env.ts";

/** Gives a route the signal that is aborted when whoever asked goes away before the answer. */
export function noticeDisconnect(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const gone = new AbortController();
    const signals = [c.req.raw.signal, ...c.env?.gone ? [c.env.gone] : []];
    const onAbort = () => gone.abort(new DOMException("Whoever asked has gone", "AbortError"));
    for (const signal of signals) signal.addEventListener("abort", onAbort);
    c.set("signal", gone.signal);
    try {
      await next();
    } finally {
      // The request's own is aborted after each answer, too.
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
    }
  };
}
