import { assertEquals } from "@std/assert";
import { ServerWatch } from "../../../src/cli/rollout/server_watch.ts";
import { History } from "../../../src/history.ts";

const TASK = { id: "t", query: "q" };

Deno.test("ServerWatch.hintAfter() prints a hint only if there is no reply in time", async () => {
  const isPrinted = Promise.withResolvers<string>();
  const slow = new ServerWatch({ waitSeconds: 1 });
  slow.printTo(isPrinted.resolve);
  using _hint = slow.hintAfter(1);
  assertEquals(
    await isPrinted.promise,
    "No reply after 0.001 s: --max-tokens N shortens replies, --concurrency N sends fewer requests at once\n",
  );

  const fast = new ServerWatch({ waitSeconds: 1 });
  let printed = 0;
  fast.printTo(() => void printed++);
  // a timer that is not stopped fails the test, as Deno's leak check finds it
  fast.hintAfter(600_000);
  const seen: unknown[] = [];
  const policy = fast.watch(
    { name: "p", reply: () => Promise.resolve("hi") },
    ({ message }) => void seen.push(message.content),
  );
  assertEquals([policy.name, await policy.reply(History.fromChats([]), { task: TASK }), printed], [
    "p",
    "hi",
    0,
  ]);
  assertEquals(seen, ["hi"]);
});
