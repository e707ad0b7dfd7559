import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  type hiddenTests,
  loadProfile,
  type PythonInterpreter,
  SandboxPool,
  type SessionPool,
} from "../../mod.ts";
import { PaddockClient } from "../../mod/client.ts";
import { SandboxError } from "../../mod/sandbox.ts";
import type { PaddockServer } from "../../mod/server.ts";
import { served } from "../server/served.ts";

type Accepts<Pool, Given extends Pool> = Given;

/** Fails to compile if one of these cannot use a `PaddockClient` as its pool. */
export type PoolUsers = [
  Accepts<ConstructorParameters<typeof PythonInterpreter>[0]["pool"], PaddockClient>,
  Accepts<Parameters<typeof hiddenTests>[0]["pool"], PaddockClient>,
  Accepts<ConstructorParameters<typeof PaddockServer>[0]["pool"], PaddockClient>,
  Accepts<SessionPool, PaddockClient>,
];

Deno.test("a server can serve the sessions of another server, over HTTP and MCP", async () => {
  await using pool = new SandboxPool({ profile: await loadProfile("serve"), size: 2, resetMode: "rewind" });
  await using inner = served({ pool, maxSessions: 2 });
  await using between = new PaddockClient({ url: "http://a", fetch: (request) => inner.app.fetch(request) });
  await using outer = served({ pool: between, maxSessions: 2 });
  const { body: { id } } = await outer.send("POST", "/v1/sessions", {});
  await outer.send("POST", `/v1/sessions/${id}/exec`, { code: "x = 20" });
  assertEquals((await outer.send("POST", `/v1/sessions/${id}/exec`, { code: "x + 1" })).body.value, "21");
  const missing = await outer.send("GET", `/v1/sessions/${id}/file?path=none`);
  assertEquals([missing.status, missing.body.error.type], [404, "not_found"]);
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), {
    fetch: async (url, init) => await outer.app.fetch(new Request(url, init)),
  });
  await client.connect(transport);
  const call = { name: "run_python_code", arguments: { python_code: "print(6 * 7)" } };
  const { content } = await client.callTool(call) as CallToolResult;
  assertStringIncludes(JSON.stringify(content), "42");
  await transport.terminateSession();
  await client.close();
});

Deno.test("PaddockClient lists and deletes checkpoints, and copies of a session can call its tools", async () => {
  await using pool = new SandboxPool({ profile: await loadProfile("serve"), size: 3, resetMode: "rewind" });
  await using server = served({ pool, maxSessions: 3 });
  await using client = new PaddockClient({ url: "http://a", fetch: (request) => server.app.fetch(request) });
  const calls: unknown[] = [];
  const lookUp = {
    name: "look_up",
    description: "Looks a word up",
    parameters: { type: "object", properties: { word: { type: "string" } } },
    run: ({ word }: Record<string, unknown>) => calls.push(word),
  };
  await using lease = await client.acquire({ tools: [lookUp] });
  await lease.session.exec("from paddock import tools; tools.look_up(word='a')");
  const { id, tools } = await lease.session.checkpoint();
  assertEquals(tools, ["look_up"]);
  const copies = await lease.session.fork(2);
  for (const { session } of copies) await session.exec("tools.look_up(word='b')");
  assertEquals(calls, ["a", "b", "b"]);
  assertEquals((await client.listSessions()).length, 3);
  for (const copy of copies) await copy[Symbol.asyncDispose]();
  const [listed, ...more] = await client.listCheckpoints();
  assertEquals([listed?.id, more, Number.isNaN(Date.parse(listed?.expiresAt ?? ""))], [id, [], false]);
  await client.deleteCheckpoint(id);
  await client.deleteCheckpoint(id);
  assertEquals(await client.listCheckpoints(), []);
  await assertRejects(() => client.acquire({ from: listed }), SandboxError, "There is no such checkpoint");
  await assertRejects(() => lease.session.checkpoint({ owner: "me" }), TypeError, "owner");
});
