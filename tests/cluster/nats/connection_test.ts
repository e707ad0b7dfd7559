import { assertEquals } from "@std/assert";
import { ignoreLateSocketError } from "../../../src/cluster/nats/connection.ts";

Deno.test("ignoreLateSocketError() ignores resets of sockets, and no other error", () => {
  const isIgnored = (error: unknown) => {
    const event = new ErrorEvent("error", { error, cancelable: true });
    ignoreLateSocketError(event);
    return event.defaultPrevented;
  };
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" });
  assertEquals(isIgnored(reset), true);
  for (
    const error of [
      new Error("read ECONNRESET"),
      Object.assign(new Error("x"), { code: "ENOENT", syscall: "read" }),
      Object.assign(new Error("x"), { code: "ECONNRESET", syscall: "listen" }),
      null,
      "text",
    ]
  ) assertEquals(isIgnored(error), false);
});
