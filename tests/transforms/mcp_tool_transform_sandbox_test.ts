import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { createMcpHandler, McpServer as SdkServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { Step } from "../../src/envs/env.ts";
import { McpError } from "../../src/errors.ts";
import { detectLayers } from "../../src/sandbox/process/layers.ts";
import { McpClients, type McpClientsOptions } from "../../src/tools/mcp/mcp_clients.ts";
import type { McpServer } from "../../src/tools/mcp/mcp_server.ts";
import { xmlCalls } from "../../src/tools/parsers/xml_calls.ts";
import { MCPToolTransform, type MCPToolTransformOptions } from "../../src/transforms/mcp_tool_transform.ts";
import { ToolTransform } from "../../src/transforms/tool_transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { childrenOf } from "../../bench/processes.ts";
import { HANG_MS } from "../deadline.ts";
import { anyTool } from "../tools/play_tools.ts";

const detected = await detectLayers();
const FAKE = decodeURIComponent(new URL("../tools/mcp/fake_server.js", import.meta.url).pathname);
const task = { id: "t", query: "q" };

function fake(...args: string[]): McpServer {
  return { module: FAKE, args };
}

function call(name: string, args: unknown = {}): string {
  return `<tool>${name}\n${JSON.stringify(args)}</tool>`;
}

type Ask = (reply: string) => Promise<Step>;

/** Runs an episode with these servers. */
async function withServers(
  servers: McpClientsOptions["servers"],
  play: (ask: Ask, env: TransformedEnv) => Promise<void>,
  options: Partial<MCPToolTransformOptions> = {},
): Promise<void> {
  const transform = new MCPToolTransform(
    { onWarning() {}, ...options, servers, detected } as MCPToolTransformOptions,
  );
  await using env = new TransformedEnv(new ChatEnv(), [transform]);
  await env.reset(task);
  await play((reply) => env.step(replyAction(reply)), env);
}

async function textOf(ask: Ask, reply: string): Promise<string> {
  return String((await ask(reply)).history.prompt.last?.content);
}

Deno.test("MCPToolTransform: initialize handshake, all pages of tools, `server.tool` offered", async () => {
  const transform = new MCPToolTransform({ servers: { fake: fake("prints"), other: fake() }, detected });
  await using env = new TransformedEnv(new ChatEnv(), [transform]);
  const { tools = [] } = await env.reset(task);
  const names = tools.map(({ name }) => name);
  assertEquals(names.length, 28);
  assert(
    names.includes("fake.say-it") && names.includes("other.thrown") && names.includes("fake.dotted.name"),
  );
  assertEquals(tools[0], {
    name: "fake.say-it",
    description: "Does say-it.",
    parameters: { type: "object" },
  });
  assertEquals((await env.step(replyAction("no call"))).tools, tools);
});

Deno.test("MCPToolTransform: names with `-` and `.`, text parts not repr, others described", async () => {
  await withServers({ fake: fake(), "b.c": fake() }, async (ask) => {
    const cases: Readonly<Record<string, string>> = {
      [call("fake.say-it", { what: "it's" })]: "Tool fake.say-it executed successfully:\nit's",
      [call("say-it", { what: 1 })]: "Tool fake.say-it executed successfully:\n1",
      [call("b.c.say-it", { what: 2 })]: "Tool b.c.say-it executed successfully:\n2",
      [call("fake.dotted.name")]: "Tool fake.dotted.name executed successfully:\ndotted",
      [call("fake.mixed")]:
        "Tool fake.mixed executed successfully:\nit's text\n[audio audio/wav 3 bytes]\n[resource x://y 5 bytes]",
      [call("fake.structured")]: 'Tool fake.structured executed successfully:\n{"n":1}',
      "<tool>fake.counts\n</tool>": "Tool fake.counts executed successfully:\nstart 1, call 1",
    };
    for (const [reply, text] of Object.entries(cases)) assertEquals(await textOf(ask, reply), text);
  });
});

Deno.test("MCPToolTransform: isError honoured, unknown tools and servers, bad JSON", async () => {
  await withServers({ fake: fake() }, async (ask) => {
    const { toolResults, history } = await ask(
      [
        call("fake.fails"),
        call("fake.nope"),
        call("none.x"),
        "<tool>fake.say-it\n{]</tool>",
        call("fake.thrown"),
      ]
        .join(""),
    );
    assertEquals(history.prompt.toChats().slice(2).map(({ content }) => content), [
      "Tool fake.fails failed:\nit did not work",
      "Tool fake.nope failed:\nMCP tool call failed: Unknown tool: nope",
      "Tool none.x failed:\nMCP server 'none' not connected",
      "Tool fake.say-it failed:\nFailed to parse tool arguments: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
      "Tool fake.thrown failed:\nMCP tool call failed: a protocol error",
    ]);
    assertEquals(toolResults.map(({ status, callId }) => [status, callId]), [
      ["error", "mcp-1-1"],
      ["error", "mcp-1-2"],
      ["error", "mcp-1-3"],
      ["bad_arguments", "mcp-1-4"],
      ["error", "mcp-1-5"],
    ]);
  });
});

Deno.test("MCPToolTransform cancels a call at its time limit and keeps the server", async () => {
  await withServers({ fake: fake() }, async (ask) => {
    assertEquals(
      await textOf(ask, call("fake.forever")),
      "Tool fake.forever failed:\nTool execution timed out after 0.05s",
    );
    assertEquals(
      await textOf(ask, call("fake.counts")),
      "Tool fake.counts executed successfully:\nstart 1, call 1",
    );
  }, { timeoutMs: 50 });
});

Deno.test("MCPToolTransform restarts a server that died, once for each call", async () => {
  const file = await Deno.makeTempFile();
  const server = { ...fake("well", file), permissions: { read: [file], write: [file] } };
  await withServers({ fake: server }, async (ask) => {
    assertEquals(
      await textOf(ask, call("fake.die-safely")),
      "Tool fake.die-safely executed successfully:\nstart 2",
    );
    assertEquals(
      await textOf(ask, call("fake.die")),
      "Tool fake.die failed:\nMCP tool call failed: the server ended before it answered",
    );
    assertEquals(
      await textOf(ask, call("fake.counts")),
      "Tool fake.counts executed successfully:\nstart 3, call 1",
    );
  });
  await Deno.remove(file);
});

Deno.test("MCPToolTransform reports a server that cannot restart as not connected, and the episode continues", async () => {
  const file = await Deno.makeTempFile();
  const server = { ...fake("dies-later", file), permissions: { read: [file], write: [file] } };
  await withServers({ fake: server }, async (ask) => {
    await ask(call("fake.die"));
    assertEquals(
      await textOf(ask, call("fake.counts")),
      "Tool fake.counts failed:\nMCP server 'fake' not connected",
    );
    assertEquals(await Deno.readTextFile(file), "2");
  });
  await Deno.remove(file);
});

Deno.test("MCPToolTransform ignores invalid lines on stdout and ends a server that writes too many", async () => {
  await withServers({ fake: fake("prints") }, async (ask) => {
    assertEquals(
      await textOf(ask, call("fake.garbage")),
      "Tool fake.garbage executed successfully:\nbehind garbage",
    );
    assertEquals(await textOf(ask, call("fake.odd")), "Tool fake.odd executed successfully:\nno list");
    assertStringIncludes(
      await textOf(ask, call("fake.flood")),
      "failed:\nMCP tool call failed: the server ended",
    );
    assertEquals(
      await textOf(ask, call("fake.counts")),
      "Tool fake.counts executed successfully:\nstart 1, call 1",
    );
  });
});

Deno.test("MCPToolTransform.reset() rejects with an McpError when a server cannot be started", async (t) => {
  const bad: Readonly<Record<string, [server: McpServer, why: string]>> = {
    "it dies": [fake("dies"), "no licence found"],
    "it says nothing": [fake("mute"), "the server did not answer within 400 ms"],
    "it writes garbage": [fake("garbage"), "it wrote a line that is not a message: 'hello?'"],
    "its pages never end": [fake("endless-pages"), "MCP server 'fake' not connected: "],
    "there is no such program": [{ command: "/nowhere/server" }, "MCP server 'fake' not connected: "],
    "there is no such module": [{ module: "./nowhere.ts" }, "Module not found"],
    "no server listens": [{ url: "http://127.0.0.1:9/mcp" }, "MCP server 'fake' not connected: "],
  };
  const limits: Readonly<Record<string, [server: McpServer, why: string]>> = {
    "it offers too many tools": [fake("many-tools"), "a server may offer 1000 tools: it offers 1001 or more"],
    "it makes too many requests": [fake("requests"), "a server may make 100 requests a second"],
    "a message has too many values": [fake("many-values"), "JSON must have at most 200000 values"],
  };
  for (const [what, [server, why]] of Object.entries({ ...bad, ...limits })) {
    await t.step(what, async () => {
      const startTimeoutMs = what in limits ? HANG_MS : 400;
      const options = { servers: { fake: server }, detected, startTimeoutMs };
      await using env = new TransformedEnv(new ChatEnv(), [new MCPToolTransform(options)]);
      const error = await assertRejects(() => env.reset(task), McpError, why);
      assertStringIncludes(error.message, "MCP server 'fake' not connected: ");
    });
  }
  assertEquals(await childrenOf(Deno.pid, "fake_server"), []);
});

Deno.test("McpClients.tools() rejects for all waiters of a failed start and retries for the next caller", async () => {
  await using clients = new McpClients({ servers: { fake: fake("mute") }, detected, startTimeoutMs: 300 });
  const waited = await Promise.allSettled([1, 2, 3].map(() => clients.tools()));
  const failures = waited.map((outcome) => outcome.status === "rejected" ? outcome.reason : undefined);
  assert(failures[0] instanceof McpError);
  assert(failures.every((failure) => failure === failures[0]), "they waited for the same start");
  const next = await assertRejects(
    () => clients.tools(),
    McpError,
    "the server did not answer within 300 ms",
  );
  assert(next !== failures[0]);
});

Deno.test("MCPToolTransform.reset() waits for a slow server and rethrows a cancellation", async () => {
  await withServers({ fake: fake("slow") }, async (ask) => {
    assertStringIncludes(await textOf(ask, call("fake.counts")), "start 1, call 1");
  });
  const transform = new MCPToolTransform({ servers: { fake: fake("mute") }, detected });
  await using env = new TransformedEnv(new ChatEnv(), [transform]);
  const stop = new AbortController();
  const reset = env.reset(task, { signal: stop.signal });
  stop.abort(new RangeError("enough"));
  await assertRejects(() => reset, RangeError, "enough");
});

Deno.test("MCPToolTransform gives a server only the environment that is granted", async () => {
  const granted: McpServer = { ...fake(), permissions: { env: true }, env: { ONLY: "this" } };
  const command: McpServer = {
    command: Deno.execPath(),
    args: ["run", "--quiet", "--no-config", "--allow-env", FAKE],
    env: { ONLY: "that", DENO_DIR: "/proc/nope" },
  };
  await withServers({ fake: fake(), granted, command }, async (ask) => {
    assertStringIncludes(await textOf(ask, call("fake.env")), "MCP tool call failed: Requires env access");
    const { ONLY, DENO_DIR, ...own } = JSON.parse(
      (await textOf(ask, call("granted.env"))).split("\n")[1] ?? "",
    );
    assertEquals([ONLY, DENO_DIR], ["this", "/proc/nope"]);
    assertEquals(Object.keys(own).filter((name) => !/^(DENO_NO_UPDATE_CHECK|NO_COLOR|PWD)$/.test(name)), []);
    assertStringIncludes(await textOf(ask, call("command.env")), '"ONLY":"that"');
  });
});

Deno.test("MCPToolTransform leaves shared clients open and disposes its own servers", async () => {
  {
    await using clients = new McpClients({ servers: { fake: fake() }, detected });
    const counts = await Promise.all(Array.from({ length: 64 }, async () => {
      await using env = new TransformedEnv(new ChatEnv(), [new MCPToolTransform({ clients })]);
      await env.reset(task);
      return String((await env.step(replyAction(call("fake.counts")))).history.prompt.last?.content);
    }));
    assertEquals(new Set(counts).size, 64);
    assertEquals((await childrenOf(Deno.pid, "fake_server")).length, 1);
  }
  assertEquals(await childrenOf(Deno.pid, "fake_server"), []);
  await withServers({ fake: fake("stays") }, async (ask) => {
    await ask(call("fake.counts"));
    assertEquals((await childrenOf(Deno.pid, "fake_server")).length, 1);
  });
  assertEquals(await childrenOf(Deno.pid, "fake_server"), []);
});

Deno.test("MCPToolTransform works beside other tools and other call syntaxes", async () => {
  const clients = new McpClients({ servers: { fake: fake() }, detected });
  const local = anyTool("local", () => "here");
  await using env = new TransformedEnv(new ChatEnv(), [
    new MCPToolTransform({ clients, parser: xmlCalls() }),
    new ToolTransform({ tools: [local], parser: xmlCalls() }),
  ]);
  await env.reset(task);
  const { history, toolResults } = await env.step(
    replyAction('<tool name="local">{}</tool><tool name="say-it">{"what":"there"}</tool>'),
  );
  assertEquals(history.prompt.toChats().slice(2).map(({ content }) => content), [
    '<tool_results>\nTool fake.say-it (call 2) succeeded:\n  Result: "there"\n</tool_results>',
    '<tool_results>\nTool local (call 1) succeeded:\n  Result: "here"\n</tool_results>',
  ]);
  assertEquals(toolResults.map(({ tool }) => tool), ["fake.say-it", "local"]);
  await clients[Symbol.asyncDispose]();
  const after = await env.step(replyAction('<tool name="say-it">{}</tool>'));
  assertStringIncludes(String(after.history.prompt.last?.content), "MCP server 'fake' not connected");
});

Deno.test("MCPToolTransform refuses invalid server definitions", () => {
  const wrong: readonly [servers: unknown, why: string][] = [
    [{}, "there must be at least one"],
    [{ a: {} }, "it has none"],
    [{ a: { command: "x", url: "http://x" } }, "it has command and url"],
    [{ a: { command: "x", permissions: {} } }, "'permissions' is not allowed with 'command'"],
    [{ a: { module: "x", permissions: { run: true } } }, "Cannot grant 'run'"],
    [{ a: { url: "ftp://x" } }, "must be a URL of http or https: current value is 'ftp://x'"],
    [{ "a b": { command: "x" } }, "current value is 'a b'"],
  ];
  for (const [servers, why] of wrong) {
    assertThrows(
      () => new MCPToolTransform({ servers: servers as McpClientsOptions["servers"] }),
      TypeError,
      why,
    );
  }
  assertThrows(() => new MCPToolTransform({ servers: { a: fake() }, startTimeoutMs: 0 }), RangeError, "is 0");
});

Deno.test("MCPToolTransform reconnects to a server over streamable HTTP", async () => {
  const seen: (string | null)[] = [];
  let starts = 0;
  const handler = createMcpHandler(() => {
    const server = new SdkServer({ name: "http", version: "1" });
    server.registerTool("add", {
      description: "Adds.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
    }, ({ a, b }) => ({ content: [{ type: "text" as const, text: String(a + b) }] }));
    return server;
  });
  const listen = (port: number) => {
    starts++;
    return Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, (request) => {
      seen.push(request.headers.get("x-key"));
      return handler.fetch(request);
    });
  };
  const first = listen(0);
  const { port } = first.addr;
  const server = { url: `http://127.0.0.1:${port}/mcp`, headers: { "x-key": "k" } };
  await withServers({ calc: server }, async (ask) => {
    assertEquals(
      await textOf(ask, call("calc.add", { a: 1, b: 2 })),
      "Tool calc.add executed successfully:\n3",
    );
    assertStringIncludes(await textOf(ask, call("calc.add", { a: "x" })), "Tool calc.add failed:\n");
    assertStringIncludes(await textOf(ask, call("calc.nope")), "Tool calc.nope failed:\n");
    assertEquals(new Set(seen), new Set(["k"]));
    await first.shutdown();
    assertStringIncludes(
      await textOf(ask, call("calc.add", { a: 1, b: 2 })),
      "failed:\nMCP tool call failed",
    );
    assertEquals(
      await textOf(ask, call("calc.add", { a: 1, b: 2 })),
      "Tool calc.add failed:\nMCP server 'calc' not connected",
    );
    const second = listen(port);
    assertEquals(
      await textOf(ask, call("calc.add", { a: 1, b: 2 })),
      "Tool calc.add executed successfully:\n3",
    );
    await second.shutdown();
  });
  assertEquals(starts, 2);
});
