import { assertEquals, assertRejects } from "@std/assert";
import { CheckpointError, type CheckpointErrorCode } from "../../../src/errors.ts";
import {
  type CheckpointScope,
  readCheckpoint,
  sealCheckpoint,
  stateOf,
} from "../../../src/sandbox/checkpoint/checkpoint.ts";
import { createKey } from "../../../src/sandbox/checkpoint/host_key.ts";
import { deflate, inflate } from "../../../src/sandbox/checkpoint/compression.ts";

const IMAGE = "a".repeat(64);
const OTHER = "b".repeat(64);
const STATE = new Uint8Array(700_000).map((_, index) => index * index >> 5);
const MAC_BYTES = 32;

async function scopeOf(more: Partial<CheckpointScope> = {}): Promise<CheckpointScope> {
  return { key: await createKey(), image: IMAGE, profile: IMAGE, maxBytes: 1 << 20, ...more };
}

async function seal(scope: CheckpointScope, owner?: string): Promise<Uint8Array> {
  const checkpoint = await sealCheckpoint(STATE, scope, { owner, tools: ["search"] });
  return await checkpoint.toBytes();
}

/** Returns the code with which a checkpoint is refused, wherever it is. */
async function codeOf(
  bytes: Uint8Array,
  scope: CheckpointScope,
  owner?: string,
): Promise<CheckpointErrorCode> {
  const open = async () => await stateOf(await readCheckpoint(bytes), scope, { owner });
  return (await assertRejects(open, CheckpointError)).code;
}

function changed(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  return bytes.with(at, change(bytes.at(at) as number));
}

Deno.test("a checkpoint has the state, the tools, and an id of its contents", async () => {
  const scope = await scopeOf();
  const first = await readCheckpoint(await seal(scope));
  assertEquals(await stateOf(first, scope, {}), STATE);
  assertEquals(first.tools, ["search"]);
  assertEquals(first.id, (await readCheckpoint(await seal(scope))).id);
});

Deno.test("a checkpoint is refused with the reason, whatever part of it was changed", async () => {
  const scope = await scopeOf();
  const bytes = await seal(scope);
  const wrong: [string, Uint8Array, CheckpointErrorCode][] = [
    ["empty", new Uint8Array(0), "checkpoint_truncated"],
    ["other bytes", new TextEncoder().encode("PK and more"), "checkpoint_damaged"],
    ["half of the prefix", bytes.slice(0, 10), "checkpoint_truncated"],
    ["half of the header", bytes.slice(0, 60), "checkpoint_truncated"],
    ["half of the state", bytes.slice(0, bytes.length >> 1), "checkpoint_truncated"],
    ["a part of the HMAC", bytes.slice(0, -1), "checkpoint_truncated"],
    ["a byte more", new Uint8Array([...bytes, 0]), "checkpoint_damaged"],
    ["an older format", changed(bytes, 8, () => 0), "checkpoint_other_format"],
    ["a huge header", changed(bytes, 15, () => 0x7f), "checkpoint_damaged"],
    ["a changed header", changed(bytes, 20, (byte) => byte ^ 1), "checkpoint_damaged"],
    [
      "a changed state",
      changed(bytes, bytes.length - MAC_BYTES - 9, (byte) => byte ^ 1),
      "checkpoint_damaged",
    ],
    ["a changed HMAC", changed(bytes, bytes.length - 1, (byte) => byte ^ 1), "checkpoint_damaged"],
  ];
  for (const [name, each, code] of wrong) assertEquals([name, await codeOf(each, scope)], [name, code]);
});

Deno.test("a checkpoint is refused with another key, image, profile, owner or limit", async () => {
  const scope = await scopeOf();
  const bytes = await seal(scope, "alice");
  const foreign = await createKey();
  assertEquals(await codeOf(bytes, { ...scope, key: foreign }, "alice"), "checkpoint_foreign");
  assertEquals(await codeOf(bytes, { ...scope, image: OTHER }, "alice"), "checkpoint_other_image");
  assertEquals(await codeOf(bytes, { ...scope, profile: OTHER }, "alice"), "checkpoint_other_profile");
  assertEquals(await codeOf(bytes, scope, "mallory"), "checkpoint_other_owner");
  assertEquals(await codeOf(bytes, scope), "checkpoint_other_owner");
  assertEquals(await codeOf(bytes, { ...scope, maxBytes: 1000 }, "alice"), "checkpoint_too_large");
});

Deno.test("headers and states of two checkpoints cannot be swapped", async () => {
  const scope = await scopeOf();
  const [mine, other] = [await seal(scope, "alice"), await seal({ ...scope, image: OTHER }, "bobby")];
  assertEquals(mine.length, other.length);
  for (const at of [100, 500, mine.length - MAC_BYTES]) {
    const swapped = new Uint8Array([...mine.subarray(0, at), ...other.subarray(at)]);
    assertEquals(await codeOf(swapped, scope, "alice"), "checkpoint_damaged");
  }
});

Deno.test("inflate() stops at the announced size of a bomb", async () => {
  const bomb = await deflate(new Uint8Array(64 << 20));
  const error = await assertRejects(() => inflate(bomb, { bytes: 1000 }), CheckpointError);
  assertEquals(error.code, "checkpoint_damaged");
  const short = await deflate(new Uint8Array(10));
  assertEquals(
    (await assertRejects(() => inflate(short, { bytes: 11 }), CheckpointError)).code,
    "checkpoint_damaged",
  );
  const garbage = new Uint8Array(100).fill(0xff);
  assertEquals(
    (await assertRejects(() => inflate(garbage, { bytes: 9 }), CheckpointError)).code,
    "checkpoint_damaged",
  );
});
