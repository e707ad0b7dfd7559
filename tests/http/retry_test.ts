import { assertEquals, assertRejects } from "@std/assert";
import { type Attempt, parseRetryAfter, retry, retryDelayMs } from "../../src/http/retry.ts";

Deno.test("retryDelayMs() doubles, takes off at most half, and stops at a minute", () => {
  const delays = (jitter: number) =>
    [1, 2, 3, 20].map((attempt) => retryDelayMs({ attempt, backoffMs: 100, jitter }));
  assertEquals(delays(0), [100, 200, 400, 60_000]);
  assertEquals(delays(1), [50, 100, 200, 30_000]);
});

Deno.test("retryDelayMs() waits as long as the server asks, and not at all when that is too long", () => {
  const delay = (retryAfterMs: number) =>
    retryDelayMs({ attempt: 1, backoffMs: 100, jitter: 0, retryAfterMs });
  assertEquals([delay(2_000), delay(10), delay(61_000)], [2_000, 100, null]);
});

Deno.test("parseRetryAfter() reads seconds and dates, and nothing else", () => {
  const now = new Date("2026-01-01T00:00:00Z");
  const headers = [
    "2",
    "0.5",
    "Thu, 01 Jan 2026 00:00:03 GMT",
    "Wed, 31 Dec 2025 00:00:00 GMT",
    "soon",
    null,
  ];
  assertEquals(headers.map((header) => parseRetryAfter(header, now)), [
    2000,
    500,
    3000,
    0,
    undefined,
    undefined,
  ]);
});

Deno.test("retry() calls until there is a value, or an attempt gives up", async () => {
  const numbers: number[] = [];
  const second = (number: number): Promise<Attempt<string>> => {
    numbers.push(number);
    return Promise.resolve(number < 2 ? { error: new Error("early"), delayMs: 0 } : { value: "done" });
  };
  assertEquals(await retry(second), "done");
  assertEquals(numbers, [1, 2]);
  const never = () => Promise.resolve({ error: new RangeError("over"), delayMs: null });
  await assertRejects(() => retry(never), RangeError, "over");
});

Deno.test("retry() ends its delay when the signal is aborted", async () => {
  const stop = new AbortController();
  const result = retry(() => Promise.resolve({ error: new Error("busy"), delayMs: 60_000 }), {
    signal: stop.signal,
  });
  setTimeout(() => stop.abort(new TypeError("stop")));
  await assertRejects(() => result, TypeError, "stop");
});
