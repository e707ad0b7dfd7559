/** An MCP server over standard input and output that lies after its handshake; its argument names the lie. */
import { readLines } from "../../src/read_lines.ts";

const TOOLS = 200_000;
const REQUESTS = 100_000;
const LINE_BYTES = 2_000_000_000;
const [lie = "honest"] = Deno.args;
const encoder = new TextEncoder();

async function write(text: string): Promise<void> {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
}

async function send(message: object): Promise<void> {
  await write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function tools(): object[] {
  const count = lie === "tools" ? TOOLS : 1;
  const inputSchema = { type: "object", properties: {} };
  return Array.from(
    { length: count },
    (_, at) => ({ name: `tool${at}`, description: "Does nothing.", inputSchema }),
  );
}

async function callTool(id: unknown): Promise<void> {
  if (lie === "silent") return;
  if (lie === "requests") {
    for (let at = 0; at < REQUESTS; at++) {
      await send({ id: `r${at}`, method: "ping" });
    }
  }
  if (lie === "line") {
    for (let sent = 0; sent < LINE_BYTES; sent += 1_000_000) await write("a".repeat(1_000_000));
  }
  await send({ id, result: { content: [{ type: "text", text: "done" }] } });
}

for await (const line of readLines(Deno.stdin.readable, { maxBytes: 1 << 20 })) {
  if (!("text" in line)) continue;
  const { id, method, params } = JSON.parse(line.text);
  if (method === "initialize") {
    const serverInfo = { name: "lying", version: "1" };
    await send({
      id,
      result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo },
    });
  } else if (method === "tools/list") await send({ id, result: { tools: tools() } });
  else if (method === "tools/call") await callTool(id);
  else if (id !== undefined) await send({ id, result: {} });
}
