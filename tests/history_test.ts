import { assertEquals, assertNotEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { History } from "../src/history.ts";

const user = { role: "user", content: "q" };
const assistant = { role: "assistant", content: "a" };

Deno.test("History append/extend: ▲ copy-on-write, a new conversation that leaves the old one", () => {
  const before = History.fromChats([user]);
  const after = before.append(assistant);
  assertEquals(before.toChats(), [user]);
  assertEquals(after.toChats(), [user, assistant]);
  assertEquals(after.length, 2);
});

Deno.test("History.extend() puts one conversation behind another", () => {
  const before = History.fromChats([user]);
  const after = before.extend(History.fromChats([assistant, user]));
  assertEquals([...after], [user, assistant, user]);
  assertStrictEquals(before.extend([]), before);
});

Deno.test("History.last is the newest message, undefined when there is none", () => {
  assertEquals(History.fromChats([user, assistant]).last, assistant);
  assertEquals(History.fromChats([]).last, undefined);
});

Deno.test("History.toChats() gives objects that are the caller's own", () => {
  const history = History.fromChats([user]);
  const [message] = history.toChats();
  Object.assign(message ?? {}, { content: "changed" });
  assertNotEquals(history.toChats(), [message]);
  assertEquals(JSON.stringify({ history }), '{"history":[{"role":"user","content":"q"}]}');
});

Deno.test("History.fromChats() does not follow later changes of what it was given", () => {
  const message = { ...user };
  const history = History.fromChats([message]);
  message.content = "changed";
  assertEquals(history.toChats(), [user]);
});

Deno.test("History.fromChats() refuses a message without text", () => {
  const chats = JSON.parse('[{"role":"user","content":"q"},{"role":"user"}]');
  assertThrows(() => History.fromChats(chats), TypeError, "Cannot take message 1");
});

Deno.test("History.append() takes one message and History.extend() several, and each says so", () => {
  const history = History.fromChats([user]);
  const several = history as unknown as typeof user;
  assertThrows(() => history.append(several), TypeError, "must have one less dimension than self");
  const one = assistant as unknown as (typeof user)[];
  assertThrows(() => history.extend(one), TypeError, "must have as many dimensions as self");
});

Deno.test("History.slice() gives a part of the conversation", () => {
  assertEquals(History.fromChats([user, assistant]).slice(1).toChats(), [assistant]);
});
