import { assertEquals } from "@std/assert";
import { CheckpointTransfers } from "../../../src/server/checkpoints/transfers.ts";
import { HANG_MS } from "../../deadline.ts";

const MIB = 1 << 20;
const LARGEST = 256 * MIB;

Deno.test("owners who take all the memory that they get leave another one the room of its states", {
  timeout: HANG_MS,
}, async () => {
  const transfers = new CheckpointTransfers({ owners: 8 });
  const held: string[] = [];
  const attack = new AbortController();
  for (const owner of ["a", "b", "c", "d"]) {
    for (let state = 0; state < 8; state++) {
      transfers.memoryOf(owner).reserve(LARGEST, attack.signal).then(() => held.push(owner), () => {});
    }
  }
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(held.length, 2); // the others wait for these
  for (let state = 0; state < 3; state++) await transfers.memoryOf("honest").reserve(20 * MIB);
  attack.abort();
});

Deno.test("the largest state of an owner comes after the ones that have room, not after all that wait", {
  timeout: HANG_MS,
}, async () => {
  const transfers = new CheckpointTransfers({ owners: 8 });
  const [first, second] = [
    await transfers.memoryOf("a").reserve(LARGEST),
    await transfers.memoryOf("b").reserve(LARGEST),
  ];
  const order: string[] = [];
  const take = async (owner: string) => {
    using _room = await transfers.memoryOf(owner).reserve(LARGEST);
    order.push(owner);
  };
  const waiting = ["a", "a", "b", "b", "a", "b"].map(take);
  const honest = take("honest");
  first[Symbol.dispose]();
  await honest;
  assertEquals(order.slice(0, 2).includes("honest"), true, `${order}`);
  second[Symbol.dispose]();
  await Promise.all(waiting);
});

Deno.test("a state that is larger than the memory of its owner waits until that is free", {
  timeout: HANG_MS,
}, async () => {
  const memory = new CheckpointTransfers({ bytes: 8 * MIB }).memoryOf("");
  const small = await memory.reserve(MIB);
  let isTaken = false;
  const large = memory.reserve(Infinity).then((room) => {
    isTaken = true;
    return room;
  });
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(isTaken, false);
  small[Symbol.dispose]();
  (await large).shrink(2 * MIB);
  using _other = await memory.reserve(6 * MIB);
});
