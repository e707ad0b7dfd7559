/**
 * A child that has nothing of the sandbox but its pipe: it opens each session it is asked for, and answers
 * every other request with the bytes of the file that it was given.
 */
const answer = await Deno.readFile(Deno.args[0]);
let pending = new Uint8Array(0);

for await (const piece of Deno.stdin.readable) {
  pending = new Uint8Array([...pending, ...piece]);
  while (pending.length >= 8) {
    const view = new DataView(pending.buffer);
    const end = 8 + view.getUint32(0, true);
    if (pending.length < end) break;
    await handle(view.getUint8(6), view.getUint16(4, true));
    pending = pending.slice(end);
  }
}

async function handle(kind, session) {
  if (kind === 2) await send(new Uint8Array([0, 0, 0, 0, session & 255, session >> 8, 33, 0]));
  else if (kind > 2 && kind !== 5) await send(answer);
}

async function send(bytes) {
  for (let done = 0; done < bytes.length;) done += await Deno.stdout.write(bytes.subarray(done));
}
