import { type Attributes, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { PADDOCK_VERSION } from "../version.ts";

/** Uses the exporter of the program, such as Deno's with `OTEL_DENO=true`; without one it does nothing. */
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
