import { assertEquals } from "@std/assert";
import { decodePayload, encodePayload, Members } from "../../../src/cluster/nats/members.ts";

const sender = "abcdefghij";

Deno.test("decodePayload() reads what encodePayload() wrote", () => {
  const sent = { sender, number: 2 ** 40 + 3, payload: new Uint8Array([1, 2]) };
  assertEquals(decodePayload(encodePayload(sent)), sent);
  for (const length of [0, 9, 18]) assertEquals(decodePayload(new Uint8Array(length)), undefined);
});

Deno.test("Members.accept() takes each payload once, and none that an earlier one has overtaken", () => {
  const members = new Members();
  const accept = (number: number) => members.accept({ sender, number }, { isDirect: true });
  assertEquals(accept(5), "next");
  assertEquals(accept(5), "replayed");
  assertEquals(accept(4), "replayed");
  assertEquals(accept(9), "next");
  assertEquals(members.accept({ sender: "klmnopqrst", number: 1 }, { isDirect: true }), "next");
  assertEquals(accept(8), "replayed");
});

Deno.test("Members.accept() takes no broadcast of a member that may have ended before this one began", () => {
  const members = new Members();
  const broadcast = (number: number) => members.accept({ sender, number }, { isDirect: false });
  assertEquals(broadcast(900), "unknown");
  assertEquals(members.accept({ sender, number: 7 }, { isDirect: true }), "next");
  assertEquals(broadcast(7), "replayed");
  assertEquals(broadcast(8), "next");
});

Deno.test("Members.takeQuestion() asks a member again after a time, whatever others do", () => {
  const members = new Members();
  assertEquals(members.takeQuestion(sender, 0), true);
  assertEquals(members.takeQuestion(sender, 249), false);
  assertEquals(members.takeQuestion("klmnopqrst", 249), true);
  assertEquals(members.takeQuestion(sender, 250), true);
});
