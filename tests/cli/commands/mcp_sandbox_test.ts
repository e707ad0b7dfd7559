import { assertEquals, assertStringIncludes } from "@std/assert";
import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import { ChildTransport } from "../../../src/tools/mcp/child_transport.ts";
import { runPaddock } from "../run_paddock.ts";

const CLI = decodeURIComponent(new URL("../../../src/cli.ts", import.meta.url).pathname);

async function run(client: Client, python_code: string): Promise<string> {
  const { content: [first] } = await client.callTool({
    name: "run_python_code",
    arguments: { python_code },
  }) as CallToolResult;
  return first?.type === "text" ? first.text : "";
}

for (const mode of [undefined, "auto"] as const) {
  Deno.test(`paddock mcp serves the official client over stdio, negotiation ${mode ?? "as usual"}`, async () => {
    const client = new Client(
      { name: "test", version: "1" },
      mode === undefined ? {} : { versionNegotiation: { mode } },
    );
    const command = {
      program: Deno.execPath(),
      args: ["run", "-A", "--quiet", CLI, "mcp"],
      env: Deno.env.toObject(),
    };
    await client.connect(new ChildTransport(command, undefined));
    try {
      await run(client, "x = 41");
      assertEquals(
        await run(client, "print('hi'); x + 1"),
        "<status>success</status>\n<output>\nhi\n</output>\n<return_value>\n42\n</return_value>",
      );
      assertStringIncludes(await run(client, "import js"), "ModuleNotFoundError");
    } finally {
      await client.close();
    }
  });
}

Deno.test("paddock mcp ends when the client disconnects or sends an invalid message", async () => {
  assertEquals((await runPaddock(["mcp"], "")).code, 0);
  const { code, stdout } = await runPaddock(["mcp"], "not json\n\n[[[\n");
  assertEquals(code, 0);
  for (const line of stdout.split("\n").filter((line) => line !== "")) JSON.parse(line);
});

Deno.test("paddock mcp --checkpoints has the tools checkpoint and restore", async () => {
  const client = new Client({ name: "test", version: "1" });
  const args = ["run", "-A", "--quiet", CLI, "mcp", "--checkpoints"];
  const command = { program: Deno.execPath(), args, env: Deno.env.toObject() };
  await client.connect(new ChildTransport(command, undefined));
  try {
    await run(client, "x = iter('abc'); next(x)");
    const { content } = await client.callTool({ name: "checkpoint", arguments: {} }) as CallToolResult;
    assertEquals(content, [{ type: "text", text: "checkpoint: c1" }]);
    await run(client, "list(x)");
    await client.callTool({ name: "restore", arguments: { checkpoint: "c1" } });
    assertStringIncludes(await run(client, "next(x)"), "\nb\n");
  } finally {
    await client.close();
  }
});
