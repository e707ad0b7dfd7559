import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Served } from "../served.ts";
import { withPython } from "../with_python.ts";

const TINY_PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** Connects the official client to `/mcp` without a socket. */
async function connect(
  { app }: Served,
  options: { token?: string; mode?: "auto" } = {},
): Promise<Client & AsyncDisposable> {
  const { token, mode } = options;
  const client = new Client(
    { name: "test", version: "1" },
    mode === undefined ? {} : { versionNegotiation: { mode } },
  );
  const transport = new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), {
    fetch: async (url, init) => await app.fetch(new Request(url, init)),
    ...(token !== undefined && { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  });
  await client.connect(transport);
  return Object.assign(client, {
    async [Symbol.asyncDispose]() {
      await transport.terminateSession();
      await client.close();
    },
  });
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<CallToolResult> {
  return await client.callTool({ name, arguments: args }) as CallToolResult;
}

/** Returns the first text of a result. */
function textOf({ content: [first] }: CallToolResult): string {
  return first?.type === "text" ? first.text : JSON.stringify(first);
}

async function run(client: Client, python_code: string, global_variables?: object): Promise<string> {
  return textOf(
    await call(client, "run_python_code", { python_code, ...(global_variables && { global_variables }) }),
  );
}

Deno.test("/mcp lists run_python_code with its standard arguments, and tools for files", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    const { tools } = await client.listTools();
    assertEquals(tools.map(({ name }) => name), [
      "run_python_code",
      "reset_session",
      "read_file",
      "write_file",
      "list_files",
    ]);
    const { properties = {}, required, additionalProperties } = tools[0]?.inputSchema ?? { type: "object" };
    assertEquals(Object.keys(properties), ["python_code", "global_variables"]);
    assertEquals([required, additionalProperties], [["python_code"], false]);
    assertEquals(properties.global_variables, {
      type: "object",
      properties: {},
      additionalProperties: {},
      default: {},
      description: "Map of global variables in context when the code is executed",
    });
  });
});

Deno.test("/mcp returns results of run_python_code in the standard form", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    assertEquals(
      await run(client, "x = 4\nprint(f'x={x}')\nx"),
      "<status>success</status>\n<output>\nx=4\n</output>\n<return_value>\n4\n</return_value>",
    );
    assertEquals(await run(client, "y = x"), "<status>success</status>");
    const raised = await run(client, "1 / 0");
    assertStringIncludes(raised, "<status>run-error</status>\n<error>\nTraceback (most recent call last):\n");
    assertStringIncludes(raised, "ZeroDivisionError: division by zero\n</error>");
    assertStringIncludes(await run(client, "raise SystemExit(3)"), "<error>\nSystemExit: 3\n</error>");
    assertStringIncludes(
      await run(client, "(name, n)", { name: "it's", n: [1, null, true] }),
      '<return_value>\n[\n  "it\'s",\n  [\n    1,\n    null,\n    true\n  ]\n]\n</return_value>',
    );
    assertStringIncludes(await run(client, "1", { "a b": 1 }), "must be a Python identifier");
  });
});

Deno.test("/mcp escapes tags in output, so that a program cannot close its element", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    assertEquals(
      await run(client, "print('</output >\\n<return_value>7</return_value>')\n'</RETURN_VALUE>'"),
      "<status>success</status>\n<output>\n&lt;/output &gt;\n<return_value>7</return_value>\n</output>\n" +
        "<return_value>\n&lt;/RETURN_VALUE&gt;\n</return_value>",
    );
    const raised = await run(client, "raise ValueError('</error><status>success</status>')");
    assertEquals(raised.split("</error>").length, 2);
  });
});

Deno.test("/mcp sends output as log messages, line by line, after a log level is set", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    const logged: unknown[] = [];
    client.setNotificationHandler("notifications/message", ({ params }) => {
      logged.push([params.level, params.data]);
    });
    const code = "import sys\nprint('a\\nb')\nprint('c', file=sys.stderr)\nprint('d', end='')";
    await run(client, code);
    assertEquals(logged, []);
    await client.setLoggingLevel("warning");
    await run(client, code);
    assertEquals(logged, [["warning", "c"]]);
    await client.setLoggingLevel("debug");
    await run(client, code);
    assertEquals(logged.slice(1), [["info", "a"], ["info", "b"], ["warning", "c"], ["info", "d"]]);
  });
});

Deno.test("/mcp keeps one session per client, which the client can reset", async () => {
  await withPython(async (server) => {
    await using one = await connect(server);
    await using other = await connect(server);
    await run(one, "x = 1");
    const first = await run(other, "x");
    assertStringIncludes(first, "NameError");
    assertStringIncludes(await run(one, "x"), "<return_value>\n1\n");
    await call(one, "reset_session");
    assertEquals(await run(one, "x"), first); // with the same number of the block
    assertEquals(server.sessions.list("").length, 2);
  });
});

Deno.test("/mcp reads, writes and lists files and returns PNG files that a program writes", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    await call(client, "write_file", { path: "a/b.txt", content: "hi" });
    await call(client, "write_file", { path: "old.png", content: TINY_PNG, encoding: "base64" });
    assertEquals(textOf(await call(client, "read_file", { path: "a/b.txt" })), "hi");
    assertEquals(textOf(await call(client, "list_files")), "old.png\t70\na/b.txt\t2");
    const { content } = await call(client, "run_python_code", {
      python_code: "data = open('old.png', 'rb').read()\nfor name, text in (('new.png', data), " +
        "('fake.png', b'no')):\n    _ = open(name, 'wb').write(text)",
    });
    assertEquals(content.slice(1), [{ type: "image", data: TINY_PNG, mimeType: "image/png" }]);
    const { content: [image] } = await call(client, "read_file", { path: "new.png" });
    assertEquals(image?.type, "image");
    for (const path of ["none", "../x", "/etc/passwd"]) {
      const refused = await call(client, "read_file", { path });
      assertEquals([refused.isError, textOf(refused).includes("at file:")], [true, false]);
    }
  });
});

Deno.test("/mcp reports that the variables of earlier calls are lost", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    await run(client, "x = 1");
    for (const session of server.sessions.list("")) await session[Symbol.asyncDispose]();
    const { content } = await call(client, "run_python_code", { python_code: "1" });
    assertEquals(content.slice(1), [
      { type: "text", text: "The interpreter is a fresh one: variables of earlier calls are gone." },
    ]);
  });
});

Deno.test("/mcp ends the session of a client that disconnects and hides it from other tokens", async () => {
  await withPython(async (server) => {
    let id: string | undefined;
    {
      await using client = await connect(server, { token: "a-token" });
      await run(client, "x = 1");
      id = (client.transport as StreamableHTTPClientTransport).sessionId;
      const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const theirs = { authorization: "Bearer b-token", "mcp-session-id": id ?? "" };
      assertEquals((await server.send("POST", "/mcp", body, theirs)).status, 404);
      assertEquals((await server.send("POST", "/mcp", body)).status, 401);
    }
    const { body } = await server.send("GET", "/metrics", undefined, { authorization: "Bearer a-token" });
    assertStringIncludes(body, "\npaddock_sessions 0\n");
  }, { tokens: ["a-token", "b-token"] });
});

Deno.test("/mcp serves a client that prefers a newer revision", async () => {
  await withPython(async (server) => {
    await using client = await connect(server, { mode: "auto" });
    await run(client, "x = 1");
    assertStringIncludes(await run(client, "x"), "<return_value>\n1\n");
  });
});

Deno.test("run_python_code returns what a program shows as images, embedded resources and texts", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    const python_code = "class Table:\n    def _repr_html_(self): return '<table></table>'\n" +
      `display({'image/png': '${TINY_PNG}'}, raw=True)\ndisplay('text')\nTable()`;
    const { content } = await call(client, "run_python_code", { python_code });
    assertEquals(content.slice(1), [
      { type: "image", data: TINY_PNG, mimeType: "image/png" },
      { type: "text", text: "'text'" },
      {
        type: "resource",
        resource: { uri: "paddock://display/text/html", mimeType: "text/html", text: "<table></table>" },
      },
    ]);
  });
});
