#!/usr/bin/env bash
# @modelcontextprotocol/client 2.4.0 (npm), over Streamable HTTP.
#
# Guess: a call fails at once if the event stream that answers the call has an event that is no JSON and then
# ends, as a gateway sends when the server behind it fails.
# Seen: the SyntaxError goes to client.onerror alone, which knows no call. The stream's end is no failure of the
# call either: callTool waits for its timeout (60 s by default; 2 s here) and reports REQUEST_TIMEOUT. A reply of
# content-type application/json that is no JSON fails at once.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . @modelcontextprotocol/client@2.4.0 >/dev/null
cat > test.mjs <<'JAVASCRIPT'
import { createServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

let type = "";
const server = createServer(async (request, response) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  let body = "";
  for await (const chunk of request) body += chunk;
  const { id, method } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  if (method === "initialize") {
    const serverInfo = { name: "server", version: "1" };
    const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
    return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }
  response.writeHead(200, { "content-type": type });
  response.end(type === "text/event-stream" ? "data: upstream error\n\n" : "upstream error");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const client = new Client({ name: "client", version: "1" });
const errors = [];
client.onerror = (error) => errors.push(error.name);
await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${server.address().port}/`)));
const failures = [];
for (type of ["text/event-stream", "application/json"]) {
  const failure = await client.callTool({ name: "find", arguments: {} }, { timeout: 2000 }).catch((error) => error);
  failures.push(failure.code ?? failure.name);
}
console.log(failures, errors);
process.exit(failures[0] === "REQUEST_TIMEOUT" && failures[1] !== "REQUEST_TIMEOUT" && errors[0] === "SyntaxError" ? 0 : 1);
JAVASCRIPT
node test.mjs
