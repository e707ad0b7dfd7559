import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { EpisodeError } from "../../../src/errors.ts";
import { McpClients } from "../../../src/tools/mcp/mcp_clients.ts";
import type { McpServer } from "../../../src/tools/mcp/mcp_server.ts";
import answers from "../../data/mcp/odd_answers.json" with { type: "json" };

const SERVER = decodeURIComponent(new URL("./odd_server.js", import.meta.url).pathname);
const DATA = decodeURIComponent(new URL("../../data/mcp", import.meta.url).pathname);
const permissions = { read: [DATA] };
const never = new AbortController().signal;

interface CallCase {
  readonly tool: string;
  readonly line: string;
  readonly text?: string;
  readonly error?: string;
}

interface ListCase {
  readonly name: string;
  readonly tools: readonly string[];
  readonly warning?: string;
}

const calls: readonly CallCase[] = answers.calls;
const lists: readonly ListCase[] = answers.lists;

function clientsOf(s: McpServer, warnings: string[] = []): McpClients {
  return new McpClients({ servers: { s }, detected: [], onWarning: (warning) => warnings.push(warning) });
}

Deno.test("McpClients give the model what a server answers, in whatever form, and fail a call at once", async (t) => {
  await using clients = clientsOf({ module: SERVER, permissions });
  for (const { tool, text, error } of calls) {
    await t.step(tool, async () => {
      const call = async () =>
        await clients.find(`s.${tool}`).run({}, { signal: never, callId: tool, state: {} });
      if (error === undefined) return assertEquals(await call(), text);
      const { message } = await assertRejects(call, EpisodeError);
      assertEquals(message.replace(/(["']id["']: ?)\d+/, "$1ID"), error);
    });
  }
});

/** Serves the same answers over HTTP, as JSON or as events. */
async function respond(request: Request): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const { id, method, params } = await request.json();
  if (id === undefined) return new Response(null, { status: 202 });
  const result = (result: object) => Response.json({ jsonrpc: "2.0", id, result });
  if (method === "initialize") {
    return result({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: null });
  }
  if (method === "tools/list") return result({ tools: [], nextCursor: null });
  const text = (calls.find(({ tool }) => tool === params.name)?.line ?? "").replaceAll("ID", id);
  if (request.url.endsWith("/json")) {
    return new Response(text, { headers: { "content-type": "application/json" } });
  }
  const lines = text.split("\n").map((line) => `data: ${line}\n\n`).join("");
  return new Response(lines, { headers: { "content-type": "text/event-stream" } });
}

Deno.test("McpClients read the same answers over HTTP", async (t) => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, respond);
  for (const form of ["events", "json"]) {
    await t.step(form, async (t) => {
      await using clients = clientsOf({ url: `http://127.0.0.1:${server.addr.port}/${form}` });
      const isOneMessage = ({ line }: CallCase) => form === "events" || !line.includes("\n");
      for (const each of calls.filter(isOneMessage)) {
        await t.step(each.tool, async () => {
          const call = async () =>
            String(await clients.find(`s.${each.tool}`).run({}, { signal: never, callId: "1", state: {} }));
          if (each.error === undefined) return assertEquals(await call(), each.text);
          await assertRejects(call, EpisodeError, each.error.split(" text that ")[0]);
        });
      }
    });
  }
  await server.shutdown();
});

for (const { name, tools, warning } of lists) {
  Deno.test(`McpClients.tools() leaves out single tools and names them: ${name}`, async () => {
    const warnings: string[] = [];
    await using clients = clientsOf({ module: SERVER, args: [name], permissions }, warnings);
    const listed = await clients.tools();
    assertEquals(listed.map(({ name }) => name), tools.map((tool) => `s.${tool}`));
    assert(listed.every(({ parameters }) => Object(parameters).type === "object"));
    await clients.tools();
    assertEquals(warnings, warning === undefined ? [] : [warning], "once for each start of the server");
    const [first = ""] = tools;
    assertEquals(await clients.find(`s.${first}`).run({}, { signal: never, callId: "1", state: {} }), "ok");
  });
}

Deno.test("McpClients quote 200 characters of a response that is no JSON", async () => {
  const long = "x".repeat(5_000);
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method } = await request.clone().json();
    if (method !== "tools/call") return await respond(request);
    const body = `{"jsonrpc":"2.0","id":${id},"result":{"content":"${long}\t"}}`;
    return new Response(body, { headers: { "content-type": "application/json" } });
  });
  {
    await using clients = clientsOf({ url: `http://127.0.0.1:${server.addr.port}/json` });
    const call = async () => await clients.find("s.a").run({}, { signal: never, callId: "1", state: {} });
    const { message } = await assertRejects(call, EpisodeError);
    assertStringIncludes(message, "xxx…'");
    assert(message.length < 350);
  }
  await server.shutdown();
});
