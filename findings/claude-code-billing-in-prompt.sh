#!/usr/bin/env bash
# @anthropic-ai/claude-code 2.1.332 (npm), driven by a base URL and any key.
#
# Guess: what the vendor wants to know about the client is in HTTP headers or in `metadata`. Equal tasks give equal prompts.
# Seen: the first text block of `system` in each request is the line
#     x-anthropic-billing-header: cc_version=2.1.332.<three letters or digits>; cc_entrypoint=sdk-cli;
# A server that renders `system` as it stands shows this line to the model. The prompts of a training run then begin
# with the client's version, and change with each update of the client.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . @anthropic-ai/claude-code@2.1.332 >/dev/null
mkdir home project
cat > test.mjs <<'JAVASCRIPT'
import { spawn } from "node:child_process";
import { createServer } from "node:http";

const systems = [];
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  if (request.method !== "POST" || !request.url.startsWith("/v1/messages")) return response.writeHead(404).end("{}");
  const { model, system, stream } = JSON.parse(body);
  systems.push(system);
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model, stop_sequence: null, usage };
  if (!stream) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ ...message, stop_reason: "end_turn", content: [{ type: "text", text: "5" }] }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const events = [
    { type: "message_start", message: { ...message, stop_reason: null, content: [] } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "5" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const env = {
  PATH: process.env.PATH,
  HOME: `${process.cwd()}/home`,
  ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  ANTHROPIC_API_KEY: "any-key",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
};
const agent = spawn(`${process.cwd()}/node_modules/.bin/claude`, ["-p", "Say 5."], {
  cwd: "project",
  env,
  stdio: ["ignore", "inherit", "inherit"],
});
const limit = setTimeout(() => agent.kill(), 120_000);
await new Promise((ended) => agent.on("exit", ended));
clearTimeout(limit);
const lines = systems.map((system) => Array.isArray(system) ? system[0]?.text : system);
console.log(lines);
const isBilling = (line) => /^x-anthropic-billing-header: cc_version=2\.1\.332\.\w+; cc_entrypoint=sdk-cli;/.test(line);
process.exit(lines.length > 0 && lines.every(isBilling) ? 0 : 1);
JAVASCRIPT
node test.mjs
