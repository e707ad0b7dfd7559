import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { readMcpFile } from "../../../src/cli/rollout/tools.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";

async function withFile(text: string, work: (path: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = join(folder, "mcp.jsonc");
    await Deno.writeTextFile(path, text);
    await work(path, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("readMcpFile() resolves paths and starts servers relative to the folder of the file", async () => {
  const text = `{ "mcpServers": { // comments are fine
    "a": { "module": "./a.ts", "permissions": { "read": ["/srv"] } },
    "b": { "module": "npm:b@1.0.0", "cwd": "below" },
    "c": { "command": "python3", "args": ["c.py"] },
    "d": { "url": "http://127.0.0.1:1/mcp" },
  } }`;
  await withFile(text, async (path, folder) => {
    assertEquals(await readMcpFile(path), {
      a: { module: `file://${folder}/a.ts`, permissions: { read: ["/srv"] }, cwd: folder },
      b: { module: "npm:b@1.0.0", cwd: join(folder, "below") },
      c: { command: "python3", args: ["c.py"], cwd: folder },
      d: { url: "http://127.0.0.1:1/mcp" },
    });
  });
});

Deno.test("readMcpFile() names the problem of an invalid file", async () => {
  const faults = [["[]", "'mcpServers'"], ['{"mcpServers":{"a":1}}', "'mcpServers'"], [
    "{",
    "line 1, column 2 as it must be JSON with comments: found no closing brace",
  ], [
    '{"mcpServers":{"a":{"module":"npm:a@1","permissions":{"read":[]},\n"permissions":{"read":true}}}}',
    "line 2, column 1 as 'permissions' is there twice",
  ], [
    '{"mcpServers":{"a":{"command":"a"},"a":{"command":"b"}}}',
    "line 1, column 36 as 'a' is there twice",
  ], [
    '{"mcpServers":{"__proto__":{"command":"a"}}}',
    "line 1, column 16 as '__proto__' is an unknown key",
  ], [`${"[".repeat(65)}`, "column 65 as it is nested too deeply"]];
  for (const [text = "", fault = ""] of faults) {
    await withFile(text, async (path) => {
      await assertRejects(() => readMcpFile(path), UsageError, fault);
    });
  }
  await assertRejects(() => readMcpFile("no/such.jsonc"), UsageError, "there is no such file");
});
