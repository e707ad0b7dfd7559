import { assertEquals } from "@std/assert";
import { Budgets } from "../../src/server/admission/budget.ts";
import { viewerServer } from "../../src/server/viewer_server.ts";
import { RunFolder } from "../../src/viewer/run_folder.ts";
import { served } from "./served.ts";
import { TempFolder } from "../temp_folder.ts";
import { rowOf, runOf } from "../viewer/saved_rows.ts";

const address = "127.0.0.1";
const CONNECTION = { address } as Parameters<ReturnType<typeof viewerServer>>[1];

Deno.test("viewerServer() refuses other host names, origins and methods", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(1) });
  const errors: unknown[] = [];
  const server = viewerServer({
    folder: await RunFolder.open(folder.path),
    hosts: ["localhost", "127.0.0.1"],
    onError: (error) => errors.push(error),
  });
  const statusOf = async (path: string, headers: Record<string, string>, method = "GET") => {
    const response = await server(new Request(`http://localhost${path}`, { headers, method }), CONNECTION);
    await response.body?.cancel();
    return response.status;
  };
  const host = "localhost:8472";
  assertEquals(await statusOf("/runs", { host }), 200);
  assertEquals(await statusOf("/", { host }), 302);
  assertEquals(await statusOf("/runs", { host: "evil.example:8472" }), 403); // DNS rebinding
  assertEquals(await statusOf("/runs/a.jsonl/export.jsonl", { host, origin: "http://evil.example" }), 403);
  assertEquals(await statusOf("/runs", {}), 400);
  for (const method of ["POST", "PUT", "DELETE"]) {
    assertEquals(await statusOf("/runs", { host }, method), 405);
  }
  assertEquals(errors, []);
});

Deno.test("/runs of a server needs its token, which a browser sends as a password there and nowhere else", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": runOf(1) });
  const token = "a-token-of-the-server";
  await using server = served({ tokens: [token], runs: { folder: await RunFolder.open(folder.path) } });
  const statusOf = async (path: string, authorization: string) =>
    (await server.send("GET", path, undefined, authorization ? { authorization } : {})).status;
  const basic = (password: string) => `Basic ${btoa(`anyone:${password}`)}`;
  const refused = await server.send("GET", "/runs");
  assertEquals(refused.status, 401);
  assertEquals(refused.headers.get("www-authenticate"), 'Basic realm="Paddock runs", charset="UTF-8"');
  for (const path of ["/runs", "/runs/a.jsonl", "/runs/a.jsonl/episodes/1/raw", "/runs/assets/viewer.js"]) {
    assertEquals(await statusOf(path, ""), 401, path);
    assertEquals(await statusOf(path, basic("wrong")), 401, path);
    assertEquals(await statusOf(path, "Basic %%%"), 401, path);
    assertEquals(await statusOf(path, basic(token)), 200, path);
    assertEquals(await statusOf(path, `Bearer ${token}`), 200, path);
  }
  assertEquals(await statusOf("/v1/sessions", basic(token)), 401);
  assertEquals((await server.send("POST", "/runs", {}, { authorization: basic(token) })).status, 405);
  assertEquals(server.errors, []);
});

Deno.test("a server without a folder of runs has no /runs", async () => {
  await using server = served();
  assertEquals((await server.send("GET", "/runs")).status, 404);
});

Deno.test("exports of /runs take no memory of their size, and state their size where it is known", async () => {
  const row = rowOf({ messages: [{ role: "user", content: "x".repeat(100_000) }] });
  await using folder = await TempFolder.of({ "a.jsonl": `${row}\n`.repeat(3) });
  const budgets = new Budgets({ bytes: 100_000 });
  await using server = served({ budgets, runs: { folder: await RunFolder.open(folder.path) } });
  const headersOf = async (path: string) => {
    const response = await server.app.request(path);
    assertEquals(response.status, 200, path);
    const bytes = (await response.bytes()).length;
    return [bytes, response.headers.get("content-length")];
  };
  const size = row.length + 1;
  assertEquals(await headersOf("/runs/a.jsonl/episodes/2/raw"), [size, `${size}`]);
  assertEquals(await headersOf("/runs/a.jsonl/export.jsonl"), [3 * size, `${3 * size}`]);
  assertEquals((await headersOf("/runs/a.jsonl/export.csv"))[1], null);
});
