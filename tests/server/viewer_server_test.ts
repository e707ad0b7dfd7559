import { assertEquals } from "@std/assert";
import { viewerServer } from "../../src/server/viewer_server.ts";
import { RunFolder } from "../../src/viewer/run_folder.ts";
import { TempFolder } from "../temp_folder.ts";
import { runOf } from "../viewer/saved_rows.ts";

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
