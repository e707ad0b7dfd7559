import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  abortable,
  CallTimeoutError,
  Deadline,
  MAX_TIMER_MS,
  requireTimeout,
  runWithTimeout,
} from "../../src/async/abort.ts";

const never = new Promise<never>(() => {});

Deno.test("abortable() rejects with the signal's reason, and without a signal waits for the promise", async () => {
  assertEquals(await abortable(Promise.resolve(1), undefined), 1);
  const stop = new AbortController();
  const waiting = abortable(never, stop.signal);
  stop.abort(new TypeError("stop"));
  await assertRejects(() => waiting, TypeError, "stop");
  await assertRejects(() => abortable(never, stop.signal), TypeError, "stop");
});

Deno.test("Deadline aborts its signal when the time is up or the other signal is aborted", async () => {
  using late = new Deadline(1, { reason: () => new RangeError("late") });
  await assertRejects(() => abortable(never, late.signal), RangeError, "late");
  assertEquals(late.isExpired, true);
  const stop = new AbortController();
  using deadline = new Deadline(Infinity, { signal: stop.signal });
  stop.abort();
  assertEquals([deadline.signal.aborted, deadline.isExpired], [true, false]);
});

Deno.test("runWithTimeout() throws its own error when the aborted work throws another", async () => {
  const work = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(new RangeError("aborted")));
    });
  const error = await assertRejects(() => runWithTimeout(work, { timeoutMs: 1 }), CallTimeoutError);
  assertEquals(error.timeoutMs, 1);
});

Deno.test("runWithTimeout() aborts the work with the signal's reason", async () => {
  const stop = new AbortController();
  let found: AbortSignal | undefined;
  const running = runWithTimeout((signal) => {
    found = signal;
    return never;
  }, { timeoutMs: MAX_TIMER_MS, signal: stop.signal });
  stop.abort(new TypeError("stop"));
  await assertRejects(() => running, TypeError, "stop");
  assert(found?.aborted);
});

Deno.test("requireTimeout() refuses a time that no timer can keep", () => {
  requireTimeout(MAX_TIMER_MS, "wait");
  for (const timeoutMs of [0, -1, NaN, MAX_TIMER_MS + 1]) {
    assertThrows(() => requireTimeout(timeoutMs, "wait"), RangeError, "'timeoutMs'");
  }
});
