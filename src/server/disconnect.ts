import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./app_env.ts";

/** Gives a route the signal that is aborted when whoever asked goes away before the answer. */
export function noticeDisconnect(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const gone = new AbortController();
    const { signal } = c.req.raw;
    const onAbort = () => gone.abort(new DOMException("Whoever asked has gone", "AbortError"));
    signal.addEventListener("abort", onAbort);
    c.set("signal", gone.signal);
    try {
      await next();
    } finally {
      signal.removeEventListener("abort", onAbort); // it is aborted after each answer, too
    }
  };
}
