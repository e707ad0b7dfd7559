import { assertEquals } from "@std/assert";
import { differencesOf } from "../../bench/suites/differences.ts";

Deno.test("differencesOf() compares kinds of outcomes, and leaves out listed tests", () => {
  const native = { a: "passed", b: "failed: one", c: "skipped", "net::d": "passed", e: "passed" };
  const session = { a: "passed", b: "failed: other", c: "passed", "net::d": "failed: denied", f: "passed" };
  assertEquals(differencesOf(native, session, { sockets: ["net::"] }), {
    same: 2,
    passed: 3,
    listed: 1,
    unexpected: [
      { id: "c", native: "skipped", session: "passed" },
      { id: "e", native: "passed", session: "not collected" },
      { id: "f", native: "not collected", session: "passed" },
    ],
  });
});
