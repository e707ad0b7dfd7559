import { assertThrows } from "@std/assert";
import { MessageLimitError, MessageMeter } from "../../../src/tools/mcp/message_limits.ts";

const PING = { jsonrpc: "2.0", id: 1, method: "ping" } as const;
const PROGRESS = { jsonrpc: "2.0", method: "notifications/progress" } as const;

Deno.test("MessageMeter.count() allows 100 requests and 1,000 notifications a second on average", () => {
  let now = 0;
  const meter = new MessageMeter(() => now);
  for (let second = 0; second < 5; second++, now += 1000) {
    for (let times = 0; times < 100; times++) meter.count(PING);
    for (let times = 0; times < 1000; times++) meter.count(PROGRESS);
  }
  now -= 1000;
  assertThrows(() => meter.count(PING), MessageLimitError, "may make 100 requests a second");
});

Deno.test("MessageMeter.count() allows a burst of notifications", () => {
  const meter = new MessageMeter(() => 0);
  for (let times = 0; times < 10_000; times++) meter.count(PROGRESS);
  assertThrows(() => meter.count(PROGRESS), MessageLimitError, "may send 1000 notifications a second");
});

Deno.test("MessageMeter.count() counts the tools of all pages", () => {
  const meter = new MessageMeter(() => 0);
  const page = { jsonrpc: "2.0", id: 1, result: { tools: Array(600).fill({ name: "a" }) } } as const;
  meter.count(page);
  assertThrows(() => meter.count(page), MessageLimitError, "may offer 1000 tools: it offers 1200");
});
