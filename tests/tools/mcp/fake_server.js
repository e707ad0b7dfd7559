// A server of the Model Context Protocol written by hand, whose argument says how it behaves.
const [how = "well", file = ""] = Deno.args;
const encoder = new TextEncoder();
const started = file === "" ? 1 : await count(file);
let calls = 0;

async function count(path) {
  const before = Number(await Deno.readTextFile(path).catch(() => "0"));
  await Deno.writeTextFile(path, String(before + 1));
  return before + 1;
}

function write(text) {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const tools = {
  "say-it": ({ what }) => text(what),
  "dotted.name": () => text("dotted"),
  env: () => text(JSON.stringify(Deno.env.toObject())),
  counts: () => text(`start ${started}, call ${++calls}`),
  fails: () => ({ ...text("it did not work"), isError: true }),
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
  "die-safely": () => (started === 1 ? Deno.exit(3) : text(`start ${started}`)),
  garbage: () => {
    write('this is no message\n{"jsonrpc": 1}\n[]\n');
    return text("behind garbage");
  },
  flood: () => {
    write("garbage\n".repeat(5_000));
    return text("behind a flood");
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
  const names = [...Object.keys(tools), "has space", "has<bracket"];
  const at = Number(cursor);
  const next = at + 5;
  return {
    tools: listed(names.slice(at, next)),
    ...(how === "endless-pages" || next < names.length ? { nextCursor: String(next % 1_000) } : {}),
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

if (how === "dies") {
  // deno-lint-ignore no-console
  console.error("no licence found");
  Deno.exit(1);
}
if (how === "dies-later" && started > 1) Deno.exit(1);
if (how === "prints") write("Welcome to the fake server!\n");
if (how === "garbage") setInterval(() => write("hello?\n"), 5);
if (how === "slow") await new Promise((resolve) => setTimeout(resolve, 300));
let rest = "";
for await (const piece of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + piece).split("\n");
  rest = lines.pop();
  if (how === "mute" || how === "garbage") continue;
  for (const line of lines) receive(JSON.parse(line));
}
if (how === "stays") await new Promise(() => setInterval(() => {}, 1_000));
