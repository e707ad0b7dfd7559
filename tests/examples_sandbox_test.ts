import {
  Client,
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { assertEquals } from "@std/assert";

const directory = new URL("../examples/", import.meta.url);

/** Arguments with which an example takes less time than by default. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = { "tree_search.ts": ["2"] };

for (const { name } of Deno.readDirSync(directory)) {
  if (!name.endsWith(".ts")) continue;
  Deno.test(`examples/${name} runs without an error`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      stdin: "null",
      args: ["run", "-A", "--quiet", new URL(name, directory).pathname, ...ARGUMENTS[name] ?? []],
    }).output();
    assertEquals({ code, stderr: new TextDecoder().decode(stderr) }, { code: 0, stderr: "" });
    const isServer = name === "shop_server.ts"; // It prints only responses to requests.
    assertEquals(stdout.length > 0, !isServer, "every other example must print something");
  });
}

/** Speaks the protocol over stdin and stdout of a process without permissions. */
class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      decodeURIComponent(new URL("../examples/shop_server.ts", import.meta.url).pathname),
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  readonly #writer = this.#child.stdin.getWriter();
  #read = Promise.resolve();

  // deno-lint-ignore require-await
  async start(): Promise<void> {
    this.#read = this.#listen();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(serializeMessage(message)));
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.#read;
    assertEquals((await this.#child.status).code, 0);
    this.onclose?.();
  }

  async #listen(): Promise<void> {
    let rest = "";
    for await (const chunk of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.onmessage?.(deserializeMessage(line));
    }
  }
}

Deno.test("examples/shop_server.ts serves prices to an MCP client without any permission", async () => {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new PipeTransport());
  const { tools } = await client.listTools();
  assertEquals(tools.map(({ name }) => name), ["price"]);
  const lamp = await client.callTool({ name: "price", arguments: { item: "lamp" } });
  assertEquals([lamp.content, lamp.isError], [[{ type: "text", text: "3495" }], false]);
  const sofa = await client.callTool({ name: "price", arguments: { item: "sofa" } });
  assertEquals(sofa.isError, true);
  await client.close();
});
