import { assertEquals, assertThrows } from "@std/assert";
import { delay } from "@std/async";
import type { Checkpoint } from "../../../src/sandbox/contract/checkpoint.ts";
import { CheckpointStore } from "../../../src/server/checkpoints/checkpoint_store.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";

/** Bytes that the store counts for an entry beside its checkpoint. */
const ENTRY = 2048;

function checkpointOf(id: string, storedBytes = 1000): Checkpoint {
  return { id, storedBytes, tools: ["search"], toBytes: () => Promise.resolve(new Uint8Array(storedBytes)) };
}

function codeOf(work: () => unknown): string {
  return assertThrows(work, ServerError).code;
}

Deno.test("CheckpointStore.hold() returns what was put, and marks it as used", () => {
  using store = new CheckpointStore();
  const [first, second] = [checkpointOf("first"), checkpointOf("second", 500)];
  store.put("ada", first);
  store.put("ada", second);
  assertEquals(store.list("ada").map(({ id, bytes, tools }) => [id, bytes, tools]), [
    ["first", 1000, ["search"]],
    ["second", 500, ["search"]],
  ]);
  assertEquals(store.hold("ada", "first").checkpoint, first);
  assertEquals(store.list("ada").map(({ id }) => id), ["second", "first"]);
});

Deno.test("a checkpoint that is deleted while it is used takes its room until the last use ends", () => {
  using store = new CheckpointStore();
  store.put("ada", checkpointOf("one"));
  const [first, second] = [store.hold("ada", "one"), store.hold("ada", "one")];
  store.delete("ada", "one");
  assertEquals([codeOf(() => store.hold("ada", "one")), store.list("ada")], ["not_found", []]);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assertEquals([store.count(), store.bytes()], [1, 1000 + ENTRY]);
  second[Symbol.dispose]();
  assertEquals([store.count(), store.bytes()], [0, 0]);
});

Deno.test("CheckpointStore has no checkpoint of another owner", () => {
  using store = new CheckpointStore();
  store.put("ada", checkpointOf("one"));
  assertEquals(codeOf(() => store.hold("bob", "one")), "not_found");
  assertEquals(codeOf(() => store.delete("bob", "one")), "not_found");
  assertEquals([store.list("bob"), store.list("ada").length], [[], 1]);
});

Deno.test("CheckpointStore.put() keeps equal checkpoints of an owner once, and those of two owners twice", () => {
  using store = new CheckpointStore();
  for (const owner of ["ada", "ada", "bob"]) store.put(owner, checkpointOf("one"));
  assertEquals([store.count("ada"), store.count()], [1, 2]);
  assertEquals([store.bytes("ada"), store.bytes()], [1000 + ENTRY, 2 * (1000 + ENTRY)]);
});

Deno.test("CheckpointStore.put() refuses what has no room, and evicts nothing", () => {
  using store = new CheckpointStore({ bytes: 2 * (1000 + ENTRY), count: 10 });
  store.put("", checkpointOf("one"));
  store.put("", checkpointOf("two"));
  assertEquals(codeOf(() => store.requireRoom("")), "conflict");
  assertEquals(codeOf(() => store.put("", checkpointOf("three"))), "conflict");
  assertEquals(codeOf(() => store.put("", checkpointOf("four", 10_000))), "too_large");
  assertEquals(store.hold("", "one").checkpoint.id, "one");
  store.delete("", "two");
  store.requireRoom("");
  store.put("", checkpointOf("three"));
  assertEquals(store.list("").map(({ id }) => id), ["one", "three"]);
});

Deno.test("CheckpointStore.put() limits the number", () => {
  using store = new CheckpointStore({ count: 2 });
  store.put("", checkpointOf("one"));
  store.put("", checkpointOf("two"));
  assertEquals(codeOf(() => store.put("", checkpointOf("three"))), "conflict");
  store.put("", checkpointOf("two"));
  assertEquals([store.count(), store.bytes()], [2, 2 * (1000 + ENTRY)]);
});

Deno.test("CheckpointStore.put() reserves a share for each owner", () => {
  using store = new CheckpointStore({ count: 4, owners: 2 });
  for (const id of ["one", "two", "three"]) store.put("ada", checkpointOf(id));
  assertEquals(codeOf(() => store.put("ada", checkpointOf("four"))), "conflict");
  store.put("bob", checkpointOf("four"));
});

Deno.test("CheckpointStore deletes a checkpoint that was not used for its life", async () => {
  using store = new CheckpointStore({ lifeMs: 20 });
  store.put("", checkpointOf("one"));
  while (store.count() > 0) await delay(1);
  assertEquals([store.bytes(), store.list("")], [0, []]);
  store.put("", checkpointOf("two"));
  while (store.count() > 0) await delay(1);
});

Deno.test("CheckpointStore[Symbol.dispose]() frees all", () => {
  const store = new CheckpointStore();
  store.put("ada", checkpointOf("one"));
  store[Symbol.dispose]();
  assertEquals([store.count(), store.bytes()], [0, 0]);
});
