import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { WaitList } from "../../src/async/wait_list.ts";

function requestsOf(list: WaitList<string, string>): string[] {
  return [...list].map(({ request }) => request);
}

Deno.test("WaitList has its callers in their order, without those whose waits have ended", async () => {
  const list = new WaitList<string, string>();
  const [one, two, three] = ["one", "two", "three"].map((request) => list.add(request));
  two?.resolve("second");
  assertEquals([requestsOf(list), list.size, list.first], [["one", "three"], 2, one]);
  one?.reject(new Error("none"));
  assertEquals(await two?.promise, "second");
  await assertRejects(async () => await one?.promise, Error, "none");
  assertEquals(requestsOf(list), ["three"]);
  three?.resolve("third");
  assertEquals([list.size, list.first], [0, undefined]);
});

Deno.test("WaitList.add() lets a caller wait until its signal aborts", async () => {
  const list = new WaitList<string, string>();
  const abort = new AbortController();
  const aborted = list.add("aborted", abort.signal);
  const other = list.add("other", new AbortController().signal);
  abort.abort(new Error("given up"));
  await assertRejects(() => aborted.promise, Error, "given up");
  assertEquals(requestsOf(list), ["other"]);
  assertThrows(() => list.add("late", abort.signal), Error, "given up");
  other.resolve("value");
  assertEquals([await other.promise, list.size], ["value", 0]);
});

Deno.test("WaitList.add() does not keep a signal whose caller has its value", () => {
  const list = new WaitList<string, string>();
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
  signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
  const waiter = list.add("one", signal);
  assertEquals(listeners.size, 1);
  waiter.resolve("value");
  assertEquals(listeners.size, 0);
});

Deno.test("WaitList.putBack() puts callers before all others, but not those that have given up", async () => {
  const list = new WaitList<string, string>();
  const abort = new AbortController();
  list.add("one");
  const two = list.add("two", abort.signal);
  list.add("three");
  list.add("four");
  const taken = list.take(3);
  assertEquals([taken.map(({ request }) => request), requestsOf(list)], [["one", "two", "three"], ["four"]]);
  abort.abort(new Error("given up"));
  await assertRejects(() => two.promise, Error, "given up");
  list.putBack(taken);
  assertEquals(requestsOf(list), ["one", "three", "four"]);
  list.putBack(taken);
  assertEquals(requestsOf(list), ["one", "three", "four"]);
});

Deno.test("WaitList.rejectAll() ends the waits of the callers in the list alone", async () => {
  const list = new WaitList<string, string>();
  const [first, second] = [list.add("first"), list.add("second")];
  list.take(1);
  list.rejectAll(new Error("closed"));
  await assertRejects(() => second.promise, Error, "closed");
  assertEquals(list.size, 0);
  first.resolve("value");
  assertEquals(await first.promise, "value");
});
