import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  type hiddenTests,
  loadProfile,
  type PythonInterpreter,
  SandboxPool,
  type SessionPool,
} from "../../mod.ts";
import { PaddockClient } from "../../mod/client.ts";
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
