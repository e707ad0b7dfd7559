import { assertEquals, assertRejects } from "@std/assert";
import { McpError } from "../../../src/errors.ts";
import { McpClients } from "../../../src/tools/mcp/mcp_clients.ts";
import { MAX_MESSAGE_LENGTH } from "../../../src/tools/mcp/message_limits.ts";

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
}

const SERVER_INFO = { capabilities: { tools: {} }, serverInfo: { name: "flood", version: "1" } };
const NAMES = ["small", "json", "event", "lines", "many"];
const MEGABYTE = "x".repeat(1024 * 1024);

/** Returns the parts of a tool's response body, and how often its middle part is sent. */
function answer(name: string, id: number) {
  const text = (text: string) =>
    JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
  const [open = "", close = ""] = text("|").split("|");
  const long = MAX_MESSAGE_LENGTH / MEGABYTE.length + 1;
  const last = `data: ${text("done")}\n\n`;
  if (name === "json") return { parts: [open, MEGABYTE, close], times: long, type: "application/json" };
  const type = "text/event-stream; charset=utf-8";
  if (name === "event") return { parts: [`data: ${open}`, MEGABYTE, `${close}\n\n`], times: long, type };
  if (name === "lines") return { parts: ["", `data: ${MEGABYTE}\r\n`, last], times: long, type };
  if (name === "many") return { parts: ["", `: ${MEGABYTE}\r\n\r\n`, last], times: long, type };
  return { parts: [text("small"), "", ""], times: 0, type: "application/json" };
}

function body({ parts: [open = "", middle = "", close = ""], times }: ReturnType<typeof answer>) {
  let sent = 0;
  return new ReadableStream<string>({
    start: (controller) => controller.enqueue(open),
    pull(controller) {
      if (sent++ < times) return controller.enqueue(middle);
      controller.enqueue(close);
      controller.close();
    },
  }).pipeThrough(new TextEncoderStream());
}

async function respond(request: globalThis.Request): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const { id, method, params }: Request = await request.json();
  if (id === undefined) return new Response(null, { status: 202 });
  const result = (result: object) => Response.json({ jsonrpc: "2.0", id, result });
  if (method === "initialize") return result({ ...SERVER_INFO, protocolVersion: params?.protocolVersion });
  if (method === "tools/list") {
    return result({ tools: NAMES.map((name) => ({ name, inputSchema: { type: "object" } })) });
  }
  const response = answer(params?.name ?? "", id);
  return new Response(body(response), { headers: { "content-type": response.type } });
}

Deno.test("McpClients close an HTTP connection when a message is too long and open a new one", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, respond);
  {
    const url = `http://127.0.0.1:${server.addr.port}/mcp`;
    await using clients = new McpClients({ servers: { s: { url } }, detected: [] });
    const call = async (name: string) =>
      await clients.find(`s.${name}`).run({}, {
        signal: new AbortController().signal,
        callId: name,
        state: {},
      });
    assertEquals(await call("small"), "small");
    for (const name of ["json", "event", "lines"]) {
      await assertRejects(
        () => call(name),
        McpError,
        `a message must have at most ${MAX_MESSAGE_LENGTH} bytes`,
      );
      assertEquals(await call("small"), "small");
    }
    assertEquals(await call("many"), "done");
  }
  await server.shutdown();
});
