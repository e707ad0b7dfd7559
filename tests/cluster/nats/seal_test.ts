import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { Seal, SEAL_BYTES } from "../../../src/cluster/nats/seal.ts";
import { Subjects } from "../../../src/cluster/nats/subjects.ts";

const key = new Uint8Array(32).fill(7);
const seal = new Seal(key, "a");
const text = new TextEncoder().encode("print(42)");

Deno.test("Seal.open() returns what a member has sealed for the same place, and nothing else", () => {
  const sealed = seal.seal("one", text);
  assertEquals(new Seal(key, "a").open("one", sealed), text);
  assertEquals(new TextDecoder().decode(sealed).includes("print"), false);
  assertNotEquals(seal.seal("one", text), sealed);
  assertEquals(seal.open("two", sealed), undefined);
  assertEquals(new Seal(new Uint8Array(32), "a").open("one", sealed), undefined);
  assertEquals(new Seal(key, "b").open("one", sealed), undefined);
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    assertEquals(seal.open("one", changed), undefined);
    assertEquals(seal.open("one", sealed.slice(0, at)), undefined);
  }
  const unaligned = new Uint8Array(sealed.length + 1);
  unaligned.set(sealed, 1);
  assertEquals(seal.open("one", unaligned.subarray(1)), text);
});

Deno.test("a Seal has a key of its own, and a nonce for each text", () => {
  const [salt, nonce] = [
    (sealed: Uint8Array) => sealed.slice(0, 12),
    (sealed: Uint8Array) => sealed.slice(12, 24),
  ];
  const [first, second] = [seal.seal("one", text), seal.seal("one", text)];
  assertEquals(salt(first), salt(second));
  assertNotEquals(nonce(first), nonce(second));
  const other = new Seal(key, "a");
  const third = other.seal("one", text);
  assertNotEquals(salt(first), salt(third));
  for (const sealed of [first, third, second, third]) {
    assertEquals([seal.open("one", sealed), other.open("one", sealed)], [text, text]);
  }
  const mixed = Uint8Array.of(...salt(first), ...third.subarray(12));
  assertEquals(seal.open("one", mixed), undefined);
});

Deno.test("Seal.open() opens texts of any size, also empty ones", () => {
  for (const size of [0, 1, 64, 300_000]) {
    const whole = new Uint8Array(size).fill(9);
    const sealed = seal.seal("one", whole);
    assertEquals([sealed.length, new Seal(key, "a").open("one", sealed)], [size + SEAL_BYTES, whole]);
  }
});

Deno.test("Seal.openObject() returns what a member has sealed for the same place, and nothing else", async () => {
  const sealed = await seal.sealObject("one", text);
  assertEquals(await new Seal(key, "a").openObject("one", sealed), text);
  assertEquals(await seal.openObject("two", sealed), undefined);
  assertEquals(await new Seal(new Uint8Array(32), "a").openObject("one", sealed), undefined);
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    assertEquals(await seal.openObject("one", changed), undefined);
    assertEquals(await seal.openObject("one", sealed.slice(0, at)), undefined);
  }
});

Deno.test("a Seal needs a key of 32 bytes", () => {
  assertThrows(() => new Seal(new Uint8Array(31), "a"), RangeError, "at least 32 bytes: it has 31");
});

Deno.test("subjects, queue groups and names of entries contain no id and no profile, and depend on the key", () => {
  const [member, profile] = ["abcdefghij", "serve-tenant-7"];
  const session = `${member}${"A".repeat(30)}`;
  const all = ({ hash }: { hash: Seal["hash"] }) => {
    const subjects = new Subjects("c", { hash });
    return [
      subjects.work(profile),
      subjects.free(profile),
      subjects.slotQueue(profile),
      subjects.node(member),
      subjects.nodeBeat(member),
      subjects.callerBeat(member),
      subjects.inbox(member, "1"),
      subjects.entry(session),
      subjects.entry(member),
    ];
  };
  const own = all({ hash: seal.hash.bind(seal) });
  assertEquals(new Set(own).size, own.length);
  const other = new Seal(new Uint8Array(32), "a");
  for (const [at, name] of all({ hash: other.hash.bind(other) }).entries()) {
    assert(!own.includes(name));
    for (const raw of [member, profile, session]) assert(!own[at]?.includes(raw));
  }
});
