// An MCP server whose answers are the texts of odd_answers.json. Its first argument names an entry of `lists`.
import answers from "../../data/mcp/odd_answers.json" with { type: "json" };

const { greeting, pages } = answers.lists.find(({ name }) => name === Deno.args[0]) ?? {};
const encoder = new TextEncoder();
const lines = Object.fromEntries(answers.calls.map(({ tool, line }) => [tool, line]));

const OK = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}]}}';

/** Returns a page; a number of pages stands for so many with one tool each. */
function pageAt(at) {
  if (typeof pages !== "number") return pages[at];
  const tools = [{ name: `p${at}`, inputSchema: { type: "object" } }];
  return at + 1 < pages ? { tools, nextCursor: String(at + 1) } : { tools };
}

function write(text) {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function answer({ id, method, params }) {
  if (method === "initialize") {
    const { protocolVersion } = params;
    const well = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } };
    return JSON.stringify({ jsonrpc: "2.0", id, result: { ...well, ...greeting } });
  }
  const tools = Object.keys(lines).map((name) => ({ name, inputSchema: { type: "object" } }));
  if (method === "tools/list") {
    const page = pages === undefined ? { tools } : pageAt(Number(params?.cursor ?? 0));
    return JSON.stringify({ jsonrpc: "2.0", id, result: page });
  }
  return (lines[params.name] ?? OK).replaceAll("ID", id);
}

let rest = "";
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const received = (rest + chunk).split("\n");
  rest = received.pop();
  for (const message of received.map((line) => JSON.parse(line))) {
    if (message.id !== undefined) write(`${answer(message)}\n`);
  }
}
