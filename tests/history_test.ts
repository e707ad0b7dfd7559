import { assertEquals, assertNotEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { History } from "../src/history.ts";

const user = { role: "user", content: "q" };
const assistant = { role: "assistant", content: "a" };

Deno.test("History.append() returns a new conversation and leaves the old one unchanged", () => {
  const before = History.fromChats([user]);
  const after = before.append(assistant);
  assertEquals(before.toChats(), [user]);
  assertEquals(after.toChats(), [user, assistant]);
  assertEquals(after.length, 2);
});

Deno.test("History.extend() adds the messages of another conversation at the end", () => {
  const before = History.fromChats([user]);
  const after = before.extend(History.fromChats([assistant, user]));
  assertEquals([...after], [user, assistant, user]);
  assertStrictEquals(before.extend([]), before);
});

Deno.test("History.last is the last message, or undefined when there is none", () => {
  assertEquals(History.fromChats([user, assistant]).last, assistant);
  assertEquals(History.fromChats([]).last, undefined);
});

Deno.test("History.toChats() returns copies that the caller can change", () => {
  const history = History.fromChats([user]);
  const [message] = history.toChats();
  Object.assign(message ?? {}, { content: "changed" });
  assertNotEquals(history.toChats(), [message]);
  assertEquals(JSON.stringify({ history }), '{"history":[{"role":"user","content":"q"}]}');
});

Deno.test("History.fromChats() ignores later changes of its input", () => {
  const message = { ...user };
  const history = History.fromChats([message]);
  message.content = "changed";
  assertEquals(history.toChats(), [user]);
});

Deno.test("History.fromChats() throws when a message has no content", () => {
  const chats = JSON.parse('[{"role":"user","content":"q"},{"role":"user"}]');
  assertThrows(() => History.fromChats(chats), TypeError, "Cannot take message 1");
});

Deno.test("History.append() throws for a list, and History.extend() for a single message", () => {
  const history = History.fromChats([user]);
  const several = history as unknown as typeof user;
  assertThrows(() => history.append(several), TypeError, "must have one less dimension than self");
  const one = assistant as unknown as (typeof user)[];
  assertThrows(() => history.extend(one), TypeError, "must have as many dimensions as self");
});

Deno.test("History.slice() returns a part of the conversation", () => {
  assertEquals(History.fromChats([user, assistant]).slice(1).toChats(), [assistant]);
});
