import { assertEquals, assertNotEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { PaddockServer } from "../../../../src/server/paddock_server.ts";
import { HibernationStore } from "../../../../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../../../../src/server/hibernation/state_directory.ts";
import { BranchingFakePool, readFakeCheckpoint } from "../../../fake_pool.ts";
import { TempFolder } from "../../../temp_folder.ts";
import type { Served } from "../../served.ts";
import { withPython } from "../../with_python.ts";

const KEY = "e2b_0123456789abcdef";
/** Home directory of E2B's user `root` in a sandbox. */
const ROOT_HOME = "/root";
const key = { "x-api-key": KEY };

/** Signs a URL as the SDKs of E2B do. */
function sign(token: string, operation: string, path: string, user = ""): string {
  const text = `${path}:${operation}:${user}:${token}`;
  const signature = `v1_${createHash("sha256").update(text).digest("base64").replace(/=+$/, "")}`;
  return `/files?${new URLSearchParams({ ...path && { path }, ...user && { username: user }, signature })}`;
}

interface Sandbox {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
}

async function create(server: Served): Promise<Sandbox> {
  return (await server.send("POST", "/v2/sandboxes", { timeout: 600 }, key)).body;
}

/** Uploads files by a URL, and returns the status and their paths. */
async function upload(server: Served, url: string, ...files: [string, string][]): Promise<unknown[]> {
  const form = new FormData();
  for (const [name, text] of files) form.append("file", new Blob([text]), name);
  const response = await server.app.request(url, { method: "POST", body: form });
  const body = await response.json();
  return Array.isArray(body) ? body.map(({ path }) => path) : [response.status];
}

async function read(server: Served, url: string): Promise<string> {
  return await (await server.app.request(url)).text();
}

Deno.test("signed URLs of a sandbox read and write the files that were signed, also as root", async () => {
  await withPython(async (server) => {
    const { envdAccessToken: token, sandboxID: id } = await create(server);
    const write = sign(token, "write", "ü/a b.txt");
    assertEquals(await upload(server, write, ["other.txt", "one"]), ["/home/user/ü/a b.txt"]);
    const response = await server.app.request(sign(token, "read", "ü/a b.txt"));
    assertEquals(await response.text(), "one");
    assertEquals(response.headers.get("content-disposition"), "attachment; filename*=UTF-8''a%20b.txt");
    assertEquals((await server.app.request(write)).status, 401);
    const root = sign(token, "write", "hello.txt", "root");
    assertEquals(await upload(server, root, ["x", "of root"]), [`${ROOT_HOME}/hello.txt`]);
    assertEquals(await read(server, sign(token, "read", "hello.txt", "root")), "of root");
    const as = (user: string) => ({
      "e2b-sandbox-id": id,
      "x-access-token": token,
      authorization: `Basic ${btoa(`${user}:`)}`,
    });
    const stat = async (user: string) =>
      (await server.send("POST", "/filesystem.Filesystem/Stat", { path: "hello.txt" }, as(user))).body;
    assertEquals((await stat("root")).entry.path, `${ROOT_HOME}/hello.txt`);
    assertEquals((await stat("user")).code, "not_found");
  }, { tokens: [KEY] });
});

Deno.test("a form cannot lead an upload away from the path that was signed", async () => {
  await withPython(async (server) => {
    const { envdAccessToken: token } = await create(server);
    const fixed = sign(token, "write", "/tmp/fixed.txt");
    assertEquals(await upload(server, fixed, ["/tmp/a.txt", "a"], ["/tmp/b.txt", "b"]), [400]);
    assertEquals(await upload(server, fixed, ["/tmp/a.txt", "a"]), ["/tmp/fixed.txt"]);
    const free = sign(token, "write", "");
    for (const name of ["/tmp/c.txt", "../c.txt", "a/../../../tmp/c.txt", "~/../c.txt"]) {
      assertEquals(await upload(server, free, [name, "c"]), [400], name);
    }
    const names: [string, string][] = [["d/e.txt", "e"], ["..f.txt", "f"]];
    assertEquals(await upload(server, free, ...names), ["/home/user/d/e.txt", "/home/user/..f.txt"]);
    assertEquals((await server.app.request(free, { method: "POST", body: "raw" })).status, 400);
    assertEquals(await read(server, sign(token, "read", "/tmp/fixed.txt")), "a");
    for (const path of ["/tmp/a.txt", "/tmp/b.txt", "/tmp/c.txt", "/home/c.txt"]) {
      assertEquals((await server.app.request(sign(token, "read", path))).status, 404, path);
    }
  }, { tokens: [KEY] });
});

Deno.test("signed URLs outlive a pause, and those of a copy are its own", async () => {
  const hibernation = { store: new HibernationStore(), afterMs: 3_600_000 };
  await withPython(async (server) => {
    const { envdAccessToken: token, sandboxID: id } = await create(server);
    const url = sign(token, "read", "x");
    await upload(server, sign(token, "write", "x"), ["x", "kept"]);
    const { body: [{ sandbox: copy }] } = await server.send("POST", `/sandboxes/${id}/fork`, {}, key);
    assertNotEquals(copy.envdAccessToken, token);
    await upload(server, sign(token, "write", "x"), ["x", "changed"]);
    assertEquals(await read(server, sign(copy.envdAccessToken, "read", "x")), "kept");
    assertEquals((await server.send("POST", `/sandboxes/${id}/pause`, {}, key)).status, 204);
    assertEquals((await server.app.request(url)).status, 502);
    assertEquals((await server.send("POST", `/sandboxes/${id}/resume`, { timeout: 60 }, key)).status, 201);
    assertEquals(await read(server, url), "changed");
    const named = { headers: { "e2b-sandbox-id": copy.sandboxID } };
    assertEquals((await server.app.request(url, named)).status, 401);
  }, { tokens: [KEY], hibernation, maxSessions: 3 });
});

Deno.test("a server that continues the sandboxes of a state directory knows their tokens", async () => {
  await using folder = await TempFolder.of();
  const serve = async <T>(path: string, work: (server: PaddockServer) => Promise<T>): Promise<T> => {
    using directory = await StateDirectory.open(join(folder.path, path), { read: readFakeCheckpoint });
    const hibernation = { directory };
    const pool = new BranchingFakePool();
    await using server = new PaddockServer({ pool, maxSessions: 2, tokens: [KEY], hibernation });
    const result = await work(server);
    await server.suspend();
    return result;
  };
  const ask = async (server: PaddockServer, path: string, headers: HeadersInit, method = "GET") =>
    await server.fetch(new Request(`http://localhost${path}`, { method, headers }));
  const { sandboxID: id, envdAccessToken: token }: Sandbox = await serve(
    "state",
    async (server) => await (await ask(server, "/v2/sandboxes", key, "POST")).json(),
  );
  const headers = { "e2b-sandbox-id": id, "x-access-token": token };
  await serve("state", async (server) => {
    assertEquals((await (await ask(server, `/sandboxes/${id}`, key)).json()).envdAccessToken, token);
    assertEquals((await ask(server, "/health", headers)).status, 204);
    // the fake interpreter has no files
    assertEquals((await ask(server, sign(token, "read", "x"), {})).status, 409);
  });
  await serve("other", async (server) => {
    assertEquals((await ask(server, "/health", headers)).status, 401);
  });
  for await (const { name, isFile } of Deno.readDir(join(folder.path, "state"))) {
    if (!isFile) continue;
    const bytes = await Deno.readFile(join(folder.path, "state", name));
    assertEquals(new TextDecoder().decode(bytes).includes(token.slice(4)), false, name);
  }
});
