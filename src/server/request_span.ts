import { SpanStatusCode } from "@opentelemetry/api";
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { AppEnv } from "./app_env.ts";
import { withSpan } from "./tracing.ts";

/** Opens a span for each request. Its name is the route, since the path contains ids. */
export function requestSpan(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { method } = c.req;
    await withSpan(method, async (span) => {
      await next();
      if (!span.isRecording()) return;
      const route = routePath(c, -1);
      span.updateName(`${method} ${route}`);
      span.setAttributes({ "http.route": route, "http.response.status_code": c.res.status });
      if (c.res.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    }, { "http.request.method": method });
  };
}
