import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { PolicyError, type PolicyFault } from "../../src/errors.ts";
import { ModelServer, type ModelServerOptions } from "../../src/policy/model_server.ts";
import { FakeServer } from "./fake_server.ts";

const FAST: ModelServerOptions = { backoffMs: 1 };

function modelServer(url: string, options: ModelServerOptions = {}): ModelServer {
  return new ModelServer(new URL(url), { ...FAST, ...options });
}

/** Returns the fault and the message of a failed request. */
async function failure(
  server: ModelServer,
  signal?: AbortSignal,
): Promise<{ fault?: PolicyFault; message: string }> {
  const error = await assertRejects(() => server.post({}, { signal }), PolicyError);
  return { ...(error.fault && { fault: error.fault }), message: error.message };
}

/** Returns a URL on which no server listens. */
function deadUrl(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `http://127.0.0.1:${listener.addr.port}/generate`;
}

Deno.test("ModelServer.post() sends JSON with key and headers and returns the response", async () => {
  await using fake = new FakeServer(() => Response.json({ answer: 1 }));
  const server = modelServer(`${fake.url}/x`, { apiKey: "key-1", headers: { "x-run": "7" } });
  assertEquals(await server.post({ a: "ä" }), { answer: 1 });
  const [{ path, body, headers } = { path: "", body: null, headers: new Headers() }] = fake.seen;
  assertEquals({ path, body }, { path: "/x", body: { a: "ä" } });
  assertEquals(["authorization", "x-run", "content-type"].map((name) => headers.get(name)), [
    "Bearer key-1",
    "7",
    "application/json",
  ]);
});

Deno.test("ModelServer.post() retries only on 408, 425, 429 and 5xx", async () => {
  for (const status of [408, 425, 429, 500, 503]) {
    await using fake = new FakeServer((_, count) =>
      count < 3 ? new Response("busy", { status }) : Response.json(count)
    );
    assertEquals(await modelServer(fake.url).post({}), 3);
  }
  for (const status of [400, 401, 404, 422]) {
    await using fake = new FakeServer(() => new Response("no", { status }));
    assertEquals((await failure(modelServer(fake.url))).fault, "refused");
    assertEquals(fake.seen.length, 1);
  }
});

Deno.test("ModelServer.post() rejects after its retries with the number of attempts", async () => {
  await using fake = new FakeServer(() => Response.json({ error: { message: "no room" } }, { status: 503 }));
  const { fault, message } = await failure(modelServer(fake.url, { retries: 2 }));
  assertEquals(fault, "unavailable");
  assertEquals(
    message,
    `Cannot get reply as ${fake.url}/ answered 503 Service Unavailable: no room (3 attempts)`,
  );
});

Deno.test("ModelServer.post() waits as long as Retry-After says, unless that is too long", async () => {
  let isTimerOver = false;
  await using fake = new FakeServer((_, count) => {
    if (count === 1) setTimeout(() => isTimerOver = true, 150);
    else assert(isTimerOver, "the second attempt must wait for 200 ms");
    const headers = { "retry-after": count === 1 ? "0.2" : "3600" };
    return new Response("later", { status: 429, headers });
  });
  assertEquals((await failure(modelServer(fake.url))).fault, "unavailable");
  assertEquals([isTimerOver, fake.seen.length], [true, 2]);
});

Deno.test("ModelServer.post() reports the server's error message without the API key", async () => {
  await using fake = new FakeServer(() =>
    Response.json({ error: { message: "Incorrect API key: key-1" } }, { status: 401 })
  );
  const { message } = await failure(modelServer(fake.url, { apiKey: "key-1" }));
  assertStringIncludes(message, "answered 401 Unauthorized: Incorrect API key: [key]");
});

Deno.test("ModelServer.post() distinguishes an unreachable server from a slow one (differs from slime)", async () => {
  const down = await failure(modelServer(deadUrl(), { retries: 1 }));
  assertEquals(down.fault, "unreachable");
  assertStringIncludes(down.message, "cannot be reached: tcp connect error: ");
  assertStringIncludes(down.message, "(2 attempts)");
  const stuck = Promise.withResolvers<Response>();
  await using fake = new FakeServer(() => stuck.promise);
  const slow = await failure(modelServer(fake.url, { timeoutMs: 50 }));
  assertEquals(slow.fault, "timeout");
  assertStringIncludes(slow.message, "did not answer within 50 ms");
  assertEquals(fake.seen.length, 1);
  stuck.resolve(new Response());
});

Deno.test("ModelServer.post() accepts an infinite timeout", async () => {
  await using fake = new FakeServer(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return Response.json(1);
  });
  assertEquals(await modelServer(fake.url, { timeoutMs: Infinity }).post({}), 1);
});

Deno.test("ModelServer.post() retries an unreachable server for one request only", async () => {
  const server = modelServer(deadUrl(), { retries: 2 });
  assertStringIncludes((await failure(server)).message, "(3 attempts)");
  assertEquals((await failure(server)).message.includes("attempts"), false);
});

Deno.test("ModelServer.post() retries again after the server has responded", async () => {
  const url = new URL(deadUrl());
  const server = modelServer(url.href, { retries: 1 });
  await failure(server);
  let count = 0;
  const back = Deno.serve(
    { hostname: "127.0.0.1", port: Number(url.port), onListen: () => {} },
    async (request) => {
      await request.body?.cancel();
      return ++count === 2 ? new Response("busy", { status: 500 }) : Response.json(count);
    },
  );
  assertEquals([await server.post({}), await server.post({})], [1, 3]);
  await back.shutdown();
});

Deno.test("ModelServer.post() rejects an HTML page, truncated JSON and an oversized response", async () => {
  const answers: [string, string][] = [
    [
      "<html>\n <title>Sign in</title>",
      "sent a response that is not JSON: found '<html> <title>Sign in</title>'",
    ],
    ['{"text": "half', "sent a response that is not JSON"],
    ["", "sent a response that is not JSON: found no text"],
  ];
  for (const [text, says] of answers) {
    await using fake = new FakeServer(() => new Response(text));
    const { fault, message } = await failure(modelServer(fake.url));
    assertEquals(fault, "bad_answer");
    assertStringIncludes(message, says);
    assertEquals(fake.seen.length, 1);
  }
  const piece = new Uint8Array(1 << 20);
  await using flood = new FakeServer(() =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }))
  );
  assertEquals((await failure(modelServer(flood.url))).fault, "bad_answer");
});

Deno.test("ModelServer.post() limits concurrent requests", async () => {
  let now = 0;
  let most = 0;
  await using fake = new FakeServer(async () => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 5));
    now--;
    return Response.json(null);
  });
  const server = modelServer(fake.url, { concurrency: 2 });
  await Promise.all(Array.from({ length: 7 }, () => server.post({})));
  assertEquals({ most, seen: fake.seen.length }, { most: 2, seen: 7 });
});

Deno.test("ModelServer.post() rejects with the signal's reason while queued, during a request and between attempts", async () => {
  const received = Promise.withResolvers<void>();
  const stuck = Promise.withResolvers<Response>();
  await using fake = new FakeServer(() => {
    received.resolve();
    return stuck.promise;
  });
  const server = modelServer(fake.url, { concurrency: 1 });
  const abort = new AbortController();
  const posts = [server.post({}, { signal: abort.signal }), server.post({}, { signal: abort.signal })];
  await received.promise;
  abort.abort(new TypeError("stop"));
  for (const post of posts) await assertRejects(() => post, TypeError, "stop");
  stuck.resolve(new Response());

  const between = new AbortController();
  await using busy = new FakeServer(() => {
    setTimeout(() => between.abort(new TypeError("stop")), 0);
    return new Response("busy", { status: 503, headers: { "retry-after": "50" } });
  });
  await assertRejects(() => modelServer(busy.url).post({}, { signal: between.signal }), TypeError, "stop");
});

Deno.test("ModelServer() throws for limits out of range", () => {
  const wrong: [ModelServerOptions, string][] = [
    [{ timeoutMs: 0 }, "'timeoutMs' must be >= 1"],
    [{ retries: -1 }, "'retries' must be >= 0"],
    [{ retries: NaN }, "'retries'"],
    [{ concurrency: 0 }, "'concurrency'"],
  ];
  for (const [options, says] of wrong) {
    assertThrows(() => modelServer("http://127.0.0.1", options), RangeError, says);
  }
});

Deno.test("ModelServer.post() waits for a server that has answered, and sends all requests when it is back", async () => {
  const events: string[] = [];
  const away = Promise.withResolvers<void>();
  const options: ModelServerOptions = {
    waitMs: 600_000,
    retries: 0,
    backoffMs: 60_000, // requests that are not woken wait for seconds
    onAway({ waitMs }) {
      events.push(`away, waits ${waitMs}`);
      away.resolve();
    },
    onBack: ({ awayMs }) => void events.push(`back ${awayMs > 0}`),
    onUnusable: () => void events.push("unusable"),
  };
  let server: ModelServer;
  let port: number;
  {
    await using fake = new FakeServer(() => Response.json(1));
    port = fake.port;
    server = modelServer(fake.url, options);
    assertEquals(await server.post({}), 1);
  }
  const waiting = [server.post({}), server.post({})];
  await away.promise;
  await using _back = new FakeServer(() => Response.json(2), { port });
  assertEquals(await server.post({}), 2);
  assertEquals(await Promise.all(waiting), [2, 2]);
  assertEquals(events, ["away, waits 600000", "back true"]);
});

Deno.test("ModelServer.post() gives up a server that is away for longer than 'waitMs', and also a gateway's", async () => {
  let status = 200;
  await using fake = new FakeServer(() => new Response("1", { status }));
  const unusable: string[] = [];
  const onUnusable = ({ message }: PolicyError) => void unusable.push(message);
  const server = modelServer(fake.url, { waitMs: 20, retries: 0, onUnusable });
  await server.post({});
  status = 503;
  const { message } = await failure(server);
  assertEquals(unusable, [message]);
  const seen = fake.seen.length;
  assert(seen > 2, `it tried again: ${seen}`);
  assertEquals((await failure(server)).fault, "unavailable");
  assertEquals([fake.seen.length, unusable.length], [seen + 1, 2]);
  status = 200;
  assertEquals(await server.post({}), 1);
});

Deno.test("ModelServer.post() does not wait for a server that has never answered", async () => {
  const server = modelServer(deadUrl(), { waitMs: 600_000, retries: 1, onAway: () => assert(false) });
  assertStringIncludes((await failure(server)).message, "(2 attempts)");
});

Deno.test("ModelServer.post() reports a server that refuses every request", async () => {
  const cases = [[401, "{}", 1], [404, "{}", 1], [400, '{"error":{"code":"model_not_found"}}', 1], [
    400,
    "{}",
    0,
  ]] as const;
  for (const [status, body, expected] of cases) {
    await using fake = new FakeServer(() => new Response(body, { status }));
    let reports = 0;
    await failure(modelServer(fake.url, { onUnusable: () => void reports++ }));
    assertEquals([status, reports], [status, expected]);
  }
});
