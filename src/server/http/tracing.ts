import { type Attributes, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { PADDOCK_VERSION } from "../../version.ts";
import type { CodeCall, ToolResult } from "../../tools/tool_result.ts";
import type { AppEnv } from "./context.ts";

/** Uses the exporter of the program, such as Deno's with `OTEL_DENO=true`; does nothing without an exporter. */
const tracer = trace.getTracer("paddock", PADDOCK_VERSION);

/**
 * Runs `work` in a child of the current span. Attributes must not contain code, output, ids or tokens, since
 * operators can read spans.
 */
export function withSpan<T>(
  name: string,
  work: (span: Span) => Promise<T>,
  attributes: Attributes = {},
): Promise<T> {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "" });
      throw error;
    } finally {
      span.end();
    }
  });
}

/**
 * Adds spans of the tools that a step has just run, and of the calls of their code, below a span. The times are those
 * of the records, as if the last tool had ended now.
 */
export function addToolSpans(span: Span, results: readonly ToolResult[]): void {
  if (!span.isRecording()) return;
  let endMs = Date.now();
  for (const { tool, status, durationMs, calls = [] } of results.toReversed()) {
    const startMs = endMs - durationMs;
    addSpan("paddock.tool", { tool, status, startMs, durationMs });
    for (const call of calls) {
      addSpan("paddock.tool.code", { ...call, startMs: startMs + (call.startMs ?? 0) });
    }
    endMs = startMs;
  }
}

function addSpan(
  name: string,
  { tool, status, startMs, durationMs }: Pick<CodeCall, "tool" | "status" | "durationMs"> & {
    startMs: number;
  },
): void {
  const attributes = { "paddock.tool": tool, "paddock.status": status };
  tracer.startSpan(name, { startTime: startMs, attributes }).end(startMs + durationMs);
}

/** Opens a span for each request. The span's name is the route, since the path contains ids. */
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
