import { assert, assertEquals, assertRejects } from "@std/assert";
import { CheckpointError, SandboxError } from "../../../src/errors.ts";
import { delay } from "@std/async";
import { CheckpointCompressor, type Compressed } from "../../../src/sandbox/checkpoint/compression.ts";
import { exposedCollector, usedBytes } from "../../../src/server/garbage.ts";
import { HANG_MS } from "../../deadline.ts";

const MIB = 1 << 20;
const owner = "alice";

/** Returns bytes that are half random and half zero. */
function stateOf(bytes: number): Uint8Array<ArrayBuffer> {
  const state = new Uint8Array(bytes);
  for (let at = 0; at < bytes / 2; at += 65536) {
    crypto.getRandomValues(state.subarray(at, Math.min(at + 65536, bytes / 2)));
  }
  return state;
}

/** Returns bytes in shared memory, with their right hash. */
async function withHash(parts: readonly Uint8Array[]): Promise<Compressed> {
  const joined = new Uint8Array(await new Blob(parts.map((part) => part.slice())).arrayBuffer());
  const hash = await crypto.subtle.digest("SHA-256", joined);
  const bytes = new Uint8Array(new SharedArrayBuffer(joined.length));
  bytes.set(joined);
  return { bytes, sha256: new Uint8Array(hash).toHex() };
}

Deno.test("a state of any size is compressed and expanded", async () => {
  await using compressor = new CheckpointCompressor();
  for (const bytes of [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 77]) {
    const state = stateOf(bytes);
    const compressed = await compressor.compress(state.slice().buffer, { owner });
    assert(compressed.bytes.byteLength <= bytes * 0.6 + 100, `${compressed.bytes.byteLength} of ${bytes}`);
    assertEquals(await compressor.expand(compressed, { owner, stateBytes: bytes }), state);
  }
});

Deno.test("a state of random bytes is compressed in its place, also where it becomes larger", async () => {
  await using compressor = new CheckpointCompressor();
  for (const bytes of [100, MIB, 2 * MIB + 1]) {
    const state = new Uint8Array(bytes);
    for (let at = 0; at < bytes; at += 65536) crypto.getRandomValues(state.subarray(at, at + 65536));
    const moved = new ArrayBuffer(0, { maxByteLength: 4 * MIB });
    moved.resize(bytes);
    new Uint8Array(moved).set(state);
    const compressed = await compressor.compress(moved, { owner });
    assert(compressed.bytes.byteLength > bytes, `${compressed.bytes.byteLength} of ${bytes}`);
    assertEquals([moved.detached, await compressor.expand(compressed, { owner, stateBytes: bytes })], [
      true,
      state,
    ]);
  }
});

Deno.test("a state that is no more than zeros stops at its announced size", async () => {
  await using compressor = new CheckpointCompressor();
  const bomb = await compressor.compress(new ArrayBuffer(64 * MIB), { owner });
  assert(bomb.bytes.byteLength < 64 * 1024, `${bomb.bytes.byteLength}`);
  for (const stateBytes of [1000, MIB, 64 * MIB - 1]) {
    const { code } = await assertRejects(
      () => compressor.expand(bomb, { owner, stateBytes }),
      CheckpointError,
    );
    assertEquals(code, "checkpoint_damaged");
  }
});

Deno.test("compressed bytes that are damaged are refused, even with their right hash", async () => {
  await using compressor = new CheckpointCompressor();
  const stateBytes = 2 * MIB + 9;
  const { bytes, sha256 } = await compressor.compress(stateOf(stateBytes).buffer, { owner });
  const half = bytes.length >> 1;
  const other = sha256.replace(/./g, (digit) => digit === "0" ? "1" : "0");
  const wrong: Record<string, Compressed> = {
    "another hash": { bytes, sha256: other },
    "no bytes": await withHash([]),
    "half of them": await withHash([bytes.subarray(0, half)]),
    "all but one": await withHash([bytes.subarray(0, -1)]),
    "one more": await withHash([bytes, new Uint8Array(1)]),
    "one slice more": await withHash([bytes, bytes.subarray(0, half)]),
    "a huge length": await withHash([new Uint8Array(4).fill(0xff), bytes.subarray(4)]),
    "no zstd": await withHash([bytes.subarray(0, 4), new Uint8Array(bytes.length - 4).fill(0xff)]),
  };
  for (const [name, compressed] of Object.entries(wrong)) {
    const expand = () => compressor.expand(compressed, { owner, stateBytes });
    const { code } = await assertRejects(expand, CheckpointError);
    assertEquals([name, code], [name, "checkpoint_damaged"]);
  }
});

Deno.test("the thread of the caller goes on while a state is compressed and expanded", async () => {
  await using compressor = new CheckpointCompressor();
  let turns = 0;
  const timer = setInterval(() => turns++);
  const bytes = 64 * MIB;
  const compressed = await compressor.compress(stateOf(bytes).buffer, { owner });
  const whileCompressing = turns;
  await compressor.expand(compressed, { owner, stateBytes: bytes });
  clearInterval(timer);
  assert(whileCompressing > 5, `${whileCompressing} turns while it was compressed`);
  assert(turns - whileCompressing > 2, `${turns - whileCompressing} turns while it was expanded`);
});

Deno.test("the memory of a compressed state is free once the state is not used", async () => {
  await using compressor = new CheckpointCompressor();
  const [state, collect] = [stateOf(192 * MIB).slice(0, 96 * MIB), exposedCollector()];
  await compressor.compress(new ArrayBuffer(MIB), { owner }); // starts the worker
  const before = usedBytes();
  await compressAndDrop(compressor, state);
  let grownBytes = Infinity;
  for (let tries = 0; tries < 50 && grownBytes > 128 * MIB; tries++) {
    collect();
    grownBytes = usedBytes() - before;
    await delay(100);
  }
  const [grown, left] = [Math.round(grownBytes / MIB), state.length / MIB];
  assert(grown <= 128, `${grown} MiB remain of a state of ${left} MiB, with 70 of the worker's own`);
});

/** Compresses a copy of a state in a function of its own, so that nothing here refers to the result. */
async function compressAndDrop(compressor: CheckpointCompressor, state: Uint8Array): Promise<void> {
  await compressor.compress(state.slice().buffer, { owner });
}

Deno.test("jobs of one owner do not delay those of another one", async () => {
  await using compressor = new CheckpointCompressor();
  const ended: string[] = [];
  const compress = async (name: string, bytes: number) => {
    await compressor.compress(stateOf(bytes).buffer, { owner: name });
    ended.push(name);
  };
  const many = Array.from({ length: 20 }, () => compress("greedy", 4 * MIB));
  await compress("modest", 1000);
  assert(ended.length < 10, `${ended.length} jobs ended before`);
  await Promise.all(many);
});

Deno.test("an owner with 128 MiB of states in memory waits until one is compressed", {
  timeout: HANG_MS,
}, async () => {
  await using compressor = new CheckpointCompressor();
  const memory = compressor.memoryOf(owner);
  const held = await memory.reserve(Infinity);
  held.shrink(128 * MIB);
  let isReserved = false;
  const waiting = memory.reserve(1).then((room) => {
    isReserved = true;
    return room;
  });
  using _other = await compressor.memoryOf("bob").reserve(1);
  const abort = new AbortController();
  const aborted = memory.reserve(1, abort.signal);
  abort.abort(new Error("stop"));
  await assertRejects(() => aborted, Error, "stop");
  assertEquals(isReserved, false);
  held[Symbol.dispose]();
  using _next = await waiting;
});

Deno.test("a compressor that is disposed rejects its jobs", async () => {
  const compressor = new CheckpointCompressor();
  const running = compressor.compress(stateOf(8 * MIB).buffer, { owner });
  const rejected = assertRejects(() => running, SandboxError);
  await compressor[Symbol.asyncDispose]();
  await rejected;
  await assertRejects(() => compressor.compress(new ArrayBuffer(1), { owner }), SandboxError);
});
