import { assertEquals } from "@std/assert";
import { type Attributes, type Span, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { addToolSpans, withSpan } from "../../../src/server/http/tracing.ts";
import { bad, type FakePython, ok } from "../../fake_pool.ts";
import { served } from "../served.ts";

interface RecordedSpan {
  name: string;
  attributes: Attributes;
  ended: boolean;
  failed: boolean;
}

/** Records spans in memory, in the order in which they start. */
class Memory implements Disposable {
  readonly spans: RecordedSpan[] = [];

  constructor() {
    trace.setGlobalTracerProvider({ getTracer: () => this.#tracer() });
  }

  [Symbol.dispose](): void {
    trace.disable();
  }

  #tracer(): Tracer {
    const startSpan: Tracer["startSpan"] = (name, options) => this.#span(name, options?.attributes);
    const startActiveSpan = (name: string, ...rest: unknown[]) => {
      const [options] = rest as [{ attributes?: Attributes }];
      const work = rest.at(-1) as (span: Span) => unknown;
      return work(this.#span(name, options.attributes));
    };
    return { startSpan, startActiveSpan: startActiveSpan as Tracer["startActiveSpan"] };
  }

  #span(name: string, attributes: Attributes = {}): Span {
    const recorded: RecordedSpan = { name, attributes: { ...attributes }, ended: false, failed: false };
    this.spans.push(recorded);
    const span = {
      isRecording: () => true,
      updateName: (name: string) => (recorded.name = name, span),
      setAttribute: (key: string, value: string) => (recorded.attributes[key] = value, span),
      setAttributes: (more: Attributes) => (Object.assign(recorded.attributes, more), span),
      setStatus: (
        { code }: { code: SpanStatusCode },
      ) => (recorded.failed = code === SpanStatusCode.ERROR, span),
      end: () => void (recorded.ended = true),
    };
    return span as unknown as Span;
  }
}

const python: FakePython = (code) => {
  if (code === "break") throw new Error("secret");
  return code === "raise" ? bad("error") : ok("secret");
};

Deno.test("requests, session acquisition, programs and tools have spans without code, output or ids", async () => {
  using memory = new Memory();
  await using server = served({ python });
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  await server.send("POST", `/v1/sessions/${id}/exec`, { code: "raise" });
  await server.send("POST", `/v1/sessions/${id}/exec`, { code: "break" });
  await server.send("GET", "/nope");
  const posted = { "http.request.method": "POST" };
  const route = "/v1/sessions/:id/exec";
  const spans = memory.spans.map(({ name, attributes, failed }) => [name, attributes, failed]);
  assertEquals(spans, [
    [
      "POST /v1/sessions",
      { ...posted, "http.route": "/v1/sessions", "http.response.status_code": 201 },
      false,
    ],
    ["paddock.acquire", {}, false],
    [`POST ${route}`, { ...posted, "http.route": route, "http.response.status_code": 200 }, false],
    ["paddock.exec", { "paddock.status": "error" }, false],
    [`POST ${route}`, { ...posted, "http.route": route, "http.response.status_code": 500 }, true],
    ["paddock.exec", {}, true],
    ["GET /*", {
      "http.request.method": "GET",
      "http.route": "/*",
      "http.response.status_code": 404,
    }, false],
  ]);
  assertEquals(memory.spans.every(({ ended }) => ended), true);
  assertEquals(JSON.stringify(memory.spans).includes("secret"), false);

  // A tracer stays with the first provider of its process, so that this is part of the same test.
  memory.spans.length = 0;
  const call = { caller: "code", callId: "c", durationMs: 2, truncated: false, result: "secret" } as const;
  const calls = [
    { ...call, call: 1, tool: "search", status: "ok" as const, startMs: 1 },
    { ...call, call: 2, tool: "book", status: "error" as const },
  ];
  const block = { call: 1, callId: "b", tool: "python", status: "ok", text: "", durationMs: 9 } as const;
  await withSpan("paddock.step", (span) => {
    addToolSpans(span, [{ ...block, truncated: false, calls }]);
    return Promise.resolve();
  });
  assertEquals(memory.spans.map(({ name, attributes, ended }) => [name, attributes, ended]), [
    ["paddock.step", {}, true],
    ["paddock.tool", { "paddock.tool": "python", "paddock.status": "ok" }, true],
    ["paddock.tool.code", { "paddock.tool": "search", "paddock.status": "ok" }, true],
    ["paddock.tool.code", { "paddock.tool": "book", "paddock.status": "error" }, true],
  ]);
});
