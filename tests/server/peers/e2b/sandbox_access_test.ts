import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { Hono } from "hono";
import { createHash } from "node:crypto";
import { Budgets } from "../../../../src/server/admission/budget.ts";
import {
  SandboxAccess,
  type SandboxGrant,
  toSandboxId,
  toSessionId,
} from "../../../../src/server/peers/e2b/sandbox_access.ts";
import { SignatureCheck, type SignedFile } from "../../../../src/server/peers/e2b/signed_files.ts";
import { HibernationStore } from "../../../../src/server/hibernation/hibernation_store.ts";
import type { AppEnv } from "../../../../src/server/http/context.ts";
import { ServerError } from "../../../../src/server/http/http_errors.ts";
import type { LiveSession } from "../../../../src/server/sessions/live_session.ts";
import { BranchingFakePool, ok } from "../../../fake_pool.ts";
import { type Served, served, type ServedOptions, type TestResponse } from "../../served.ts";
import SIGNED_URLS from "./signed_urls.json" with { type: "json" };

const KEY = "e2b_0123456789abcdef";
/** Home directory of E2B's user `root` in a sandbox. */
const ROOT_HOME = "/root";
/** Sandbox and secret of a server with which the SDKs have signed the URLs of `signed_urls.json`. */
const ID = "0123456789abcdef".repeat(3);
const secret = Uint8Array.from({ length: 32 }, (_, index) => index);

/** Signs a URL as the SDKs of E2B do. */
function sign(token: string, operation: string, path: string, { user = "", expiration = "" } = {}): string {
  const text = [path, operation, user, token, ...expiration === "" ? [] : [expiration]].join(":");
  const signature = `v1_${createHash("sha256").update(text).digest("base64").replace(/=+$/, "")}`;
  const query = new URLSearchParams({
    ...path && { path },
    ...user && { username: user },
    signature,
    ...expiration && { signature_expiration: expiration },
  });
  return `/files?${query}`;
}

/** A server whose sandboxes answer each request to their files with its paths, as files that they do not have. */
function serve(options: ServedOptions = {}, Pool = BranchingFakePool): Served {
  const pool = new Pool((code) => {
    const [, request] = /"REQUEST": (".*")\}\)$/s.exec(code) ?? [];
    if (request === undefined) return ok();
    const { path, files } = JSON.parse(JSON.parse(request));
    const asked = path ?? files.map(([path]: string[]) => path).join();
    return ok(JSON.stringify({ code: "not_found", message: `asked ${asked}` }));
  });
  return served({ tokens: [KEY], pool, maxSessions: 4, ...options });
}

/** Sends a request from an address of its own, as those that send many wrong tokens are slowed down. */
async function request(server: Served, url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has("host")) headers.set("host", "localhost");
  return await server.app.request(url, { ...init, headers }, { address: crypto.randomUUID() });
}

/** Sends a request with a JSON body, as {@linkcode request} does. */
async function send(
  server: Served,
  method: string,
  path: string,
  body?: unknown,
  given: HeadersInit = {},
): Promise<Pick<TestResponse, "status" | "body">> {
  const headers = new Headers(given);
  if (body !== undefined) headers.set("content-type", "application/json");
  const response = await request(server, path, {
    method,
    headers,
    ...body !== undefined && { body: JSON.stringify(body) },
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

async function create(server: Served, body: object = {}): Promise<{ id: string; token: string }> {
  const { body: made } = await send(server, "POST", "/v2/sandboxes", { timeout: 600, ...body }, {
    "x-api-key": KEY,
  });
  return { id: made.sandboxID, token: made.envdAccessToken };
}

Deno.test("each URL that the SDKs of E2B sign is accepted for its operation alone", async () => {
  await using server = serve({ secret });
  const named = { "e2b-sandbox-id": ID };
  for (const { operation, path, user, expiration, python, javascript } of SIGNED_URLS) {
    const [method, other] = operation === "read" ? ["GET", "POST"] : ["POST", "GET"];
    for (const url of [python, javascript]) {
      // the signature is that of a sandbox that has ended, of which only its clients learn
      assertEquals((await send(server, method as string, url, undefined, named)).status, 502, url);
      assertEquals((await send(server, other as string, url, undefined, named)).status, 401, url);
    }
    const token = new SandboxAccess(server.sessions.directory, secret).tokenOf(ID);
    const options = { user, ...expiration !== null && { expiration: String(expiration) } };
    const own = sign(token, operation, path, options);
    assertEquals(new URLSearchParams(own).get("signature"), new URLSearchParams(python).get("signature"));
  }
});

Deno.test("a signed URL that names no sandbox reaches its path in the sandbox that signed it, and nothing else", async () => {
  await using server = serve();
  const [one, two] = [await create(server), await create(server)];
  const ask = async (url: string, init: RequestInit = {}) => {
    const response = await request(server, url, init);
    return [response.status, (await response.json()).message];
  };
  const expiration = String(Math.floor(Date.now() / 1000) + 600);
  const url = sign(one.token, "read", "a/../b//ü %2e.txt", { expiration });
  assertEquals(await ask(url), [404, "asked a/../b//ü %2e.txt"]);
  const at = { headers: { host: `49983-${one.id}.example.org` } };
  assertEquals(await ask(url, at), [404, "asked a/../b//ü %2e.txt"]);
  const root = { user: "root" };
  assertEquals(await ask(sign(one.token, "read", "~/x", root)), [404, `asked ${ROOT_HOME}/x`]);
  const post = { method: "POST", body: "x", headers: { "content-type": "application/octet-stream" } };
  assertEquals(await ask(sign(two.token, "write", "x", root), post), [404, `asked ${ROOT_HOME}/x`]);
  assertEquals((await request(server, url, { method: "HEAD" })).status, 404);

  const refused = [401, "invalid signature"];
  const change = (name: string, value: string) => {
    const query = new URLSearchParams(url.slice(url.indexOf("?")));
    query.set(name, value);
    return `/files?${query}`;
  };
  const signature = new URLSearchParams(url.slice(url.indexOf("?"))).get("signature") ?? "";
  for (const never of ["never", "1e30", "-1", "0x7fffffff"]) {
    assertEquals(await ask(sign(one.token, "read", "x", { expiration: never })), refused, never);
  }
  const changed = [
    ...["b//ü %2e.txt", "a/../b/ü %2e.txt", "/home/user/b/ü %2e.txt", "a/../b//u\u0308 %2e.txt"],
    ...["a/../b//ü ..txt", "a/../b//ü %2e.txt/", "a/../b//ü%20%2e.txt", "", "x".repeat(20_000)],
  ].map((path) => change("path", path));
  changed.push(
    change("username", "root"),
    change("username", "user"),
    change("signature_expiration", String(Number(expiration) + 1)),
    change("signature_expiration", `0${expiration}`),
    change("signature_expiration", `${expiration}.0`),
    change("signature_expiration", "1e30"),
    ...["", "v1_", signature.slice(0, -1), `${signature}=`, signature.replace("v1_", "v2_"), `${signature}A`]
      .map((value) => change("signature", value)),
  );
  for (const other of changed) {
    assertEquals(await ask(other, { headers: { "e2b-sandbox-id": one.id } }), refused, other);
  }
  assertEquals(await ask(url, { headers: { "e2b-sandbox-id": two.id } }), refused);
  assertEquals(await ask(url, { headers: { "e2b-sandbox-id": "none" } }), refused);
  assertEquals((await ask(url, { headers: { "x-access-token": "wrong-token-of-nobody" } }))[0], 401);
  for (const path of ["/health", "/contexts", "/v1/sessions", "/sandboxes", "/execute", "/metrics"]) {
    const query = url.slice(url.indexOf("?"));
    assertEquals(
      (await send(server, "GET", path + query, undefined, { "e2b-sandbox-id": one.id })).status,
      401,
    );
  }
  for (const twice of ["path", "username", "signature", "signature_expiration"]) {
    assertEquals((await ask(`${url}&${twice}=x&${twice}=y`))[0], 400);
  }
});

Deno.test("a colon in a path or a user does not turn a signature into that of another path", async () => {
  await using server = serve();
  const { id, token } = await create(server);
  const named = { "e2b-sandbox-id": id };
  const signature = new URLSearchParams(sign(token, "read", "p:write", { user: "u" })).get("signature") ?? "";
  const query = new URLSearchParams({ path: "p", username: "read:u", signature });
  // both have the text `p:write:read:u:token`
  assertEquals(
    (await send(server, "POST", sign(token, "write", "p", { user: "read:u" }), "x", named)).status,
    401,
  );
  assertEquals((await send(server, "POST", `/files?${query}`, "x", named)).status, 401);
  assertEquals(
    (await send(server, "GET", sign(token, "read", "p:write", { user: "u" }), undefined, named)).status,
    404,
  );
});

Deno.test("a signature expires after its second, which costs no hash", () => {
  const file: SignedFile = { path: "p", operation: "read", user: "", expiration: "1000" };
  const signature = new URLSearchParams(sign("token", "read", "p", { expiration: "1000" }).slice(6)).get(
    "signature",
  ) ?? "";
  assert(SignatureCheck.of(signature, file, 1000).matches("token"));
  assert(!SignatureCheck.of(signature, file, 1000).matches("other"));
  const error = assertThrows(() => SignatureCheck.of(signature, file, 1001), ServerError);
  assertEquals([error.code, error.message], ["unauthorized", "signature is already expired"]);
  assert(!SignatureCheck.of(signature, { ...file, expiration: undefined }, 1001).matches("token"));
});

Deno.test("the token of a sandbox opens that sandbox alone, and only its agent and its code interpreter", async () => {
  const records: unknown[] = [];
  await using server = serve({ onRequest: (record) => records.push(record) });
  const [one, two] = [await create(server), await create(server)];
  assertNotEquals(one.token, two.token);
  const status = async (method: string, path: string, body?: object, headers: HeadersInit = {}) =>
    (await send(server, method, path, body, headers)).status;
  const own = { "e2b-sandbox-id": one.id, "x-access-token": one.token };
  const other = { "e2b-sandbox-id": two.id, "x-access-token": one.token };
  const asApi = { "e2b-sandbox-id": two.id, "e2b-traffic-access-token": one.token };
  const unnamed = { "x-access-token": one.token };
  const traffic = { "e2b-sandbox-id": one.id, "e2b-traffic-access-token": one.token };
  const host = { host: `49999-${one.id}.example.org`, "x-access-token": one.token };
  const both = { ...own, host: `49999-${two.id}.example.org` };
  const open: [string, string, object?][] = [
    ["GET", "/health"],
    ["POST", "/execute", { code: "1" }],
    ["GET", "/contexts"],
    ["POST", "/filesystem.Filesystem/ListDir", { path: "/" }],
    ["POST", "/process.Process/List", {}],
  ];
  for (const [method, path, body] of open) {
    for (const headers of [own, traffic, host]) {
      const given = await status(method, path, body, headers);
      assert(given < 400 || (path.startsWith("/filesystem") && given === 404), `${path} ${given}`);
    }
    for (const headers of [other, asApi, unnamed]) {
      const isOther = path === "/health" && headers === unnamed; // the health of the server
      assertEquals(await status(method, path, body, headers), isOther ? 200 : 401);
    }
  }
  assertEquals(await status("GET", "/contexts", undefined, both), 200);
  const closed: [string, string, object?][] = [
    ["GET", "/v1/sessions"],
    ["POST", "/v1/sessions", {}],
    ["GET", `/v1/sessions/${toSessionId(one.id)}`],
    ["POST", "/v2/sandboxes", {}],
    ["GET", `/sandboxes/${one.id}`],
    ["DELETE", `/sandboxes/${one.id}`],
    ["POST", `/sandboxes/${one.id}/fork`, {}],
    ["POST", "/run_code", { code: "1", language: "python" }],
    ["POST", "/api/v2/execute", {}],
    ["GET", "/sessions"],
    ["GET", "/metrics"],
    ["POST", "/mcp", {}],
    ["POST", "/files/../v1/sessions", {}],
  ];
  for (const [method, path, body] of closed) assertEquals(await status(method, path, body, own), 401, path);
  // another system's request to the same path would run elsewhere
  assertEquals(
    await status("POST", "/execute", { generated_code: "1" }, { ...own, "x-session-id": "s" }),
    422,
  );
  assertEquals(server.sessions.directory.list("").length, 0);
  for (const secret of [one.token, two.token]) {
    assert(!JSON.stringify([records, server.errors.map(String)]).includes(secret));
  }
});

Deno.test("contexts of other sandboxes are not found by the token of a sandbox", async () => {
  await using server = serve();
  const [one, two] = [await create(server), await create(server)];
  const headers = ({ id, token }: { id: string; token: string }) => ({
    "e2b-sandbox-id": id,
    "e2b-traffic-access-token": token,
  });
  const { body: context } = await send(server, "POST", "/contexts", {}, headers(two));
  for (const [method, path, body] of [["DELETE", ""], ["POST", "/restart", {}]] as const) {
    const response = await send(server, method, `/contexts/${context.id}${path}`, body, headers(one));
    assertEquals(response.status, 404);
  }
  const request = { code: "1", context_id: context.id };
  assertEquals((await send(server, "POST", "/execute", request, headers(one))).status, 404);
  assertEquals((await send(server, "POST", "/execute", request, headers(two))).status, 200);
});

Deno.test("clients learn by their token that their sandbox has ended, and others do not", async () => {
  await using server = serve();
  const { id, token } = await create(server);
  const url = sign(token, "read", "x");
  assertEquals(
    (await send(server, "DELETE", `/sandboxes/${id}`, undefined, { "x-api-key": KEY })).status,
    204,
  );
  const named = { "e2b-sandbox-id": id };
  const gone = { sandboxId: id, code: 502, message: `The sandbox '${id}' was not found` };
  const health = await send(server, "GET", "/health", undefined, { ...named, "x-access-token": token });
  assertEquals([health.status, health.body], [502, gone]);
  assertEquals((await send(server, "GET", url, undefined, named)).body, gone);
  assertEquals((await send(server, "GET", url)).status, 401);
  const forged = token.replace(/.$/, (last) => last === "0" ? "1" : "0");
  const wrong = await send(server, "GET", "/health", undefined, { ...named, "x-access-token": forged });
  assertEquals(wrong.status, 401);
});

Deno.test("a sandbox of a snapshot has a token of its own", async () => {
  await using server = serve();
  const one = await create(server);
  const snapshot = await send(server, "POST", `/sandboxes/${one.id}/snapshots`, {}, { "x-api-key": KEY });
  const later = await create(server, { templateID: snapshot.body.snapshotID });
  assertNotEquals(later.token, one.token);
  const named = { "e2b-sandbox-id": later.id };
  assertEquals((await send(server, "GET", sign(one.token, "read", "x"), undefined, named)).status, 401);
  assertEquals((await send(server, "GET", sign(later.token, "read", "x"), undefined, named)).status, 404);
});

Deno.test("a wrong signature wakes no sandbox, and a right one wakes a paused one that resumes by itself", async () => {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  await using server = serve({ hibernation });
  const key = { "x-api-key": KEY };
  const sandboxes = [await create(server, { autoResume: { enabled: true } }), await create(server)];
  for (const { id, token } of sandboxes) {
    assertEquals((await send(server, "POST", `/sandboxes/${id}/pause`, {}, key)).status, 204);
    const { body: { envdAccessToken } } = await send(server, "GET", `/sandboxes/${id}`, undefined, key);
    assertEquals(envdAccessToken, token);
  }
  const ask = async (url: string) => (await send(server, "GET", url)).status;
  const states = async () => {
    const { body } = await send(server, "GET", "/v2/sandboxes?order=asc", undefined, key);
    return body.map(({ state }: { state: string }) => state);
  };
  const urls = sandboxes.map(({ token }) => sign(token, "read", "x"));
  const [resuming = "", resting = ""] = urls;
  assertEquals(await ask(resuming.replace("path=x", "path=y")), 401);
  assertEquals(await states(), ["paused", "paused"]);
  assertEquals([await ask(resuming), await ask(resting)], [404, 502]);
  assertEquals(await states(), ["running", "paused"]);
});

Deno.test("a server without tokens checks the signatures of its sandboxes too", async () => {
  await using server = serve({ tokens: [] });
  const { token } = await create(server);
  assertEquals((await send(server, "GET", sign(token, "read", "x"))).status, 404);
  assertEquals((await send(server, "GET", sign(token, "write", "x"))).status, 401);
  assertEquals((await send(server, "GET", sign(token, "read", "x", { expiration: "1" }))).body, {
    code: 401,
    message: "signature is already expired",
  });
});

Deno.test("an upload by a signed URL takes the memory of the sandbox's owner, and one that is refused takes none", async () => {
  const budgets = new Budgets({ bytes: 64 * 1024, owners: 1 });
  await using server = serve({ budgets });
  const { token } = await create(server);
  const upload = async (url: string, bytes: number) => {
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(bytes));
        controller.close();
      },
    }, { highWaterMark: 0 });
    const response = await request(server, url, { method: "POST", body });
    await response.body?.cancel();
    return [response.status, body.locked];
  };
  assertEquals(await upload(sign(token, "write", "x"), 8 * 1024), [404, true]);
  assertEquals(await upload(sign(token, "write", "x"), 16 * 1024), [413, true]);
  assertEquals(await upload(sign(token, "read", "x"), 16 * 1024), [401, false]);
});

/** Asks for the grant of a request. */
async function findGrant(access: SandboxAccess, url: string): Promise<SandboxGrant | undefined> {
  const found = Promise.withResolvers<SandboxGrant | undefined>();
  const app = new Hono<AppEnv>();
  app.all("*", (c) => {
    access.findGrant(c, "").then(found.resolve, found.reject);
    return c.text("");
  });
  await app.request(url);
  return await found.promise;
}

Deno.test("wrong signatures that name no sandbox take a bounded share of the time of the server", async () => {
  const sessions = Array.from({ length: 600 }, (_, index) => ({
    id: new Uint8Array(new Uint32Array([index, 0, 0, 0, 0, 0]).buffer).toBase64({ alphabet: "base64url" }),
    owner: "owner",
    attachment: { toText: () => "" },
  })) as unknown as LiveSession[];
  let time = 0;
  // each of four parts of a search takes 30 ms
  const now = () => time += 30;
  const access = new SandboxAccess({ all: () => sessions, peek: () => sessions[0] }, secret, { now });
  const id = toSandboxId(sessions[599]?.id ?? "");
  const right = sign(access.tokenOf(id), "read", "x");
  const wrong = right.replace("path=x", "path=y");
  const codes: (string | undefined)[] = [];
  const ask = async (url: string) => {
    const result = await findGrant(access, url).catch((error: ServerError) => error);
    codes.push(result instanceof ServerError ? result.code : result?.sandboxId);
    return result;
  };
  for (let count = 0; count < 5; count++) await ask(right);
  assertEquals(codes.splice(0), Array(5).fill(id), "right signatures use nothing up");
  await ask(wrong);
  await ask(wrong);
  const refusal = await ask(wrong);
  assertEquals(codes.splice(0), ["unauthorized", "unauthorized", "busy"]);
  assert(refusal instanceof ServerError && refusal.retryAfter !== undefined);
  await ask("/files?signature=v1_x");
  await ask(wrong.replace("path=y", `signature_expiration=1`));
  assertEquals(codes.splice(0), ["unauthorized", "unauthorized"], "what is void costs nothing");
  time += 10_000;
  await ask(right);
  assertEquals(codes, [id]);
});
