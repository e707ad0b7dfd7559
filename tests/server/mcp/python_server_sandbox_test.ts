import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import type { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { served } from "../served.ts";
import { withPython } from "../with_python.ts";
import { call, connect, run, textOf } from "./sdk_client.ts";

const TINY_PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

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
    assertEquals(server.sessions.directory.list("").length, 2);
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
    for (const session of server.sessions.directory.list("")) await session[Symbol.asyncDispose]();
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

/** Makes a checkpoint and returns its name. */
async function checkpoint(client: Client): Promise<string> {
  const { isError, ...result } = await call(client, "checkpoint");
  assertEquals(isError, undefined, textOf(result));
  return textOf(result).match(/^checkpoint: (c\d+)$/)?.[1] ?? textOf(result);
}

/** Restores a checkpoint and returns the text of the answer, which must be an error if `isError`. */
async function restore(client: Client, checkpoint: unknown, isError?: true): Promise<string> {
  const result = await call(client, "restore", { checkpoint });
  assertEquals(result.isError, isError, textOf(result));
  return textOf(result);
}

Deno.test("/mcp has the tools checkpoint and restore where the operator offers them", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assertEquals(names.slice(-2), ["checkpoint", "restore"]);
    await run(client, "steps = iter(['look', 'take', 'open']); next(steps)\nopen('notes', 'w').write('x')");
    const kept = await checkpoint(client);
    await run(client, "import os; os.remove('notes'); list(steps)");
    for (let round = 0; round < 2; round++) {
      assertEquals(await restore(client, kept), `restored ${kept}`);
      assertStringIncludes(await run(client, "next(steps), open('notes').read()"), '"take",\n  "x"');
    }
    assertEquals((await server.send("GET", "/v1/checkpoints")).body.checkpoints, [], "they are the client's");
  }, { mcpCheckpoints: true });
});

Deno.test("/mcp has no tool for checkpoints by default", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    for (const name of ["checkpoint", "restore"]) {
      await assertRejects(() => call(client, name, { checkpoint: "c1" }), Error, `${name} not found`);
    }
  });
});

Deno.test("/mcp restores no checkpoint of another client, and reports what is wrong", async () => {
  await withPython(async (server) => {
    await using one = await connect(server, { token: "a-token" });
    await using same = await connect(server, { token: "a-token" });
    await using other = await connect(server, { token: "b-token" });
    await run(one, "x = 'secret'");
    const kept = await checkpoint(one);
    for (const client of [same, other]) {
      assertStringIncludes(
        await restore(client, kept, true),
        "one that you have made: found 'c1', you have none",
      );
      assertStringIncludes(await run(client, "x"), "NameError");
    }
    const mine = { authorization: "Bearer a-token" };
    const [session] = (await server.send("GET", "/v1/sessions", undefined, mine)).body.sessions;
    const { body } = await server.send("POST", `/v1/sessions/${session.id}/checkpoint`, undefined, mine);
    for (const wrong of [body.id, "", "__proto__", "c".repeat(100_000)]) {
      const message = await restore(one, wrong, true);
      assertStringIncludes(message, "you have c1");
      assertEquals(message.length < 300, true);
    }
    assertStringIncludes(await restore(one, 1, true), "expected string, received number");
    assertStringIncludes(await run(one, "x"), "secret");
    await run(one, "import os; ends = os.pipe()");
    const refused = await call(one, "checkpoint");
    assertEquals([refused.isError, textOf(refused).includes("pipe")], [true, true]);
    assertStringIncludes(await run(one, "x"), "secret");
  }, { tokens: ["a-token", "b-token"], mcpCheckpoints: true, maxSessions: 3 });
});

Deno.test("/mcp restores a checkpoint after its session has ended", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    await run(client, "x = 41");
    const kept = await checkpoint(client);
    const endAll = () =>
      Promise.all(server.sessions.directory.list("").map((each) => each[Symbol.asyncDispose]()));
    await endAll();
    assertEquals(
      textOf(await call(client, "checkpoint")).includes("variables of earlier calls are gone"),
      true,
    );
    await endAll();
    await restore(client, kept);
    const { content } = await call(client, "run_python_code", { python_code: "x + 1" });
    assertStringIncludes(JSON.stringify(content), "42");
    assertEquals(content.length, 1, "nothing is lost");
  }, { mcpCheckpoints: true });
});

Deno.test("/mcp bounds the checkpoints of a client, and deletes them when it disconnects", async () => {
  await withPython(async (server) => {
    const kept = async () =>
      Number((await server.send("GET", "/metrics")).body.match(/^paddock_checkpoints (\d+)$/m)?.[1]);
    {
      await using client = await connect(server);
      await run(client, "x = 1");
      for (let at = 1; at <= 32; at++) assertEquals(await checkpoint(client), `c${at}`);
      assertEquals(
        textOf(await call(client, "checkpoint")),
        "checkpoint: c33\nThe oldest checkpoint was deleted: c1",
      );
      assertEquals(await kept(), 32);
      assertStringIncludes(await restore(client, "c1", true), "found 'c1', you have c2 to c33");
    }
    assertEquals(await kept(), 0);
  }, { mcpCheckpoints: true });
});

Deno.test("/mcp refuses a checkpoint without room, and the session goes on", async () => {
  await withPython(async (server) => {
    await using client = await connect(server);
    await run(client, "x = 1");
    const first = await checkpoint(client);
    const { isError, ...full } = await call(client, "checkpoint");
    assertEquals(isError, true);
    assertStringIncludes(textOf(full), "more checkpoints as you may hold 1 now and hold 1");
    await restore(client, first);
    assertStringIncludes(await run(client, "x"), "1");
  }, { mcpCheckpoints: true, checkpointLimits: { count: 1 } });
});

Deno.test("/mcp cannot have checkpoints that its pool has not", () => {
  assertThrows(
    () => served({ mcpCheckpoints: true }),
    TypeError,
    "'pool' must be one whose sessions have checkpoints",
  );
});
