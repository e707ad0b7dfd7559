import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { CheckpointError, type CheckpointErrorCode } from "../../../src/errors.ts";
import {
  type CheckpointScope,
  openCheckpoint,
  profileScope,
  readCheckpoint,
  sealCheckpoint,
} from "../../../src/sandbox/checkpoint/checkpoint.ts";
import { createKey } from "../../../src/sandbox/checkpoint/host_key.ts";
import { CheckpointCompressor } from "../../../src/sandbox/checkpoint/compression.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";

const IMAGE = "a".repeat(64);
const OTHER = "b".repeat(64);
const STATE = new Uint8Array(700_000).map((_, index) => index * index >> 5);
const MAC_BYTES = 32;

/** Calls `test` with a scope whose worker is ended afterwards. */
async function withScope(test: (scope: CheckpointScope) => Promise<void>): Promise<void> {
  await using compressor = new CheckpointCompressor();
  await test({ key: await createKey(), image: IMAGE, profile: IMAGE, maxBytes: 1 << 20, compressor });
}

async function seal(scope: CheckpointScope, owner?: string, state = STATE): Promise<Uint8Array> {
  const checkpoint = await sealCheckpoint(state.slice(), scope, { owner, tools: ["search"] });
  return await checkpoint.toBytes();
}

/** Returns the code with which a checkpoint is refused, wherever it is. */
async function codeOf(
  bytes: Uint8Array,
  scope: CheckpointScope,
  owner?: string,
): Promise<CheckpointErrorCode> {
  const open = async () =>
    await (await openCheckpoint(await readCheckpoint(bytes), scope, { owner })).expand();
  return (await assertRejects(open, CheckpointError)).code;
}

/** Returns where the state of a checkpoint begins. */
function stateAtOf(bytes: Uint8Array): number {
  return 16 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(12, true) + MAC_BYTES;
}

function changed(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  return bytes.with(at, change(bytes.at(at) as number));
}

Deno.test("a checkpoint has the state, the tools, and an id of its contents", () =>
  withScope(async (scope) => {
    const first = await readCheckpoint(await seal(scope));
    assertEquals(await (await openCheckpoint(first, scope, {})).expand(), STATE);
    assertEquals(first.tools, ["search"]);
    assertEquals(first.id, (await readCheckpoint(await seal(scope))).id);
  }));

Deno.test("a checkpoint is refused with the reason, whatever part of it was changed", () =>
  withScope(async (scope) => {
    const bytes = await seal(scope);
    const stateAt = stateAtOf(bytes);
    const wrong: [string, Uint8Array, CheckpointErrorCode][] = [
      ["empty", new Uint8Array(0), "checkpoint_truncated"],
      ["other bytes", new TextEncoder().encode("PK and more"), "checkpoint_damaged"],
      ["half of the prefix", bytes.slice(0, 10), "checkpoint_truncated"],
      ["half of the header", bytes.slice(0, 60), "checkpoint_truncated"],
      ["a part of the HMAC", bytes.slice(0, stateAt - 1), "checkpoint_truncated"],
      ["half of the state", bytes.slice(0, (bytes.length + stateAt) >> 1), "checkpoint_truncated"],
      ["no end", bytes.slice(0, -1), "checkpoint_truncated"],
      ["a byte more", new Uint8Array([...bytes, 0]), "checkpoint_damaged"],
      ["an older format", changed(bytes, 8, () => 0), "checkpoint_other_format"],
      ["a huge header", changed(bytes, 15, () => 0x7f), "checkpoint_damaged"],
      ["a changed header", changed(bytes, 20, (byte) => byte ^ 1), "checkpoint_damaged"],
      ["a changed HMAC", changed(bytes, stateAt - 1, (byte) => byte ^ 1), "checkpoint_damaged"],
      ["a changed state", changed(bytes, stateAt + 99, (byte) => byte ^ 1), "checkpoint_damaged"],
      ["a changed end", changed(bytes, bytes.length - 1, (byte) => byte ^ 1), "checkpoint_damaged"],
    ];
    for (const [name, each, code] of wrong) assertEquals([name, await codeOf(each, scope)], [name, code]);
  }));

Deno.test("a checkpoint is refused with another key, image, profile, owner or limit", () =>
  withScope(async (scope) => {
    const bytes = await seal(scope, "alice");
    const foreign = await createKey();
    assertEquals(await codeOf(bytes, { ...scope, key: foreign }, "alice"), "checkpoint_foreign");
    assertEquals(await codeOf(bytes, { ...scope, image: OTHER }, "alice"), "checkpoint_other_image");
    assertEquals(await codeOf(bytes, { ...scope, profile: OTHER }, "alice"), "checkpoint_other_profile");
    assertEquals(await codeOf(bytes, scope, "mallory"), "checkpoint_other_owner");
    assertEquals(await codeOf(bytes, scope), "checkpoint_other_owner");
    assertEquals(await codeOf(bytes, { ...scope, maxBytes: 1000 }, "alice"), "checkpoint_too_large");
  }));

Deno.test("a checkpoint is bound to a profile's settings and the name of its file, and not to its folder", async () => {
  const profile = await loadProfile("python");
  const scope = await profileScope(profile);
  assertEquals(await profileScope({ ...profile, name: "./copies/python.jsonc" }), scope);
  assertNotEquals((await profileScope({ ...profile, name: "other.jsonc" })).profile, scope.profile);
  const limits = { ...profile.limits, timeoutMs: profile.limits.timeoutMs + 1 };
  assertNotEquals((await profileScope({ ...profile, limits })).profile, scope.profile);
});

Deno.test("headers and states of two checkpoints cannot be swapped", () =>
  withScope(async (scope) => {
    const random = () => crypto.getRandomValues(new Uint8Array(1000)); // both are compressed to one size
    const mine = await seal(scope, "alice", random());
    const other = await seal({ ...scope, image: OTHER }, "bobby", random());
    assertEquals(mine.length, other.length);
    const stateAt = stateAtOf(mine);
    for (const at of [100, 500, stateAt - MAC_BYTES, stateAt]) {
      const swapped = new Uint8Array([...mine.subarray(0, at), ...other.subarray(at)]);
      assertEquals(await codeOf(swapped, scope, "alice"), "checkpoint_damaged");
    }
  }));

Deno.test("sealCheckpoint() refuses more names of tools than a header has room for", () =>
  withScope(async (scope) => {
    for (const tools of [Array(1001).fill("a"), ["a".repeat(257)], Array(900).fill("a".repeat(200))]) {
      const seal = () => sealCheckpoint(new Uint8Array(1), scope, { tools });
      assertEquals((await assertRejects(seal, CheckpointError)).code, "checkpoint_refused");
    }
    const most = Array.from({ length: 900 }, (_, index) => `tool_${index}`);
    const checkpoint = await sealCheckpoint(new Uint8Array(1), scope, { tools: most });
    assertEquals((await readCheckpoint(await checkpoint.toBytes())).tools, most);
  }));
