import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { detectLayers } from "../../src/sandbox/process/layers.ts";
import type { McpServer } from "../../src/tools/mcp/mcp_server.ts";
import { MCPToolTransform } from "../../src/transforms/mcp_tool_transform.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

const VERSION = "2026.8.31";
const packages = ["everything", "filesystem", "memory"].map(moduleOf);
const detected = await detectLayers();

function moduleOf(name: string): string {
  return `npm:@modelcontextprotocol/server-${name}@${VERSION}`;
}

for (const module of packages) {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", "--no-config", "--no-lock", module],
  }).output();
  if (!success) throw new Error(`Cannot test servers of npm as '${module}' must be fetched`);
}

function drive(what: string, test: (folder: string) => Promise<void>): void {
  Deno.test(what, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await test(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** Returns the results of a server's tools, in order. */
async function answers(
  server: McpServer,
  calls: readonly [tool: string, args: unknown][],
): Promise<string[]> {
  const transform = new MCPToolTransform({ servers: { real: server }, detected, startTimeoutMs: 60_000 });
  await using env = new TransformedEnv(new ChatEnv(), [transform]);
  const { tools } = await env.reset({ id: "t", query: "q" });
  for (const [tool] of calls) assert(tools?.some(({ name }) => name === `real.${tool}`), tool);
  const texts: string[] = [];
  for (const [tool, args] of calls) {
    const reply = `<tool>real.${tool}\n${JSON.stringify(args)}</tool>`;
    const { history } = await env.step(replyAction(reply), {});
    texts.push(String(history.prompt.last?.content).replace(`Tool real.${tool} `, ""));
  }
  return texts;
}

drive("MCPToolTransform drives server-everything over stdio", async () => {
  const server = { module: moduleOf("everything"), args: ["stdio"], permissions: { env: true } };
  const [echo, sum, wrong, image, resource] = await answers(server, [
    ["echo", { message: "it's <b>" }],
    ["get-sum", { a: 1, b: 2 }],
    ["get-sum", { a: "one" }],
    ["get-tiny-image", {}],
    ["get-resource-reference", { resourceType: "Text", resourceId: 1 }],
  ]);
  assertEquals(echo, "executed successfully:\nEcho: it's <b>");
  assertEquals(sum, "executed successfully:\nThe sum of 1 and 2 is 3.");
  assertStringIncludes(String(wrong), "failed:\n");
  assertStringIncludes(String(image), "[image image/png 4033 bytes]");
  assertStringIncludes(String(resource), "[resource demo://resource/dynamic/text/1 text/plain]\nResource 1:");
});

drive("MCPToolTransform drives server-filesystem over stdio, under Deno's permissions", async (folder) => {
  const server = {
    module: moduleOf("filesystem"),
    // the server itself would allow this, but its permissions do not
    args: [folder, "/etc"],
    permissions: { read: [folder], write: [folder], env: true },
  };
  const [wrote, read, escape] = await answers(server, [
    ["write_file", { path: `${folder}/a.txt`, content: "hello" }],
    ["read_text_file", { path: `${folder}/a.txt` }],
    ["read_text_file", { path: "/etc/passwd" }],
  ]);
  assertStringIncludes(String(wrote), "executed successfully:\n");
  assertEquals(read, "executed successfully:\nhello");
  assertStringIncludes(String(escape), "failed:\n");
  assertEquals(await Deno.readTextFile(`${folder}/a.txt`), "hello");
});

drive(
  "MCPToolTransform drives server-memory over stdio, and each transform has a server of its own",
  async (folder) => {
    const server = (file: string) => ({
      module: moduleOf("memory"),
      permissions: { read: [folder], write: [folder], env: true },
      env: { MEMORY_FILE_PATH: `${folder}/${file}` },
    });
    const entity = { name: "sand", entityType: "box", observations: ["dry"] };
    const [, graph] = await answers(server("a.json"), [["create_entities", { entities: [entity] }], [
      "read_graph",
      {},
    ]]);
    assertStringIncludes(String(graph), '"name": "sand"');
    const [other] = await answers(server("b.json"), [["read_graph", {}]]);
    assertStringIncludes(String(other), '"entities": []');
  },
);

drive("MCPToolTransform drives server-everything over streamable HTTP", async () => {
  await using server = await everythingOverHttp();
  const [echo, sum] = await answers({ url: server.url }, [["echo", { message: "x" }], ["get-sum", {
    a: 1,
    b: 2,
  }]]);
  assertEquals(echo, "executed successfully:\nEcho: x");
  assertEquals(sum, "executed successfully:\nThe sum of 1 and 2 is 3.");
});

async function everythingOverHttp(): Promise<AsyncDisposable & { url: string }> {
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-config", "--no-lock", "--allow-env", "--allow-net", moduleOf("everything")]
      .concat("streamableHttp"),
    env: { PORT: String(port) },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let output = "";
  const stderr = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (!output.includes(String(port))) {
    const { value, done } = await stderr.read();
    if (done) throw new Error(`the server ended: ${output}`);
    output += value;
  }
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await stderr.cancel();
    },
  };
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
