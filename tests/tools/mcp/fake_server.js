// A hand-written MCP server. Its first argument selects its behaviour.
const [behaviour = "well", file = ""] = Deno.args;
const encoder = new TextEncoder();
const started = file === "" ? 1 : await count(file);
let calls = 0;

async function count(path) {
  const before = Number(await Deno.readTextFile(path).catch(() => "0"));
  await Deno.writeTextFile(path, String(before + 1));
  return before + 1;
}

function write(textContent) {
  const bytes = encoder.encode(textContent);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

const textContent = (value) => ({ content: [{ type: "text", text: String(value) }] });
const tools = {
  "say-it": ({ what }) => textContent(what),
  "dotted.name": () => textContent("dotted"),
  env: () => textContent(JSON.stringify(Deno.env.toObject())),
  counts: () => textContent(`start ${started}, call ${++calls}`),
  fails: () => ({ ...textContent("it did not work"), isError: true }),
  mixed: () => ({
    content: [
      { type: "text", text: "it's text" },
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "x://y", blob: "AAAAAAA=" } },
    ],
  }),
  structured: () => ({ content: [], structuredContent: { n: 1 } }),
  forever: () => undefined,
  die: () => Deno.exit(3),
  "die-safely": () => (started === 1 ? Deno.exit(3) : textContent(`start ${started}`)),
  garbage: () => {
    write('this is no message\n{"jsonrpc": 1}\n[]\n');
    return textContent("behind garbage");
  },
  flood: () => {
    write("garbage\n".repeat(5_000));
    return textContent("behind a flood");
  },
  odd: () => ({ content: "no list" }),
  thrown: () => {
    throw new Error("a protocol error");
  },
};

function listed(names) {
  return names.map((name) => ({
    name,
    description: `Does ${name}.`,
    inputSchema: name === "env" ? { type: "object", $ref: "#" } : { type: "object" },
    ...(name === "die-safely" && { annotations: { readOnlyHint: true } }),
  }));
}

function page({ cursor = "0" } = {}) {
  if (behaviour === "many-tools") {
    return { tools: listed(Array.from({ length: 1_001 }, (_, at) => `tool${at}`)) };
  }
  if (behaviour === "many-values") return { tools: listed(["a"]), _meta: { zeros: Array(200_000).fill(0) } };
  if (behaviour === "requests") {
    write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(1_000));
  }
  const names = [...Object.keys(tools), "has space", "has<bracket"];
  const at = Number(cursor);
  const next = at + 5;
  return {
    tools: listed(names.slice(at, next)),
    ...(behaviour === "endless-pages" || next < names.length ? { nextCursor: String(next) } : {}),
  };
}

function answer({ method, params }) {
  if (method === "initialize") {
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "fake", version: "1" },
    };
  }
  if (method === "tools/list") return page(params);
  if (method !== "tools/call") throw new Error("no such method");
  const tool = tools[params.name];
  if (!tool) throw new Error(`Unknown tool: ${params.name}`);
  return tool(params.arguments ?? {});
}

function receive(message) {
  if (message.id === undefined || message.method === undefined) return;
  try {
    const result = answer(message);
    if (result !== undefined) write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n`);
  } catch (error) {
    const failure = { code: -32602, message: error.message };
    write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, error: failure })}\n`);
  }
}

if (behaviour === "dies") {
  // deno-lint-ignore no-console
  console.error("no licence found");
  Deno.exit(1);
}
if (behaviour === "dies-later" && started > 1) Deno.exit(1);
if (behaviour === "prints") write("Welcome to the fake server!\n");
if (behaviour === "garbage") setInterval(() => write("hello?\n"), 5);
if (behaviour === "slow") await new Promise((resolve) => setTimeout(resolve, 300));
let rest = "";
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  if (behaviour === "mute" || behaviour === "garbage") continue;
  for (const line of lines) receive(JSON.parse(line));
}
if (behaviour === "stays") await new Promise(() => setInterval(() => {}, 1_000));
