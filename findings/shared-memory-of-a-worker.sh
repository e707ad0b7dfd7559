#!/usr/bin/env bash
# Deno 2.9.6 (npm), on Linux.
#
# Guess: a SharedArrayBuffer that a worker has made and posted is freed when the thread that received it drops it and
# collects its garbage, as the worker's function has returned.
# Seen: the worker keeps it. Shared memory does not count towards a worker's heap, so that an idle worker never collects:
# six buffers of 100 MiB, each dropped and collected by the receiver, leave some 600 MiB resident. They go when the worker
# itself collects.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" deno@2.9.6
cat > "$folder/main.js" <<'JAVASCRIPT'
const MIB = 1024 * 1024;
const source = `
  self.onmessage = ({ data: collects }) => {
    self.postMessage(new Uint8Array(new SharedArrayBuffer(100 * ${MIB})).fill(1).buffer);
    if (collects) setTimeout(() => { gc(); self.postMessage("collected"); });
    else self.postMessage("idle");
  };`;
const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })), { type: "module" });

/** Has the worker make a buffer, which is dropped at once. */
function makeBuffer(collects) {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => typeof data === "string" && resolve();
    worker.postMessage(collects);
  });
}

/** Returns the MiB that stay after six buffers. */
async function measure(collects) {
  for (let round = 0; round < 6; round++) {
    await makeBuffer(collects);
    gc();
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  gc();
  return Deno.memoryUsage().rss / MIB - before;
}

gc();
const before = Deno.memoryUsage().rss / MIB;
const idle = await measure(false);
const collected = await measure(true);
console.log(`stays: ${Math.round(idle)} MiB with an idle worker, ${Math.round(collected)} MiB after it has collected`);
worker.terminate();
if (!(idle > 450 && collected < 250)) Deno.exit(1);
JAVASCRIPT
"$folder/node_modules/.bin/deno" run --quiet --no-config --v8-flags=--expose-gc "$folder/main.js"
