import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  HttpServer,
  type HttpServerOptions,
  type RequestHandler,
} from "../../../src/server/http/http_server.ts";
import { delay } from "@std/async";
import { HANG_MS } from "../../deadline.ts";
import { Budgets } from "../../../src/server/admission/budget.ts";
import { served } from "../served.ts";

const encoder = new TextEncoder();
const HEAD = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

function openMany({ port }: HttpServer, count: number): Promise<Deno.TcpConn[]> {
  return Promise.all(Array.from({ length: count }, () => Deno.connect({ hostname: "127.0.0.1", port })));
}

/** Returns some bytes as text; the empty string when the server has closed the connection. */
async function readText(connection: Deno.TcpConn | undefined): Promise<string> {
  const bytes = new Uint8Array(65_536);
  const length = await connection?.read(bytes).catch(() => null) ?? 0;
  return new TextDecoder().decode(bytes.subarray(0, length));
}

/** Returns the text until the server closes the connection. */
async function readAll(connection: Deno.TcpConn | undefined): Promise<string> {
  let all = "";
  for (let text = await readText(connection); text !== ""; text = await readText(connection)) all += text;
  return all;
}

async function untilClosed(connection: Deno.TcpConn | undefined): Promise<void> {
  await readAll(connection);
}

async function handshake(connection: Deno.TcpConn | undefined): Promise<void> {
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";
  const key = `Sec-WebSocket-Key: ${btoa("0123456789abcdef")}`;
  await connection?.write(
    encoder.encode(`GET /ws HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n${key}\r\n\r\n`),
  );
  assertStringIncludes(await readText(connection), "101 Switching Protocols");
}

/** Writes a frame of a text message that has further ones. The mask is zero, which leaves the text as it is. */
async function writeFrame(
  connection: Deno.TcpConn | undefined,
  payload: Uint8Array,
  { isFirst }: { isFirst: boolean },
): Promise<void> {
  const frame = new Uint8Array(14 + payload.length);
  frame.set([isFirst ? 1 : 0, 255]);
  new DataView(frame.buffer).setUint32(6, payload.length);
  frame.set(payload, 14);
  await writeAll(connection, frame);
}

async function writeAll(connection: Deno.TcpConn | undefined, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection?.write(bytes.subarray(at)) ?? bytes.length;
}

function serve(
  fetch: RequestHandler,
  options: Partial<HttpServerOptions> = {},
): Promise<HttpServer> {
  return HttpServer.listen(fetch, {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => Promise.resolve(),
    ...options,
  });
}

Deno.test("HttpServer sends large responses completely", async () => {
  const text = "x".repeat(5_000_001);
  await using server = await serve(() => new Response(text, { headers: { "x-a": "b" } }));
  const response = await fetch(`http://127.0.0.1:${server.port}`);
  assertEquals([response.headers.get("x-a"), response.headers.get("content-length")], ["b", "5000001"]);
  assertEquals((await response.text()).length, text.length);
});

Deno.test(
  { name: "HttpServer closes the connection of a client that does not read", timeout: HANG_MS },
  async () => {
    const cut = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)),
      cancel: () => cut.resolve(),
    });
    await using server = await serve(
      () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
      { readMs: 100 },
    );
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    await cut.promise;
  },
);

Deno.test({
  name: "HttpServer lets a handler set the time that its client may take to read",
  timeout: HANG_MS,
}, async () => {
  const cut = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)),
    cancel: () => cut.resolve(),
  });
  await using server = await serve((_, { readWithin }) => {
    readWithin?.(100);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  await cut.promise;
});

Deno.test({
  name: "HttpServer cancels the stream of a client that disconnects without reading it",
  timeout: HANG_MS,
}, async () => {
  const cut = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)),
    cancel: () => cut.resolve(),
  });
  await using server = await serve(() =>
    new Response(body, { headers: { "content-type": "application/x-ndjson" } })
  );
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  await connection.read(new Uint8Array(1));
  await connection.closeWrite();
  await cut.promise;
});

Deno.test("HttpServer waits for running requests before it stops, then aborts the rest", async () => {
  const asked = Promise.withResolvers<void>();
  const end = Promise.withResolvers<Response>();
  const server = await serve(() => (asked.resolve(), end.promise), {
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
  timeout: HANG_MS,
}, async () => {
  const asked = Promise.withResolvers<void>();
  const disconnected = Promise.withResolvers<Response>();
  await using server = await serve(async (request, { disconnected: signal }) => {
    await request.bytes();
    signal.addEventListener("abort", () => disconnected.resolve(new Response("unread")));
    asked.resolve();
    return await disconnected.promise;
  });
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  await connection.write(
    encoder.encode("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n"),
  );
  await writeAll(connection, encoder.encode("x".repeat(3_000_000)));
  await asked.promise;
  connection.close();
  await disconnected.promise;
});

Deno.test("HttpServer does not take waiting clients for disconnected ones", async () => {
  await using server = await serve(async (_, { disconnected }) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    return new Response(String(disconnected.aborted));
  });
  const send = async () => await (await fetch(`http://127.0.0.1:${server.port}`)).text();
  assertEquals(await Promise.all([send(), send(), send()]), ["false", "false", "false"]);
});

Deno.test("HttpServer closes the oldest quiet connections above its limit, and no other one", async () => {
  const asked = Promise.withResolvers<void>();
  const end = Promise.withResolvers<Response>();
  const errors: unknown[] = [];
  await using server = await serve(
    ({ url }) => url.endsWith("slow") ? (asked.resolve(), end.promise) : new Response(),
    { maxConnections: 3, onError: (error) => errors.push(error) },
  );
  const url = `http://127.0.0.1:${server.port}`;
  const slow = fetch(`${url}/slow`);
  await asked.promise;
  const silent = await openMany(server, 4);
  await silent[2]?.write(encoder.encode("GET / HTTP/1.1\r\nX-Half: "));
  await untilClosed(silent[0]);
  await untilClosed(silent[1]);
  await silent[3]?.write(encoder.encode(HEAD)); // the newest are open
  assertStringIncludes(await readText(silent[3]), "200 OK");
  end.resolve(new Response("answered"));
  assertEquals([await (await slow).text(), errors.length], ["answered", 1]);
  for (const connection of silent) connection.close();
});

Deno.test("HttpServer closes a connection that is stuck, and no WebSocket of another client", async () => {
  await using paddock = served({ tokens: ["right-token"] });
  await using server = await serve((request, connection) => paddock.app.fetch(request, connection), {
    maxQuiet: 2,
    headMs: 2_000, // the handshake must not be late on a busy machine
  });
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`, {
    headers: { authorization: "Bearer right-token" },
  });
  await new Promise((resolve, reject) => [socket.onopen, socket.onerror] = [resolve, reject]);
  const [late, ...refused] = await openMany(server, 5);
  await late?.write(encoder.encode("GET / HTTP/1.1\r\nX-Half: "));
  for (const connection of refused) await connection.write(encoder.encode(HEAD));
  assertStringIncludes(await readAll(late), "408 Request Timeout");
  await untilClosed(refused[0]);
  const response = new Promise<MessageEvent>((resolve) => socket.onmessage = resolve);
  socket.send(JSON.stringify({ type: "state" }));
  assertEquals(JSON.parse((await response).data).type, "state");
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  await closed;
  for (const connection of [late, ...refused]) connection?.close();
});

Deno.test("HttpServer handles the requests of one connection one after the other, and few that wait", async () => {
  let running = 0;
  const most: number[] = [];
  await using server = await serve(async () => {
    most.push(++running);
    await Promise.resolve();
    running--;
    return new Response("x");
  });
  const [polite, flooding] = await openMany(server, 2);
  await polite?.write(
    encoder.encode(HEAD.repeat(3) + HEAD.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")),
  );
  assertEquals([(await readAll(polite)).match(/200 OK/g)?.length, most], [4, [1, 1, 1, 1]]);
  await flooding?.write(encoder.encode(HEAD.repeat(100)));
  await untilClosed(flooding);
  for (const connection of [polite, flooding]) connection?.close();
});

Deno.test("HttpServer closes WebSockets whose messages are too large, in one frame or in fragments", async () => {
  const budgets = new Budgets({ bytes: 64_000_000 });
  await using paddock = served({ budgets });
  await using server = await serve((request, connection) => paddock.app.fetch(request, connection));
  const [sliced, counted] = await openMany(server, 2);
  await handshake(sliced);
  await handshake(counted);
  const piece = new Uint8Array(1_000_000).fill(97);
  let sent = 0;
  const flood = async () => {
    for (; sent < 100; sent++) await writeFrame(sliced, piece, { isFirst: sent === 0 });
  };
  await flood().catch(() => {}); // the server closes the connection
  assertEquals(sent < 100, true);
  await writeFrame(counted, piece, { isFirst: true });
  while (budgets.waiting.used() < 900_000) await delay(1);
  counted?.close();
  while (budgets.waiting.used() > 0) await delay(1);
  sliced?.close();
});

Deno.test("HttpServer responds to each refused request whose body never arrives, and closes it", async () => {
  await using paddock = served({ tokens: ["right-token"] });
  await using server = await serve((request, connection) => paddock.app.fetch(request, connection));
  const connections = await openMany(server, 20);
  const head = "POST /run_code HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n";
  for (const connection of connections) await connection.write(encoder.encode(head));
  for (const connection of connections) {
    assertStringIncludes(await readAll(connection), "401 Unauthorized");
    connection.close();
  }
});

Deno.test("HttpServer responds with 503 and a retry time when its handler throws, and reports the error", async () => {
  const errors: unknown[] = [];
  const failure = new Error("Too many open files");
  await using server = await serve(() => Promise.reject(failure), { onError: (error) => errors.push(error) });
  const response = await fetch(`http://127.0.0.1:${server.port}`);
  assertEquals([response.status, response.headers.get("retry-after")], [503, "1"]);
  assertEquals((await response.json()).error.type, "unavailable");
  assertEquals(errors, [failure]);
});

Deno.test("HttpServer refuses requests without the header Host, with an empty one and with several", async () => {
  await using paddock = served();
  await using server = await serve(async (request, connection) =>
    await paddock.app.fetch(request, connection)
  );
  const respond = async (headers: string) => {
    const [connection] = await openMany(server, 1);
    using _connection = connection;
    await writeAll(
      connection,
      encoder.encode(`GET /v1/health HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`),
    );
    return await readAll(connection);
  };
  const missing = await respond("");
  assertStringIncludes(missing, "400 Bad Request");
  assertStringIncludes(missing, "cross-origin-resource-policy: same-origin");
  for (
    const headers of [
      "Host:\r\n",
      "Host:  \r\n",
      "Host: localhost\r\nHost: localhost\r\n",
      "Host: localhost\r\nX-Other: a\r\nhOsT: evil.example\r\n",
      "Host:\r\nHost: localhost\r\n",
    ]
  ) {
    assertStringIncludes(await respond(headers), "400 Bad Request", headers);
  }
  assertStringIncludes(await respond("Host: localhost\r\n"), "200 OK");
});

Deno.test("HttpServer refuses a request with many headers before its handler gets it", async () => {
  let handled = 0;
  await using server = await serve(() => {
    handled++;
    return new Response("ok");
  });
  const statusOf = async (count: number) => {
    const [connection] = await openMany(server, 1);
    using _connection = connection;
    const headers = Array.from({ length: count - 2 }, (_, at) => `a${at}: b\r\n`).join("");
    const head = `GET / HTTP/1.1\r\n${headers}Host: localhost\r\nConnection: close\r\n\r\n`;
    await writeAll(connection, encoder.encode(head));
    return (await readAll(connection)).split(" ")[1];
  };
  const statuses = [];
  for (const count of [256, 257, 1_001, 2_000]) statuses.push(await statusOf(count));
  assertEquals([statuses, handled], [["200", "431", "431", "431"], 1]);
});

Deno.test("HttpServer sends tables, JSON lines and long responses of known length as their client reads them", async () => {
  const pieces = 64;
  const types: Record<string, string>[] = [
    { "content-type": "text/csv; charset=utf-8" },
    { "content-type": "application/jsonl" },
    { "content-type": "text/plain", "content-length": `${pieces << 20}` },
  ];
  let read = 0;
  await using server = await serve(({ url }) => {
    read = 0;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        if (read++ < pieces) controller.enqueue(new Uint8Array(1 << 20));
        else controller.close();
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: types[Number(url.at(-1))] ?? {} });
  });
  for (const at of types.keys()) {
    const [connection] = await openMany(server, 1);
    using _connection = connection;
    await writeAll(connection, encoder.encode(`GET /${at} HTTP/1.1\r\nHost: localhost\r\n\r\n`));
    assertStringIncludes(await readText(connection), "200 OK");
    assertEquals(read < pieces, true, `${JSON.stringify(types[at])}: ${read} of ${pieces} pieces`);
  }
});
