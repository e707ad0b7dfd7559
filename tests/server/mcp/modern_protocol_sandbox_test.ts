import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { CallToolResult, Client, VersionNegotiationMode } from "@modelcontextprotocol/client";
import { withPython } from "../with_python.ts";
import { call, connect, textOf } from "./sdk_client.ts";

const PIN = { pin: "2026-07-28" };
const MODES: readonly VersionNegotiationMode[] = ["legacy", "auto", PIN];

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Returns the handle that a result states. */
function handleOf({ content, _meta }: CallToolResult): string {
  const [, handle = ""] =
    JSON.stringify(content).match(/"session: ([0-9a-f]{16}) \(new: pass it as `session`/) ?? [];
  assertEquals(_meta?.["paddock/session"], handle);
  return handle;
}

async function run(client: Client, python_code: string, session?: string): Promise<CallToolResult> {
  return await call(client, "run_python_code", { python_code, ...(session !== undefined && { session }) });
}

Deno.test("/mcp speaks protocol 2026-07-28 and earlier ones over loopback", async (t) => {
  await withPython(async (server) => {
    const http = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => server.app.fetch(request),
    );
    const url = `http://127.0.0.1:${http.addr.port}/mcp`;
    for (const mode of MODES) {
      await t.step(JSON.stringify(mode), async () => {
        await using client = await connect(server, { mode, url });
        const isModern = mode !== "legacy";
        assertEquals(client.getNegotiatedProtocolVersion() === "2026-07-28", isModern);
        const { tools } = await client.listTools();
        assertEquals("session" in (tools[0]?.inputSchema.properties ?? {}), isModern);
        const first = await run(client, "x = 6");
        const session = isModern ? handleOf(first) : undefined;
        assertStringIncludes(textOf(await run(client, "x * 7", session)), "<return_value>\n42\n");
      });
    }
    await http.shutdown();
  }, { maxSessions: 3 });
});

Deno.test("/mcp keeps variables and files of each handle apart", async () => {
  await withPython(async (server) => {
    await using client = await connect(server, { mode: PIN });
    const [one, other] = [handleOf(await run(client, "x = 1")), handleOf(await run(client, "x = 2"))];
    assert(one !== other);
    await call(client, "write_file", { path: "a.txt", content: "of one", session: one });
    assertStringIncludes(textOf(await run(client, "x, open('a.txt').read()", one)), '1,\n  "of one"');
    assertStringIncludes(textOf(await run(client, "x", other)), "<return_value>\n2\n");
    assertEquals(textOf(await call(client, "list_files", { session: other })), "");
    assertEquals((await run(client, "x", one)).content.length, 1, "a known handle is not repeated");
    assertEquals(textOf(await call(client, "reset_session", { session: one })), "reset");
    assertStringIncludes(textOf(await run(client, "x", one)), "NameError");
    const written = await call(client, "write_file", { path: "b.txt", content: "b" });
    const { content } = await call(client, "read_file", { path: "b.txt", session: handleOf(written) });
    assertEquals(content, [{ type: "text", text: "b" }]);
  }, { maxSessions: 3 });
});

Deno.test("/mcp gives a handle to its owner only, and names one that has ended", async () => {
  await withPython(async (server) => {
    await using mine = await connect(server, { mode: PIN, token: "a-token" });
    await using theirs = await connect(server, { mode: PIN, token: "b-token" });
    const session = handleOf(await run(mine, "x = 'secret'"));
    for (
      const [client, handle] of [[theirs, session], [mine, "0".repeat(16)], [mine, "__proto__"]] as const
    ) {
      const { isError, ...result } = await run(client, "x", handle);
      assertEquals(isError, true);
      assertEquals(
        textOf(result),
        `Cannot use session '${handle}' as it has ended or never existed: run_python_code without \`session\` opens a new one`,
      );
    }
    const long = await run(mine, "x", "s".repeat(100_000));
    assert(textOf(long).length < 200);
    assertStringIncludes(textOf(await run(mine, "x", session)), "secret");
    const { isError } = await call(mine, "list_files");
    assertEquals(isError, true, "a tool that needs an existing session must have its handle");
    for (const owner of ["a-token", "b-token"]) {
      const { body } = await server.send("GET", "/v1/sessions", undefined, {
        authorization: `Bearer ${owner}`,
      });
      for (const { id } of body.sessions) {
        await server.send("DELETE", `/v1/sessions/${id}`, undefined, { authorization: `Bearer ${owner}` });
      }
    }
    const { content } = await run(mine, "1", session);
    assertStringIncludes(JSON.stringify(content), "variables of earlier calls are gone");
  }, { tokens: ["a-token", "b-token"] });
});

Deno.test("/mcp keeps one session for a URL that names one, as for a connection", async () => {
  await withPython(async (server) => {
    const http = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => server.app.fetch(request),
    );
    const url = (name: string) => `http://127.0.0.1:${http.addr.port}/mcp?session=${name}`;
    {
      await using mine = await connect(server, { mode: PIN, token: "a-token", url: url("agent-1") });
      await using same = await connect(server, { mode: "auto", token: "a-token", url: url("agent-1") });
      await using theirs = await connect(server, { mode: PIN, token: "b-token", url: url("agent-1") });
      const { tools: [tool] } = await mine.listTools();
      assertEquals("session" in (tool?.inputSchema.properties ?? {}), false);
      const [first] = await Promise.all([run(mine, "x = 1"), run(mine, "y = 2")]);
      assertEquals(first.content.length, 1);
      assertStringIncludes(textOf(await run(same, "x + y")), "<return_value>\n3\n");
      assertStringIncludes(textOf(await run(theirs, "x")), "NameError");
    }
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: META } };
    for (const name of ["", "a b", "x".repeat(65)]) {
      const headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
        authorization: "Bearer a-token",
      };
      const path = `/mcp?session=${encodeURIComponent(name)}`;
      const refused = await server.send("POST", path, body, headers);
      assertEquals(refused.status, 400, JSON.stringify(refused.body));
      assertStringIncludes(JSON.stringify(refused.body), "its name must be 1 to 64");
    }
    await http.shutdown();
  }, { tokens: ["a-token", "b-token"], maxSessions: 2 });
});

Deno.test("/mcp makes and restores checkpoints by handle", async () => {
  await withPython(async (server) => {
    await using client = await connect(server, { mode: PIN });
    const session = handleOf(await run(client, "x = 41"));
    const [, checkpoint] =
      textOf(await call(client, "checkpoint", { session })).match(/^checkpoint: (c1)$/) ?? [];
    await run(client, "del x", session);
    assertEquals(textOf(await call(client, "restore", { checkpoint, session })), "restored c1");
    assertStringIncludes(textOf(await run(client, "x + 1", session)), "42");
  }, { mcpCheckpoints: true });
});

Deno.test("/mcp answers requests of 2026-07-28 without a client, and refuses other revisions", async () => {
  await withPython(async (server) => {
    const post = async (method: string, revision: string, headers: Record<string, string> = {}) => {
      const _meta = { ...META, "io.modelcontextprotocol/protocolVersion": revision };
      const body = { jsonrpc: "2.0", id: 7, method, params: { _meta } };
      return await server.send("POST", "/mcp", body, {
        "mcp-protocol-version": revision,
        "mcp-method": method,
        accept: "application/json, text/event-stream",
        ...headers,
      });
    };
    const discovered = await post("server/discover", "2026-07-28");
    assertEquals(discovered.status, 200);
    assertMatch(JSON.stringify(discovered.body), /2026-07-28/);
    const refused = await post("tools/list", "2099-01-01");
    assertEquals([refused.status, refused.body.id], [400, 7]);
    assertStringIncludes(JSON.stringify(refused.body.error), "2026-07-28");
    const mismatch = await post("tools/list", "2026-07-28", { "mcp-method": "tools/call" });
    assertEquals(mismatch.status, 400);
    assertEquals((await post("tools/list", "2026-07-28")).status, 200);
    assertEquals(server.sessions.directory.list("").length, 0, "listing tools opens no session");
  });
});
