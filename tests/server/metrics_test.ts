import { assertEquals, assertStringIncludes } from "@std/assert";
import { served } from "./served.ts";

Deno.test("/metrics counts requests by method, route and status, and never by path", async () => {
  await using server = served();
  const { body: { id } } = await server.send("POST", "/v1/sessions", {});
  await server.send("GET", `/v1/sessions/${id}`);
  for (let at = 0; at < 50; at++) {
    await server.send("GET", `/v1/sessions/nobody-${at}`);
    await server.send("GET", `/nowhere/${at}`);
    await server.send(`M${at}`, "/v1/health");
  }
  const { body } = await server.send("GET", "/metrics");
  const requests = body.split("\n").filter((line: string) => line.startsWith("paddock_requests_total"));
  assertEquals(requests, [
    'paddock_requests_total{method="POST",route="/v1/sessions",status="201"} 1',
    'paddock_requests_total{method="GET",route="/v1/sessions/{id}",status="200"} 1',
    'paddock_requests_total{method="GET",route="/v1/sessions/{id}",status="404"} 50',
    'paddock_requests_total{method="GET",route="other",status="404"} 50',
    'paddock_requests_total{method="other",route="other",status="405"} 50',
  ]);
});

Deno.test("/metrics has a histogram of the time that requests wait for a session", async () => {
  await using server = served({ maxSessions: 1 });
  await server.send("POST", "/v1/sessions", {});
  const late = await server.sessions.borrow({ owner: "", waitMs: 30, signal: new AbortController().signal })
    .catch((error) => error.code);
  assertEquals(late, "timeout");
  const { body } = await server.send("GET", "/metrics");
  assertStringIncludes(body, "# TYPE paddock_queue_seconds histogram\n");
  assertStringIncludes(body, 'paddock_queue_seconds_bucket{le="0.02"} 1\n');
  assertStringIncludes(body, 'paddock_queue_seconds_bucket{le="+Inf"} 2\n');
  assertStringIncludes(body, "paddock_queue_seconds_count 2\n");
});
