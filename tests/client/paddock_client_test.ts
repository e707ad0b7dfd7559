import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { type Fetch, PaddockClient } from "../../mod/client.ts";
import { History, numberMatch } from "../../mod.ts";
import { SandboxError } from "../../src/errors.ts";
import { unscored } from "../../src/rewards/grader.ts";
import { bad, type FakePython, ok } from "../fake_pool.ts";
import { served } from "../server/served.ts";

const url = "http://127.0.0.1:8471";

/** Counts in the variable `n`. The program `sleep` runs until it is aborted. */
const python: FakePython = (code, globals, { signal, onOutput }) => {
  if (code === "raise") return bad("error");
  if (code === "n += 1") globals.set("n", (globals.get("n") ?? 0) + 1);
  if (code === "say") onOutput?.("stdout", "hi\n");
  if (code !== "sleep") return ok("", { value: String(globals.get("n") ?? 0) });
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason));
  return promise;
};

const SESSION = { id: "s" };
const OK = { status: "ok", stdout: "", stderr: "", durationMs: 1, stateKept: true, truncated: false };

interface SeenRequest {
  call: string;
  id: string | null;
  token: string | null;
}

/** Returns a server that sends the given responses in order. Requests that open or end sessions always succeed. */
function scripted(...responses: (Response | Error)[]): { fetch: Fetch; seen: SeenRequest[] } {
  const seen: SeenRequest[] = [];
  const fetch = (request: Request) => {
    const call = `${request.method} ${new URL(request.url).pathname}`;
    if (call === "POST /v1/sessions") return Response.json(SESSION, { status: 201 });
    if (call === "DELETE /v1/sessions/s") return new Response(null, { status: 204 });
    const { headers } = request;
    seen.push({ call, id: headers.get("x-request-id"), token: headers.get("authorization") });
    const response = responses.shift() ?? new Error("there is no further response");
    if (response instanceof Error) throw response;
    return response;
  };
  return { fetch, seen };
}

function unavailable(retryAfter = "0", status = 503): Response {
  const error = { type: "unavailable", message: "The sandbox failed" };
  return Response.json({ error }, { status, headers: { "retry-after": retryAfter } });
}

/** Returns an error as `fetch` throws it. */
const fetchError = (reason: string) => {
  const cause = new Error(`error sending request for url (http://a/): client error ${reason}`);
  return new TypeError("fetch failed", { cause });
};
const LOST = fetchError("(SendRequest): connection reset by peer");
const NEVER = fetchError("(Connect): tcp connect error: refused");

Deno.test("PaddockClient refuses invalid URLs and limits that are out of range", () => {
  assertThrows(() => new PaddockClient({ url: "ftp://a" }), TypeError, "'url' must be an http or https URL");
  assertThrows(() => new PaddockClient({ url: "http://u:p@a" }), TypeError, "must not contain a password");
  assertThrows(() => new PaddockClient({ url, retries: -1 }), RangeError, "'retries' must be >= 0");
  assertThrows(() => new PaddockClient({ url, responseTimeoutMs: 0 }), RangeError, "'responseTimeoutMs'");
});

Deno.test("PaddockClient retries with the same request id when the server is busy or unreachable", async () => {
  const { fetch, seen } = scripted(unavailable(), LOST, unavailable("0", 429), NEVER, Response.json(OK));
  await using client = new PaddockClient({ url: `${url}/`, token: "t", fetch, backoffMs: 0 });
  await using lease = await client.acquire();
  assertEquals((await lease.session.exec("1")).status, "ok");
  assertEquals(new Set(seen.map(({ call }) => call)), new Set(["POST /v1/sessions/s/exec"]));
  assertEquals([seen.length, new Set(seen.map(({ id }) => id)).size, seen[0]?.token], [5, 1, "Bearer t"]);
});

Deno.test("PaddockClient rejects with the last error after all retries", async () => {
  const { fetch, seen } = scripted(...Array.from({ length: 3 }, () => unavailable()), NEVER);
  await using client = new PaddockClient({ url, fetch, retries: 2, backoffMs: 0 });
  await using lease = await client.acquire();
  await assertRejects(
    () => lease.session.exec("1"),
    SandboxError,
    "Cannot exec as the server answered 503: The sandbox failed",
  );
  assertEquals(seen.length, 3);
  await using patient = new PaddockClient({ url, fetch: scripted(unavailable("3600")).fetch, backoffMs: 0 });
  await using other = await patient.acquire();
  await assertRejects(() => other.session.exec("1"), SandboxError, "answered 503");
  await using unreachable = new PaddockClient({ url, fetch: scripted(NEVER).fetch, retries: 0 });
  await using last = await unreachable.acquire();
  await assertRejects(
    () => last.session.readFile("a"),
    SandboxError,
    "Cannot read 'a' as http://127.0.0.1:8471 cannot be reached: tcp connect error: refused",
  );
});

Deno.test("PaddockClient does not retry final errors and follows no redirect", async () => {
  const redirect = { location: "http://169.254.169.254/" };
  const responses = [
    new Response("<h1>Bad\nday</h1>", { status: 500 }),
    Response.json({ error: { type: "unauthorized", message: "A token is needed" } }, { status: 401 }),
    new Response(null, { status: 307, headers: redirect }),
  ];
  const { fetch, seen } = scripted(...responses);
  await using client = new PaddockClient({ url, fetch, backoffMs: 0 });
  await using lease = await client.acquire();
  for (
    const reason of [
      "500: <h1>Bad day</h1>",
      "401: A token is needed",
      "307: redirects are not followed: http://169.254.169.254/",
    ]
  ) {
    await assertRejects(
      () => lease.session.exec("1"),
      SandboxError,
      `Cannot exec as the server answered ${reason}`,
    );
  }
  assertEquals(seen.length, 3);
});

Deno.test("PaddockClient does not send a streamed exec again once it may have arrived", async () => {
  const output: string[] = [];
  const onOutput = (_: string, text: string) => void output.push(text);
  const events = `event: stdout\r\ndata: {"text":"a"}\r\n\r\n: note\n\nevent: result\ndata: ${
    JSON.stringify(OK)
  }\n\n`;
  const { fetch, seen } = scripted(NEVER, unavailable(), new Response(events), LOST);
  await using client = new PaddockClient({ url, fetch, backoffMs: 0 });
  await using lease = await client.acquire();
  assertEquals((await lease.session.exec("1", { onOutput })).status, "ok");
  assertEquals([output, seen.length], [["a"], 3]);
  await assertRejects(() => lease.session.exec("1", { onOutput }), SandboxError, "connection reset by peer");
});

Deno.test("PaddockClient rejects invalid responses", async () => {
  const huge = `{"text":${"[".repeat(20_000)}`;
  const streams = ["", "data: 1\n\n", `event: stdout\ndata: {"text":1}\n\n`, "event: result\ndata: {}\n\n"];
  const bodies = [
    "",
    "null",
    "[]",
    "<html>",
    huge,
    "{}",
    JSON.stringify({ ...OK, status: "fine" }),
    JSON.stringify({ ...OK, status: "error" }),
    JSON.stringify({ ...OK, stdout: 1 }),
    JSON.stringify({ ...OK, files: { a: "%" } }),
    JSON.stringify({ ...OK, durationMs: -1 }),
  ];
  for (const body of bodies) {
    await using client = new PaddockClient({ url, fetch: scripted(new Response(body)).fetch });
    await using lease = await client.acquire();
    await assertRejects(() => lease.session.exec("1"), SandboxError, "Cannot exec as the server's response");
  }
  for (const body of streams) {
    await using client = new PaddockClient({ url, fetch: scripted(new Response(body)).fetch });
    await using lease = await client.acquire();
    const streamed = lease.session.exec("1", { onOutput: () => {} });
    await assertRejects(() => streamed, SandboxError, "Cannot exec as the server's response");
  }
  for (const id of ["", "a".repeat(65), 1]) {
    await using client = new PaddockClient({ url, fetch: () => Response.json({ id }) });
    await assertRejects(
      () => client.acquire(),
      SandboxError,
      "Cannot acquire session as the server's response",
    );
  }
});

Deno.test("PaddockClient escapes the session id in paths", async () => {
  const seen: string[] = [];
  const fetch = (request: Request) => {
    seen.push(new URL(request.url).pathname);
    return Response.json({ ...OK, id: "../../metrics?a" });
  };
  await using client = new PaddockClient({ url, fetch });
  await using lease = await client.acquire();
  await lease.session.exec("1");
  assertEquals(seen[1], "/v1/sessions/..%2F..%2Fmetrics%3Fa/exec");
});

Deno.test("PaddockClient rejects when the response timeout has passed", async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  await using client = new PaddockClient({ url, fetch: () => promise, responseTimeoutMs: 20 });
  await assertRejects(
    () => client.acquire(),
    SandboxError,
    "Cannot acquire session as http://127.0.0.1:8471 did not answer within 20 ms",
  );
  resolve(Response.json(SESSION));
});

Deno.test("PaddockClient runs a program once when its response is lost", async () => {
  await using server = served({ python });
  let toLose = 1;
  const fetch = async (request: Request) => {
    const isExec = request.url.endsWith("/exec");
    const response = await server.app.fetch(request);
    if (!isExec || toLose-- <= 0) return response;
    await response.bytes();
    throw LOST;
  };
  await using client = new PaddockClient({ url, fetch, backoffMs: 0 });
  await using lease = await client.acquire();
  const result = await lease.session.exec("n += 1");
  assertEquals([result.status === "ok" && result.value, server.pool.ran], ["1", ["n += 1"]]);
});

Deno.test("PaddockClient ends a session that opens after acquire() was aborted", async () => {
  await using server = served({ python });
  const opened = Promise.withResolvers<void>();
  const stop = new AbortController();
  const fetch = async (request: Request) => {
    const response = await server.app.fetch(request);
    if (request.method === "POST") {
      stop.abort(new Error("no longer needed"));
      await opened.promise;
    } else opened.resolve();
    return response;
  };
  {
    await using client = new PaddockClient({ url, fetch });
    await assertRejects(() => client.acquire({ signal: stop.signal }), Error, "no longer needed");
    assertEquals(server.pool.alive, 1);
  }
  assertEquals(server.pool.alive, 0);
});

Deno.test("PaddockClient cancels a program when the cancellation overtakes the request", async () => {
  await using server = served({ python });
  const [cancelled, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const statuses: number[] = [];
  const fetch = async (request: Request) => {
    if (request.url.endsWith("/exec")) await cancelled.promise;
    const response = await server.app.fetch(request);
    if (!request.url.includes("/requests/")) return response;
    statuses.push(response.status);
    cancelled.resolve();
    if (response.status === 204) stopped.resolve();
    return response;
  };
  {
    await using client = new PaddockClient({ url, fetch });
    await using lease = await client.acquire();
    const stop = new AbortController();
    const endless = lease.session.exec("sleep", { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("enough")));
    await assertRejects(() => endless, Error, "enough");
    await stopped.promise;
  }
  assertEquals([statuses[0], statuses.at(-1), server.pool.alive], [404, 204, 0]);
});

Deno.test("PaddockClient ends its sessions on dispose and opens no new ones", async () => {
  await using server = served({ python, maxSessions: 2 });
  const client = new PaddockClient({ url, fetch: (request) => server.app.fetch(request), backoffMs: 0 });
  const { session } = await client.acquire();
  await client.acquire();
  const running = assertRejects(() => session.exec("sleep"), Error, "lease is over");
  const waiting = assertRejects(() => client.acquire(), Error, "as the client is disposed");
  await client[Symbol.asyncDispose]();
  await running;
  await waiting;
  assertEquals(server.pool.alive, 0);
  await assertRejects(() => client.acquire(), Error, "Cannot acquire session as the client is disposed");
});

Deno.test("PaddockClient refuses host tools of one exec", async () => {
  await using client = new PaddockClient({ url, fetch: scripted().fetch });
  await using lease = await client.acquire();
  const tools = [{ name: "a" }] as never;
  await assertRejects(() => lease.session.exec("1", { tools }), TypeError, "Cannot grant host tools");
});

Deno.test("PaddockClient.acquire() refuses wrong values of checkpointEvery, and a seed with a checkpoint", async () => {
  await using server = served({ python });
  await using client = new PaddockClient({ url, fetch: (request) => server.app.fetch(request) });
  for (const checkpointEvery of [0, NaN, 86_401, "block" as "exec"]) {
    await assertRejects(
      () => client.acquire({ checkpointEvery }),
      RangeError,
      "'checkpointEvery' must be 'exec'",
    );
  }
  const from = { id: "0".repeat(64), storedBytes: 1, tools: [], toBytes: () => Promise.reject() };
  await assertRejects(() => client.acquire({ from, seed: 1 }), TypeError, "only one of 'seed' and 'from'");
  assertEquals(server.pool.most, 0);
});

Deno.test("PaddockClient.execBatch() returns the outcome of each program in order", async () => {
  await using server = served({ python });
  await using client = new PaddockClient({ url, fetch: (request) => server.app.fetch(request) });
  await using lease = await client.acquire();
  const session = lease.id;
  const outcomes = await client.execBatch([
    { code: "n += 1", session },
    { code: "raise" },
    { code: "n", session: "none" },
    { code: "n += 1", session },
    { code: "n" },
  ]);
  assertEquals(
    outcomes.map(({ result, error }) =>
      result?.status === "ok" ? result.value : result?.status ?? error?.message
    ),
    ["1", "error", "Cannot exec as the server answered 404: There is no such session", "2", "0"],
  );
  await assertRejects(() => client.execBatch([{ code: "1", timeoutMs: 0 }]), RangeError, "'timeoutMs'");
  await using wrong = new PaddockClient({ url, fetch: () => Response.json({ results: [] }) });
  await assertRejects(
    () => wrong.execBatch([{ code: "1" }]),
    SandboxError,
    "must have 1 results: found 0",
  );
});

Deno.test("PaddockClient.grade() returns scores, including null", async () => {
  const reasoned = { name: "reasoned", grade: () => unscored("the task has no tests") };
  await using server = served({
    graders: new Map([["number_match", () => numberMatch()], ["reasoned", () => reasoned]]),
  });
  await using client = new PaddockClient({ url, fetch: (request) => server.app.fetch(request) });
  const history = History.fromChats([{ role: "assistant", content: "It is 42." }]);
  const grade = (answer: object, grader = "number_match") =>
    client.grade(grader, { task: { id: "a", query: "?", ...answer }, history });
  assertEquals(await grade({ answer: "42" }), { score: 1 });
  assertEquals(await grade({ answer: "41" }), { score: 0 });
  assertEquals(await grade({}), { score: null });
  assertEquals(await grade({}, "reasoned"), { score: null, reason: "the task has no tests" });
  const error = await assertRejects(() => grade({}, "none"), TypeError);
  assertStringIncludes(error.message, "grader must be one of number_match");
});

Deno.test("PaddockClient.exec() runs a program in one request, and lists sessions by metadata", async () => {
  const requests: string[] = [];
  await using server = served({ python: (_, __, { onOutput }) => (onOutput?.("stdout", "hi"), ok("hi")) });
  await using client = new PaddockClient({
    url: "http://localhost",
    fetch: (request) => {
      requests.push(`${request.method} ${new URL(request.url).pathname}`);
      return server.app.request(request);
    },
  });
  const pieces: string[] = [];
  assertEquals((await client.exec("1", { seed: 1, limits: { timeoutMs: 10 } })).stdout, "hi");
  await client.exec("1", { onOutput: (_, text) => pieces.push(text) });
  assertEquals([requests, pieces], [["POST /v1/exec", "POST /v1/exec/stream"], ["hi"]]);
  const lease = await client.acquire({
    ttlSeconds: 60,
    limits: { timeoutMs: 10 },
    metadata: { user: "a&b" },
  });
  const [found] = await client.listSessions({ metadata: { user: "a&b" } });
  assertEquals([found?.id, found?.metadata, found?.limits], [lease.id, { user: "a&b" }, { timeoutMs: 10 }]);
  assertEquals((await client.listSessions({ metadata: { user: "a" } })).length, 0);
  assertEquals((await client.listSessions()).length, 1);
});
