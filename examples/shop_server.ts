/** MCP server over standard input and output, with one tool: `price` of a shop's items. */

const PRICES: Readonly<Record<string, number>> = { lamp: 3495, desk: 18950, chair: 7980 };

const TOOL = {
  name: "price",
  description: "The price of an item of the shop, in cents",
  inputSchema: {
    type: "object",
    properties: { item: { type: "string", enum: Object.keys(PRICES) } },
    required: ["item"],
  },
};

interface Request {
  id?: string | number;
  method?: string;
  params?: { protocolVersion?: string; name?: string; arguments?: { item?: string } };
}

function handle({ method, params }: Request): object {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion ?? "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "shop", version: "1.0.0" },
      };
    case "ping":
      return {};
    case "tools/list":
      return { tools: [TOOL] };
    case "tools/call":
      return callPrice(params?.arguments?.item ?? "");
    default:
      throw new RangeError(`Unknown method '${method}'`);
  }
}

function callPrice(item: string): object {
  const cents = Object.hasOwn(PRICES, item) ? PRICES[item] : undefined;
  const text = cents === undefined
    ? `there is no '${item}': ask for ${Object.keys(PRICES).join(", ")}`
    : `${cents}`;
  return { content: [{ type: "text", text }], isError: cents === undefined };
}

async function write(message: object): Promise<void> {
  const bytes = new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
}

async function serve(line: string): Promise<void> {
  const request: Request = JSON.parse(line);
  if (request.id === undefined) return; // a notification
  try {
    await write({ id: request.id, result: handle(request) });
  } catch (error) {
    await write({ id: request.id, error: { code: -32601, message: String(error) } });
  }
}

if (Deno.stdin.isTerminal()) {
  // deno-lint-ignore no-console -- standard output is only for messages
  console.error("This waits for JSON-RPC messages: `paddock rollout --mcp examples/mcp.jsonc` sends them.");
}
let rest = "";
for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + piece).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) await serve(line);
}
