#!/usr/bin/env bash
# @modelcontextprotocol/server-filesystem 2026.8.31 (npm).
#
# Guess: read_text_file sends the text of the file once.
# Seen: the result has the whole text twice, as content and as structuredContent.content. A client that gives the
# model both (as it should where structuredContent has more than a summary) doubles the tokens of each file.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . @modelcontextprotocol/server-filesystem@2026.8.31 >/dev/null
mkdir files
printf 'one\ntwo\n' > files/a.txt
cat > test.mjs <<'JAVASCRIPT'
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const folder = process.argv[2];
const program = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
const server = spawn(process.execPath, [program, folder], { stdio: ["pipe", "pipe", "ignore"] });
const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const clientInfo = { name: "client", version: "1" };
send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
for await (const line of createInterface({ input: server.stdout })) {
  const { id, result } = JSON.parse(line);
  if (id === 1) {
    send({ method: "notifications/initialized" });
    send({ id: 2, method: "tools/call", params: { name: "read_text_file", arguments: { path: `${folder}/a.txt` } } });
  }
  if (id !== 2) continue;
  console.log(JSON.stringify(result));
  server.kill();
  const isTwice = result.content[0].text === "one\ntwo\n" && result.structuredContent.content === "one\ntwo\n";
  process.exit(isTwice ? 0 : 1);
}
JAVASCRIPT
node test.mjs "$folder/files"
