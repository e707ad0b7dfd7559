import { assertEquals, assertRejects } from "@std/assert";
import { abortable } from "../../src/async/abort.ts";
import { printHint, TextQueue } from "../../src/cli/output.ts";
import { FakeSink } from "./fake_sink.ts";

Deno.test("TextQueue.write() keeps the order when a sink accepts few bytes at a time", async () => {
  const written: string[] = [];
  const sink = (name: string) => ({
    write: async (bytes: Uint8Array) => {
      await Promise.resolve();
      written.push(name + new TextDecoder().decode(bytes.subarray(0, 2)));
      return Math.min(2, bytes.length);
    },
  });
  const [out, err] = [sink("o"), sink("e")];
  const queue = new TextQueue();
  queue.write(out, "abc");
  queue.write(err, "d");
  queue.write(out, "e");
  await queue.flush();
  assertEquals(written, ["oab", "oc", "ed", "oe"]);
});

Deno.test("TextQueue drops later texts after a write fails, and reports the error", async () => {
  let writes = 0;
  const closed = {
    write: () => {
      writes++;
      return Promise.reject(new Deno.errors.BrokenPipe("closed"));
    },
  };
  const queue = new TextQueue();
  queue.write(closed, "a");
  queue.write(closed, "b");
  await assertRejects(() => queue.flush(), Deno.errors.BrokenPipe);
  assertEquals([writes, queue.signal.aborted], [1, true]);
});

Deno.test("unlessAborted() rejects on abort when its promise never settles", async () => {
  const controller = new AbortController();
  const waiting = abortable(new Promise(() => {}), controller.signal);
  controller.abort(new Error("stop"));
  await assertRejects(() => waiting, Error, "stop");
  assertEquals(await abortable(Promise.resolve(1), new AbortController().signal), 1);
});

Deno.test("printHint() prints only if stdin is a terminal", async () => {
  for (const [terminal, text] of [[true, "Waiting\n"], [false, ""]] as const) {
    const stderr = new FakeSink();
    await printHint("Waiting", { stdin: new FakeSink(terminal), stderr });
    assertEquals(stderr.text, text);
  }
});
