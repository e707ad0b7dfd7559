#!/usr/bin/env bash
# deno 2.9.6 (npm), Linux.
#
# Guess: the chunks of a response of fetch() take about as much memory as their bytes, compressed or not.
# Seen: each chunk of a compressed response has 4 KiB, and is a view of an ArrayBuffer of 64 KiB, which no other chunk shares.
# A program that collects the chunks of a gzip response of 64 MiB, to join them at the end, holds ArrayBuffers of 1 GiB. The
# same response without compression comes in full buffers. A copy of each chunk (slice()) holds the 64 MiB.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . deno@2.9.6 >/dev/null
cat > main.ts <<'TYPESCRIPT'
import { gzipSync } from "node:zlib";

const MIB = 1024 * 1024;
const plain = crypto.getRandomValues(new Uint8Array(65_536));
const bytes = new Uint8Array(64 * MIB);
for (let at = 0; at < bytes.length; at += plain.length) bytes.set(plain, at);
const packed = gzipSync(bytes);
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) =>
  url.endsWith("gzip") ? new Response(packed, { headers: { "content-encoding": "gzip" } }) : new Response(bytes));

async function held(path: string) {
  const response = await fetch(`http://127.0.0.1:${server.addr.port}/${path}`);
  const chunks = await Array.fromAsync(response.body ?? []);
  const buffers = new Set(chunks.map(({ buffer }) => buffer));
  const mib = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0) / MIB;
  const most = Math.max(...chunks.map(({ length }) => length));
  return { chunks: chunks.length, largestChunk: most, mebibytesOfBuffers: Math.round(mib) };
}

const [gzip, identity] = [await held("gzip"), await held("identity")];
console.log({ gzip, identity });
await server.shutdown();
Deno.exit(gzip.mebibytesOfBuffers > 1000 && gzip.largestChunk === 4096 && identity.mebibytesOfBuffers < 200 ? 0 : 1);
TYPESCRIPT
node_modules/.bin/deno --version | head -1
node_modules/.bin/deno run --quiet --allow-net main.ts
