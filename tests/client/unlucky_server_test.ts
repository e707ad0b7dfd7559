import { assertEquals, assertRejects } from "@std/assert";
import { type Fetch, PaddockClient } from "../../mod.ts";
import { SandboxError } from "../../src/errors.ts";
import { served } from "../server/served.ts";

const url = "http://127.0.0.1:8471";
const OK = { status: "ok", stdout: "", stderr: "", durationMs: 1, stateKept: true, truncated: false };

/** A server that opens and ends sessions, and leaves the rest to `rest`. */
function opening(rest: Fetch): Fetch {
  return (request) => {
    const call = `${request.method} ${new URL(request.url).pathname}`;
    if (call === "POST /v1/sessions") return Response.json({ id: "s" }, { status: 201 });
    return request.method === "DELETE" ? new Response(null, { status: 204 }) : rest(request);
  };
}

/** Answers never, and breaks off when it is told to, as `fetch` does. */
function never({ signal }: Request): Promise<Response> {
  const { promise, reject } = Promise.withResolvers<Response>();
  signal.addEventListener("abort", () => reject(signal.reason));
  return promise;
}

Deno.test("PaddockClient finds a server under any path, with or without a slash behind it", async () => {
  const asked: string[] = [];
  const fetch = (request: Request) => {
    asked.push(request.url);
    return Response.json({ id: "s" });
  };
  for (const path of ["/v1/", "/v1", "/", "/a/b/", "/a/v1//", "?a=1#b"]) {
    await using client = new PaddockClient({ url: `http://[::1]:80${path}`, fetch });
    await client.acquire();
  }
  const paths = ["/v1", "/v1", "/v1", "/a/b/v1", "/a/v1", "/v1"];
  assertEquals(
    asked.filter((url) => url.endsWith("/sessions")),
    paths.map((path) => `http://[::1]${path}/sessions`),
  );
});

Deno.test("PaddockClient waits for as long as it is told to, without end too", async () => {
  const fetch = opening(async ({ url }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return Response.json(
      url.endsWith("batch") ? { results: Array(100).fill({ status: 200, result: OK }) } : OK,
    );
  });
  await using client = new PaddockClient({ url, fetch, answerTimeoutMs: Infinity });
  await using lease = await client.acquire();
  assertEquals((await lease.session.exec("1", { timeoutMs: 24 * 3_600_000 })).status, "ok");
  await using usual = new PaddockClient({ url, fetch });
  const programs = Array(100).fill({ code: "1", timeoutMs: 24 * 3_600_000 });
  assertEquals((await usual.execBatch(programs)).length, 100);
});

Deno.test("PaddockClient has the server stop what takes too long", async () => {
  const cancelled: string[] = [];
  const asked: (string | null)[] = [];
  const fetch = (request: Request) => {
    const { method, url, headers } = request;
    if (method === "DELETE") cancelled.push(new URL(url).pathname);
    if (!url.endsWith("/exec")) return opening(never)(request);
    asked.push(headers.get("x-request-id"));
    return never(request);
  };
  {
    await using client = new PaddockClient({ url, fetch, answerTimeoutMs: 20 });
    await using lease = await client.acquire();
    await assertRejects(() => lease.session.exec("1"), SandboxError, "must answer within 20 ms");
  }
  assertEquals(cancelled, [`/v1/requests/${asked[0]}`, "/v1/sessions/s"]);
});

Deno.test("PaddockClient sends a streamed exec again only where the server says that it did not start", async () => {
  const gateway = () => new Response("<html>", { status: 504, headers: { "retry-after": "0" } });
  const broken = () => new Response("<html>", { status: 502, headers: { "retry-after": "0" } });
  const error = { type: "busy", message: "64 requests wait for the session" };
  const busy = () => Response.json({ error }, { status: 429, headers: { "retry-after": "0" } });
  for (const [answer, times] of [[gateway, 1], [broken, 1], [busy, 3]] as const) {
    let asked = 0;
    const fetch = opening(() => (asked++, answer()));
    await using client = new PaddockClient({ url, fetch, retries: 2, backoffMs: 0 });
    await using lease = await client.acquire();
    await assertRejects(() => lease.session.exec("1", { onOutput: () => {} }), SandboxError);
    assertEquals(asked, times);
    await assertRejects(() => lease.session.exec("1"), SandboxError);
    assertEquals(asked, times + 3);
  }
});

Deno.test("PaddockClient ends whatever a session was asked for when its lease is over", async () => {
  await using client = new PaddockClient({ url, fetch: opening(never) });
  const lease = await client.acquire();
  const { session } = lease;
  const asked = [session.readFile("a"), session.writeFile("a", ""), session.reset(), session.exec("1")];
  const over = asked.map((work) => assertRejects(() => work, Error, "lease is over"));
  await lease[Symbol.asyncDispose]();
  await Promise.all(over);
});

Deno.test("PaddockClient keeps no session that is opened in the moment in which it is disposed", async () => {
  for (let moment = 0; moment < 60; moment++) {
    await using server = served({ maxSessions: 1 });
    const wanted = Promise.withResolvers<void>();
    const fetch = async (request: Request) => {
      const response = await server.app.fetch(request);
      if (request.method === "POST") await wanted.promise;
      return response;
    };
    const client = new PaddockClient({ url, fetch });
    const acquired = client.acquire().then(() => {}, () => {});
    while (server.pool.alive === 0) await new Promise((resolve) => setTimeout(resolve));
    wanted.resolve();
    for (let step = 0; step < moment; step++) await undefined;
    await client[Symbol.asyncDispose]();
    await acquired;
    assertEquals(server.pool.alive, 0, `${moment}`);
  }
});

Deno.test("PaddockClient leaves no answer unread, whatever is answered", async () => {
  const answer = () => new Response("a body where none is due ".repeat(10_000));
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ method }) => {
    return method === "POST" ? Response.json({ id: "s" }) : answer();
  });
  {
    await using client = new PaddockClient({ url: `http://127.0.0.1:${server.addr.port}` });
    await using _lease = await client.acquire();
  }
  await server.shutdown();
});

Deno.test("PaddockClient refuses a server that speaks a newer format of /v1", async () => {
  const fetch = () => Response.json({ id: "s" }, { headers: { "x-paddock-format": "2" } });
  await using client = new PaddockClient({ url, fetch });
  await assertRejects(
    () => client.acquire(),
    SandboxError,
    "Cannot acquire session as http://127.0.0.1:8471 speaks format 2 of /v1: this client reads 1",
  );
});
