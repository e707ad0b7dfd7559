import { assertEquals, assertRejects } from "@std/assert";
import { type Fetch, PaddockClient } from "../../mod/client.ts";
import { SandboxError } from "../../src/errors.ts";
import { served } from "../server/served.ts";

const url = "http://127.0.0.1:8471";
const OK = { status: "ok", stdout: "", stderr: "", durationMs: 1, stateKept: true, truncated: false };

/** Returns a server that opens and ends sessions. `rest` handles all other requests. */
function withSessions(rest: Fetch): Fetch {
  return (request) => {
    const call = `${request.method} ${new URL(request.url).pathname}`;
    if (call === "POST /v1/sessions") return Response.json({ id: "s" }, { status: 201 });
    return request.method === "DELETE" ? new Response(null, { status: 204 }) : rest(request);
  };
}

/** Sends no response and rejects when its signal aborts, as `fetch` does. */
function never({ signal }: Request): Promise<Response> {
  const { promise, reject } = Promise.withResolvers<Response>();
  signal.addEventListener("abort", () => reject(signal.reason));
  return promise;
}

Deno.test("PaddockClient accepts a server URL with any path, with or without a trailing slash", async () => {
  const urls: string[] = [];
  const fetch = (request: Request) => {
    urls.push(request.url);
    return Response.json({ id: "s" });
  };
  for (const path of ["/v1/", "/v1", "/", "/a/b/", "/a/v1//", "?a=1#b"]) {
    await using client = new PaddockClient({ url: `http://[::1]:80${path}`, fetch });
    await client.acquire();
  }
  const paths = ["/v1", "/v1", "/v1", "/a/b/v1", "/a/v1", "/v1"];
  assertEquals(
    urls.filter((url) => url.endsWith("/sessions")),
    paths.map((path) => `http://[::1]${path}/sessions`),
  );
});

Deno.test("PaddockClient accepts long and infinite timeouts", async () => {
  const fetch = withSessions(async ({ url }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return Response.json(
      url.endsWith("batch") ? { results: Array(100).fill({ status: 200, result: OK }) } : OK,
    );
  });
  await using client = new PaddockClient({ url, fetch, responseTimeoutMs: Infinity });
  await using lease = await client.acquire();
  assertEquals((await lease.session.exec("1", { timeoutMs: 24 * 3_600_000 })).status, "ok");
  await using standard = new PaddockClient({ url, fetch });
  const programs = Array(100).fill({ code: "1", timeoutMs: 24 * 3_600_000 });
  assertEquals((await standard.execBatch(programs)).length, 100);
});

Deno.test("PaddockClient cancels a request on the server after its timeout", async () => {
  const cancelled: string[] = [];
  const execIds: (string | null)[] = [];
  const fetch = (request: Request) => {
    const { method, url, headers } = request;
    if (method === "DELETE") cancelled.push(new URL(url).pathname);
    if (!url.endsWith("/exec")) return withSessions(never)(request);
    execIds.push(headers.get("x-request-id"));
    return never(request);
  };
  {
    await using client = new PaddockClient({ url, fetch, responseTimeoutMs: 20 });
    await using lease = await client.acquire();
    await assertRejects(() => lease.session.exec("1"), SandboxError, "did not answer within 20 ms");
  }
  assertEquals(cancelled, [`/v1/requests/${execIds[0]}`, "/v1/sessions/s"]);
});

Deno.test("PaddockClient retries a streamed exec only if the server reports that it did not start", async () => {
  const gateway = () => new Response("<html>", { status: 504, headers: { "retry-after": "0" } });
  const broken = () => new Response("<html>", { status: 502, headers: { "retry-after": "0" } });
  const error = { type: "busy", message: "64 requests wait for the session" };
  const busy = () => Response.json({ error }, { status: 429, headers: { "retry-after": "0" } });
  for (const [respond, attempts] of [[gateway, 1], [broken, 1], [busy, 3]] as const) {
    let requests = 0;
    const fetch = withSessions(() => (requests++, respond()));
    await using client = new PaddockClient({ url, fetch, retries: 2, backoffMs: 0 });
    await using lease = await client.acquire();
    await assertRejects(() => lease.session.exec("1", { onOutput: () => {} }), SandboxError);
    assertEquals(requests, attempts);
    await assertRejects(() => lease.session.exec("1"), SandboxError);
    assertEquals(requests, attempts + 3);
  }
});

Deno.test("PaddockClient rejects the pending calls of a session when its lease ends", async () => {
  await using client = new PaddockClient({ url, fetch: withSessions(never) });
  const lease = await client.acquire();
  const { session } = lease;
  const calls = [session.readFile("a"), session.writeFile("a", ""), session.reset(), session.exec("1")];
  const rejected = calls.map((call) => assertRejects(() => call, Error, "lease is over"));
  await lease[Symbol.asyncDispose]();
  await Promise.all(rejected);
});

Deno.test("PaddockClient leaves no session open if it is disposed while one opens", async () => {
  for (let moment = 0; moment < 60; moment++) {
    await using server = served({ maxSessions: 1 });
    const released = Promise.withResolvers<void>();
    const fetch = async (request: Request) => {
      const response = await server.app.fetch(request);
      if (request.method === "POST") await released.promise;
      return response;
    };
    const client = new PaddockClient({ url, fetch });
    const acquired = client.acquire().then(() => {}, () => {});
    while (server.pool.alive === 0) await new Promise((resolve) => setTimeout(resolve));
    released.resolve();
    for (let step = 0; step < moment; step++) await undefined;
    await client[Symbol.asyncDispose]();
    await acquired;
    assertEquals(server.pool.alive, 0, `${moment}`);
  }
});

Deno.test("PaddockClient reads or cancels every response body", async () => {
  const unexpected = () => new Response("an unexpected body ".repeat(10_000));
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ method }) => {
    return method === "POST" ? Response.json({ id: "s" }) : unexpected();
  });
  {
    await using client = new PaddockClient({ url: `http://127.0.0.1:${server.addr.port}` });
    await using _lease = await client.acquire();
  }
  await server.shutdown();
});

Deno.test("PaddockClient refuses a server with a newer format of /v1", async () => {
  const fetch = () => Response.json({ id: "s" }, { headers: { "x-paddock-format": "2" } });
  await using client = new PaddockClient({ url, fetch });
  await assertRejects(
    () => client.acquire(),
    SandboxError,
    "Cannot acquire session as http://127.0.0.1:8471 must use format 1 of /v1: it uses format 2",
  );
});

Deno.test("PaddockClient stops reading an event that is too long", async () => {
  const line = new TextEncoder().encode(`data: ${"x".repeat(8 * 1024 * 1024)}\n`);
  const endless = () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(line) }));
  await using client = new PaddockClient({ url, fetch: withSessions(endless), retries: 0 });
  await using lease = await client.acquire();
  await assertRejects(
    () => lease.session.exec("1", { onOutput: () => {} }),
    SandboxError,
    "an event of the server must have at most 268435456 characters",
  );
});

Deno.test("PaddockClient refuses a response with millions of values before it parses it", async () => {
  const text = `{"results":[${"[],".repeat(2_500_000)}[]]}`;
  await using client = new PaddockClient({ url, fetch: () => new Response(text), retries: 0 });
  await assertRejects(
    () => client.execBatch([{ code: "1" }]),
    SandboxError,
    "JSON must have at most 2500000 values",
  );
});
