import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  HttpServer,
  type HttpServerOptions,
  type RequestHandler,
} from "../../../src/server/http/http_server.ts";
import { served } from "../served.ts";

function serve(
  fetch: RequestHandler,
  options: Partial<HttpServerOptions> = {},
): HttpServer {
  return new HttpServer(fetch, {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => Promise.resolve(),
    ...options,
  });
}

Deno.test("HttpServer sends large responses completely", async () => {
  const text = "x".repeat(5_000_001);
  await using server = serve(() => new Response(text, { headers: { "x-a": "b" } }));
  const response = await fetch(`http://127.0.0.1:${server.port}`);
  assertEquals([response.headers.get("x-a"), response.headers.get("content-length")], ["b", "5000001"]);
  assertEquals((await response.text()).length, text.length);
});

Deno.test("HttpServer closes the connection of a client that does not read", async () => {
  const cut = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)),
    cancel: () => cut.resolve(),
  });
  await using server = serve(
    () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
    { readMs: 100 },
  );
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  await cut.promise;
});

Deno.test({
  name: "HttpServer cancels the stream of a client that disconnects without reading it",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const cut = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)),
      cancel: () => cut.resolve(),
    });
    await using server = serve(() =>
      new Response(body, { headers: { "content-type": "application/x-ndjson" } })
    );
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    await connection.read(new Uint8Array(1));
    await connection.closeWrite();
    await cut.promise;
  },
});

Deno.test("HttpServer waits for running requests before it stops, then aborts the rest", async () => {
  const asked = Promise.withResolvers<void>();
  const end = Promise.withResolvers<Response>();
  const server = serve(() => (asked.resolve(), end.promise), {
    graceMs: 50,
    onGraceOver: () => Promise.resolve(end.resolve(new Response("aborted"))),
  });
  const response = fetch(`http://127.0.0.1:${server.port}`);
  await asked.promise;
  await server[Symbol.asyncDispose]();
  assertEquals(await (await response).text(), "aborted");
});

Deno.test({
  name: "HttpServer detects a disconnected client after a large request in several pieces",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const asked = Promise.withResolvers<void>();
    const disconnected = Promise.withResolvers<Response>();
    await using server = serve(async (request, { disconnected: signal }) => {
      await request.bytes();
      signal.addEventListener("abort", () => disconnected.resolve(new Response("unread")));
      asked.resolve();
      return await disconnected.promise;
    });
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    const encoder = new TextEncoder();
    await connection.write(
      encoder.encode("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n"),
    );
    await connection.write(encoder.encode("x".repeat(5_000)));
    await asked.promise;
    connection.close();
    await disconnected.promise;
  },
});

Deno.test("HttpServer does not take waiting clients for disconnected ones", async () => {
  await using server = serve(async (_, { disconnected }) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    return new Response(String(disconnected.aborted));
  });
  const send = async () => await (await fetch(`http://127.0.0.1:${server.port}`)).text();
  assertEquals(await Promise.all([send(), send(), send()]), ["false", "false", "false"]);
});

Deno.test({
  name: "HttpServer closes idle and incomplete connections above its limit, but completes pending responses",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const asked = Promise.withResolvers<void>();
    const end = Promise.withResolvers<Response>();
    const errors: unknown[] = [];
    await using server = serve(
      ({ url }) => url.endsWith("slow") ? (asked.resolve(), end.promise) : new Response(),
      {
        maxConnections: 3,
        onError: (error) => errors.push(error),
      },
    );
    const url = `http://127.0.0.1:${server.port}`;
    const slow = fetch(`${url}/slow`);
    await asked.promise;
    const silent = await Promise.all(
      Array.from({ length: 4 }, () => Deno.connect({ hostname: "127.0.0.1", port: server.port })),
    );
    await silent[0]?.write(new TextEncoder().encode("GET / HTTP/1.1\r\nX-Half: "));
    for (const connection of silent) {
      while (await connection.read(new Uint8Array(1024)).catch(() => null) !== null);
      connection.close();
    }
    end.resolve(new Response("answered"));
    assertEquals(await (await slow).text(), "answered");
    let next: Response | undefined;
    while (!next) next = await fetch(url).catch(() => undefined); // the port is closed for a moment
    assertEquals([await next.text(), errors.length], ["", 1]);
  },
});

Deno.test({
  name: "HttpServer closes connections without a token whose bodies never arrive, but responds to each first",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const errors: unknown[] = [];
    await using paddock = served({ tokens: ["right-token"] });
    await using server = serve(async (request, connection) => await paddock.app.fetch(request, connection), {
      maxQuiet: 60,
      onError: (error) => errors.push(error),
    });
    const head = "POST /run_code HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n";
    const responses = await Promise.all(Array.from({ length: 80 }, async () => {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
      await connection.write(new TextEncoder().encode(head));
      return await new Response(connection.readable).text(); // ends when the server closes the connection
    }));
    for (const response of responses) assertStringIncludes(response, "401 Unauthorized");
    assertEquals(errors.length, 1);
  },
});

Deno.test("HttpServer responds with 503 and a retry time when its handler throws, and reports the error", async () => {
  const errors: unknown[] = [];
  const failure = new Error("Too many open files");
  await using server = serve(() => Promise.reject(failure), { onError: (error) => errors.push(error) });
  const response = await fetch(`http://127.0.0.1:${server.port}`);
  assertEquals([response.status, response.headers.get("retry-after")], [503, "1"]);
  assertEquals((await response.json()).error.type, "unavailable");
  assertEquals(errors, [failure]);
});

Deno.test("HttpServer refuses requests without the header Host", async () => {
  await using paddock = served();
  await using server = serve(async (request, connection) => await paddock.app.fetch(request, connection));
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await connection.write(new TextEncoder().encode("GET /v1/health HTTP/1.1\r\n\r\n"));
  const response = new Uint8Array(4096);
  const bytes = await connection.read(response) ?? 0;
  const text = new TextDecoder().decode(response.subarray(0, bytes));
  assertStringIncludes(text, "400 Bad Request");
  assertStringIncludes(text, "cross-origin-resource-policy: same-origin");
});
