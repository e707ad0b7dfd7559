import { type Attributes, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { PADDOCK_VERSION } from "../version.ts";

/** It finds the program's exporter when one is set up, such as Deno's own by `OTEL_DENO=true`; else it does nothing. */
const tracer = trace.getTracer("paddock", PADDOCK_VERSION);

/**
 * Runs work in a span of its own, below the one that is open. No code, output, id or token belongs into its
 * attributes: spans go to whoever watches the server.
 */
export function traced<T>(
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
